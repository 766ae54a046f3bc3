package bootstrap

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

func analyzed(t *testing.T, pairs []Pair, o Options) *Result {
	t.Helper()
	r, err := Analyze(pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func source64(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// alike reports whether two results have the same numbers to a tolerance
// relative to the largest overhead.
func alike(a, b *Result, tol float64) bool {
	size := 0.0
	for _, x := range a.Overheads {
		size = max(size, math.Abs(x))
	}
	near := func(x, y float64) bool { return x == y || math.Abs(x-y) <= tol*size }
	for i, e := range a.Estimates {
		f := b.Estimates[i]
		if !near(e.Value, f.Value) || e.SE != nil && !near(*e.SE, *f.SE) {
			return false
		}
		for j, x := range e.Intervals {
			y := f.Intervals[j]
			if !near(x.Lower, y.Lower) || !near(x.Upper, y.Upper) || !near(x.AtLeast, y.AtLeast) || !near(x.AtMost, y.AtMost) {
				return false
			}
		}
	}
	return true
}

// The number of threads changes no bit.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, pairs := range [][]Pair{drawPairs(source64(1), 13, skewed, 0.01), drawRuns(source64(2), 6, 4, 0.5)} {
		o := Options{Confidence: 0.9, Replicates: 1001, Seed: 5}
		runtime.GOMAXPROCS(1)
		want := analyzed(t, pairs, o)
		for _, threads := range []int{2, 3, 8, 500} {
			runtime.GOMAXPROCS(threads)
			if got := analyzed(t, pairs, o); !reflect.DeepEqual(got, want) {
				t.Errorf("%d threads: %+v, one: %+v", threads, got, want)
			}
		}
		o.Seed++
		if reflect.DeepEqual(analyzed(t, pairs, o).Estimates, want.Estimates) {
			t.Error("another seed gives the same resamples")
		}
	}
}

// Every statistic by itself is what it is among all.
func TestStatisticsAreIndependent(t *testing.T) {
	pairs := drawRuns(source64(3), 7, 2, 0.5)
	o := Options{Confidence: 0.95, Replicates: 500, Seed: 1}
	all := analyzed(t, pairs, o)
	for s := range statisticCount {
		o.Statistics = []Statistic{s}
		if got := analyzed(t, pairs, o); !reflect.DeepEqual(got.Estimates[0], *all.EstimateOf(s)) || len(got.Estimates) != 1 {
			t.Errorf("%v alone: %+v, among all: %+v", s, got.Estimates, all.EstimateOf(s))
		}
	}
	if o.Statistics = []Statistic{Total}; analyzed(t, pairs, o).EstimateOf(Mean) != nil {
		t.Error("a mean that nobody asked for")
	}
}

// The unit of time means nothing, nor does a factor on everything.
func TestScaleInvariance(t *testing.T) {
	pairs := drawRuns(source64(4), 11, 3, 0.3)
	want := analyzed(t, pairs, Options{})
	for _, factor := range []float64{0x1p-200, 1e-9, 3, 1e150} {
		scaled := slices.Clone(pairs)
		for i := range scaled {
			scaled[i].Base *= factor
			scaled[i].With *= factor
		}
		if got := analyzed(t, scaled, Options{}); !alike(want, got, 1e-10) {
			t.Errorf("times %v: %+v, want %+v", factor, got.Estimates, want.Estimates)
		}
	}
}

// Names and order of the blocks change no estimate and no interval but for the
// luck of the draw; those without a draw not at all. The pairs of a block may
// stand apart.
func TestBlocksAreASet(t *testing.T) {
	pairs := drawRuns(source64(5), 12, 3, 0.5)
	want := analyzed(t, pairs, Options{})
	shuffled := slices.Clone(pairs)
	source64(6).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for i := range shuffled {
		shuffled[i].Block = -7 * shuffled[i].Block
	}
	got := analyzed(t, shuffled, Options{})
	if got.Blocks != 12 || !alike(want, got, 0.02) {
		t.Errorf("shuffled: %+v, want %+v", got.Estimates, want.Estimates)
	}
	exact := func(r *Result) []float64 {
		return []float64{r.EstimateOf(Mean).Value, r.EstimateOf(Median).Value, r.EstimateOf(Total).Value, *r.EstimateOf(Mean).SE}
	}
	for i, x := range exact(want) {
		if y := exact(got)[i]; math.Abs(x-y) > 1e-14 {
			t.Errorf("figure %d is %v shuffled, %v in order", i, y, x)
		}
	}
}

// A run whose windows are all the same says no more than one window of it.
func TestRepeatedWindowsAreNoEvidence(t *testing.T) {
	once := drawPairs(source64(7), 15, normal, 0.001)
	var thrice []Pair
	for _, p := range once {
		thrice = append(thrice, p, p, p)
	}
	o := Options{Confidence: 0.95, Replicates: 2000, Seed: 1, Statistics: []Statistic{Mean, Total}}
	if a, b := analyzed(t, once, o), analyzed(t, thrice, o); !alike(a, b, 1e-10) {
		t.Errorf("once %+v, thrice %+v", a.Estimates, b.Estimates)
	}
}

// A one-sided bound lies inside the two-sided interval.
func TestNested(t *testing.T) {
	for seed := range uint64(50) {
		r := analyzed(t, drawPairs(source64(seed), 3+int(seed), skewed, 0.003), Options{Confidence: 0.95, Replicates: 400, Seed: seed})
		for _, e := range r.Estimates {
			for _, i := range e.Intervals {
				if !(i.Lower <= i.AtLeast && i.AtLeast <= i.AtMost && i.AtMost <= i.Upper) {
					t.Fatalf("%v %v: bounds out of order: %+v", e.Statistic, i.Method, i)
				}
			}
		}
	}
}

// Data without any spread have intervals without any width.
func TestDegenerate(t *testing.T) {
	equal := make([]Pair, 12)
	for i := range equal {
		base := 1e8 * float64(i+1)
		equal[i] = Pair{Block: i / 2, Base: base, With: 1.25 * base}
	}
	same := slices.Clone(equal)
	for i := range same {
		same[i].With = same[i].Base
	}
	for _, c := range []struct {
		pairs []Pair
		want  float64
	}{{equal, 0.25}, {same, 0}} {
		r := analyzed(t, c.pairs, Options{})
		for _, e := range r.Estimates {
			for _, i := range append(e.Intervals, Interval{Lower: e.Value, Upper: e.Value, AtLeast: e.Value, AtMost: e.Value}) {
				for _, bound := range []float64{i.Lower, i.Upper, i.AtLeast, i.AtMost} {
					if math.Abs(bound-c.want) > 1e-12 {
						t.Errorf("%v %v: %+v, want %v", e.Statistic, i.Method, i, c.want)
					}
				}
			}
		}
		if slices.Contains(r.Doubts, Skewed) {
			t.Errorf("doubts %v about data without spread", r.Doubts)
		}
	}
}

// An outlier of any size makes nothing NaN.
func TestExtremes(t *testing.T) {
	for n := 2; n < 40; n++ {
		for _, outlier := range []float64{1e5, 1e-5} {
			pairs := drawPairs(source64(uint64(n)), n, normal, 0)
			pairs[n/2].With = pairs[n/2].Base * outlier
			r := analyzed(t, pairs, Options{Confidence: 0.9999, Replicates: 300, Seed: 1})
			for _, e := range r.Estimates {
				for _, i := range e.Intervals {
					if math.IsNaN(i.Lower) || math.IsNaN(i.Upper) || math.IsNaN(i.AtLeast) || math.IsNaN(i.AtMost) {
						t.Fatalf("%d pairs, outlier %v: %v %+v", n, outlier, e.Statistic, i)
					}
				}
			}
		}
	}
}

func TestDoubts(t *testing.T) {
	of := func(n int, o Options) []Doubt {
		pairs := make([]Pair, n)
		for i := range pairs { // symmetric about 1 %
			pairs[i] = Pair{Block: i, Base: 1, With: 1.01 + 0.001*(float64(i)-float64(n-1)/2)/float64(n)}
		}
		return analyzed(t, pairs, o).Doubts
	}
	small := Options{Confidence: 0.95, Replicates: 1000}
	check := func(what string, got []Doubt, want ...Doubt) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("one", of(1, small), OneBlock)
	check("two", of(2, small), VeryFewBlocks)
	check("nine", of(9, small), VeryFewBlocks)
	check("ten", of(10, small), FewBlocks)
	check("nineteen", of(19, small), FewBlocks)
	check("twenty", of(20, small))
	check("few resamples", of(20, Options{Confidence: 0.99, Replicates: 999}), FewReplicates)
	pairs := make([]Pair, 30)
	for i := range pairs {
		pairs[i] = Pair{Block: i, Base: 1, With: 1 + 0.0001*float64(i%3)}
	}
	pairs[4].With = 1.5
	check("stall", analyzed(t, pairs, small).Doubts, Skewed)
	one := analyzed(t, pairs[:1], small)
	for _, e := range one.Estimates {
		if e.SE != nil || len(e.Intervals) != 0 || e.Value != 0 {
			t.Errorf("%v of one block: %+v", e.Statistic, e)
		}
	}
}

func TestRefused(t *testing.T) {
	good := Pair{Block: 0, Base: 1, With: 1}
	for _, c := range []struct {
		name  string
		pairs []Pair
		want  error
	}{
		{"none", nil, ErrNoPairs},
		{"zero", []Pair{good, {Base: 0, With: 1}}, ErrTime},
		{"negative", []Pair{{Base: 1, With: -1}}, ErrTime},
		{"not a number", []Pair{{Base: math.NaN(), With: 1}}, ErrTime},
		{"infinite", []Pair{{Base: 1, With: math.Inf(1)}}, ErrTime},
		{"another unit in a pair", []Pair{{Base: 1, With: 1e9}}, ErrUnlike},
		{"another unit between pairs", []Pair{{Base: 1e-9, With: 1e-9}, {Base: 1e9, With: 1e9}}, ErrUnlike},
	} {
		if _, err := Analyze(c.pairs, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for _, o := range []Options{
		{Confidence: 1, Replicates: 1}, {Confidence: 0.4, Replicates: 1}, {Confidence: math.NaN(), Replicates: 1},
		{Confidence: 0.95, Replicates: -1}, {Confidence: 0.95, Replicates: 1 << 40},
		{Confidence: 0.95, Replicates: 1, Statistics: []Statistic{statisticCount}},
	} {
		if _, err := Analyze([]Pair{good}, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestAgainst(t *testing.T) {
	e := Estimate{Value: 0.01, Intervals: []Interval{{Method: Studentised, AtLeast: 0.005, AtMost: 0.02}}}
	for _, c := range []struct {
		gate float64
		want Standing
	}{{0.03, Within}, {0.02, Within}, {0.015, PerhapsWithin}, {0.01, PerhapsWithin}, {0.009, PerhapsAbove}, {0.005, PerhapsAbove}, {0.0049, Above}} {
		if got := e.StandingAt(c.gate, e.IntervalOf(Studentised)); got != c.want {
			t.Errorf("gate %v: %v, want %v", c.gate, got, c.want)
		}
	}
	if got := e.StandingAt(1, e.IntervalOf(Order)); got != PerhapsWithin {
		t.Errorf("without an interval: %v", got)
	}
}

// A resample's t is by its definition, also where sums of squares cancel: a
// resample of one block over and over has no spread.
func TestRatioOf(t *testing.T) {
	s := newSample(drawRuns(source64(8), 9, 3, 0.5))
	rng := source64(9)
	for range 2000 {
		index := make([]int32, s.blocks())
		first, kinds := rng.IntN(s.blocks()), 1+rng.IntN(s.blocks())
		for i := range index {
			index[i] = int32((first + rng.IntN(kinds)) % s.blocks())
		}
		for _, ratio := range []Statistic{Mean, Total} {
			var e, v, squares float64
			for _, g := range index {
				e += s.ratios[ratio][g].e
				v += s.ratios[ratio][g].v
			}
			for _, g := range index {
				left := s.ratios[ratio][g].e - e/v*s.ratios[ratio][g].v
				squares += left * left
			}
			want := e / v / math.Sqrt(9.0/8*squares) * v
			if slices.Max(index) == slices.Min(index) {
				want = math.Inf(1) * e
			}
			if _, got := s.ratioOf(ratio, index); got != want && (math.IsInf(want, 0) || !(math.Abs(got-want) <= 1e-9*math.Abs(want))) {
				t.Fatalf("%v of %v: t = %v, want %v", ratio, index, got, want)
			}
		}
	}
}

// TestDraws: every block is as likely as every other, within 4.5 standard
// deviations.
func TestDraws(t *testing.T) {
	for _, blocks := range []int{1, 3, 100, 1000} {
		draw, counts := newSource(9), make([]float64, blocks)
		index := make([]int32, 1000)
		const rounds = 1000
		for b := range rounds {
			draw(b, index, blocks)
			for _, g := range index {
				counts[g]++
			}
		}
		n := float64(rounds * len(index))
		p := 1 / float64(blocks)
		for g, c := range counts {
			if d := math.Abs(c - n*p); d > 4.5*math.Sqrt(n*p*(1-p)) {
				t.Errorf("block %d of %d: %v draws of %v", g, blocks, c, n)
			}
		}
	}
}

func TestBinomial(t *testing.T) {
	r, err := Binomial(0, 105, 0.95)
	if err != nil || math.Abs(r.AtMost-(1-math.Pow(0.05, 1.0/105))) > 1e-15 || r.AtLeast != 0 {
		t.Errorf("0 of 105: %+v, %v", r, err)
	}
	// The definition: at the bound, seeing so few has the chance alpha.
	for _, c := range [][2]int{{1, 10}, {7, 20}, {9, 10}, {1, 300}, {3, 5000}} {
		r, err := Binomial(c[0], c[1], 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if got := chanceOfAtMost(c[0], c[1], r.AtMost); math.Abs(got-0.1) > 1e-10 {
			t.Errorf("%v: P(at most) at the upper bound is %v, want 0.1", c, got)
		}
		if got := 1 - chanceOfAtMost(c[0]-1, c[1], r.AtLeast); math.Abs(got-0.1) > 1e-10 {
			t.Errorf("%v: P(at least) at the lower bound is %v, want 0.1", c, got)
		}
	}
	for _, confidence := range []float64{0, 1, math.NaN()} {
		if _, err := Binomial(1, 2, confidence); err == nil {
			t.Errorf("confidence %v was accepted", confidence)
		}
	}
}

// chanceOfAtMost sums the binomial distribution.
func chanceOfAtMost(k, n int, p float64) float64 {
	sum, term := 0.0, math.Pow(1-p, float64(n))
	for i := 0; i <= k; i++ {
		sum += term
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return sum
}
