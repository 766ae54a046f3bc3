package delay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// division returns steps of ranks that do some pieces of work alone, [piece][step][rank], then wait for the
// last of them, and all stay for after. Work 0 is the forward pass.
func division(after int64, work ...[][]int64) *points.Division {
	R, N := len(work[0][0]), len(work[0])
	d := &points.Division{Ranks: R, Intervals: N}
	for k, rows := range work {
		d.Stages = append(d.Stages, points.Stage{Name: fmt.Sprint("work ", k)})
		d.Pieces = append(d.Pieces, points.Piece{Stage: k})
		d.Work = append(d.Work, slices.Concat(rows...))
	}
	d.Stages[0].Role = points.Forward
	for n := range N {
		d.Head, d.Tail = append(d.Head, n), append(d.Tail, -1)
	}
	d.Points = []points.Point{{Stage: len(work), Evidence: points.Shown}}
	d.Stages = append(d.Stages, points.Stage{Name: "synchronise"})
	d.Arrive()
	spent := make([]int64, N*R)
	for n := range N {
		row := d.Arrivals[0][n*R : (n+1)*R]
		for r, x := range row {
			spent[n*R+r] = slices.Max(row) - x + after
		}
	}
	d.Spent, d.After = [][]int64{spent}, [][]int64{slices.Repeat([]int64{after}, N)}
	return d
}

// repeated returns n steps that are alike.
func repeated(n int, row ...int64) (out [][]int64) {
	for range n {
		out = append(out, slices.Clone(row))
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestExcess: each rank's value less the median of the others, counted by hand; of declared sets the
// others of its own set. A rank is never its own peer; without one its excess is 0.
func TestExcess(t *testing.T) {
	for name, c := range map[string]struct {
		row, want []int64
		peers     []int
		common    float64
	}{
		"two":                 {row: []int64{10, 30}, want: []int64{-20, 20}, common: 10},
		"three others":        {row: []int64{10, 20, 30, 60}, want: []int64{-20, -10, 10, 40}, common: 20},
		"four others":         {row: []int64{10, 20, 30, 60, 100}, want: []int64{-35, -25, -10, 35, 75}, common: 30},
		"equal":               {row: []int64{7, 7, 7}, want: []int64{0, 0, 0}, common: 7},
		"sets":                {row: []int64{10, 50, 20, 60, 60, 90}, peers: []int{0, 1, 0, 1, 0, 1}, want: []int64{-30, -25, -15, -10, 45, 35}, common: 50},
		"a set of two":        {row: []int64{10, 50, 20, 30, 20}, peers: []int{0, 0, 1, 1, 1}, want: []int64{-40, 40, -5, 10, -5}, common: 20},
		"alone in its set":    {row: []int64{10, 50, 20}, peers: []int{0, 1, 0}, want: []int64{-10, 0, 10}, common: 20},
		"a set that is empty": {row: []int64{10, 50, 20}, peers: []int{0, 2, 0}, want: []int64{-10, 0, 10}, common: 20},
	} {
		s := newSeries(division(5, [][]int64{c.row}), c.peers)
		equal(t, name, s.excess[0], c.want)
		equal(t, name+": lead", s.lead[0], c.want)
		if s.common[0][0] != c.common {
			t.Errorf("%s: all take %v, want the lower median %v", name, s.common[0][0], c.common)
		}
	}
}

// TestExcessInAnySets: the same by sorting the others, for sets and values drawn with a fixed seed.
func TestExcessInAnySets(t *testing.T) {
	g := rand.New(rand.NewPCG(11, 1))
	for range 200 {
		R, sets := 2+g.IntN(20), 1+g.IntN(3)
		row, peers := make([]int64, R), make([]int, R)
		for r := range row {
			row[r], peers[r] = int64(g.IntN(50)), g.IntN(sets)
		}
		got := newSeries(division(0, [][]int64{row}), peers).excess[0]
		for r, x := range row {
			var others []int64
			for q, y := range row {
				if q != r && peers[q] == peers[r] {
					others = append(others, y)
				}
			}
			slices.Sort(others)
			want := int64(0)
			if n := len(others); n > 0 {
				want = x - int64(math.Floor(float64(others[(n-1)/2]+others[n/2])/2))
			}
			if got[r] != want {
				t.Fatalf("rank %d of %v in sets %v: %d, want %d", r, row, peers, got[r], want)
			}
		}
	}
}

// TestSetsOfDivision: where no sets are declared, ranks are compared with those that they synchronise with.
func TestSetsOfDivision(t *testing.T) {
	d := division(0, [][]int64{{10, 20, 100, 130}})
	d.Peers = [][]int{{0, 1}, {2, 3}}
	equal(t, "of the division", newSeries(d, nil).excess[0], []int64{-10, 10, -30, 30})
	equal(t, "declared", newSeries(d, []int{0, 1, 0, 1}).excess[0], []int64{-90, -110, 90, 110})
}

// TestNoise: 1.4826 ÷ √2 times the upper median of the absolute differences in time, and a nanosecond.
func TestNoise(t *testing.T) {
	// Rank 0 exceeds rank 1 by 0, 1000, 3000, 6000, 10000: the differences are 1, 2, 3 and 4 thousand, of either
	// rank; the upper median of the eight is 3000.
	rows := [][]int64{{0, 0}, {1000, 0}, {3000, 0}, {6000, 0}, {10_000, 0}}
	want := 1.4826/math.Sqrt2*3000 + 1
	s := newSeries(division(0, rows), nil)
	if got := s.noise[0]; math.Abs(got-want) > 1e-4*want {
		t.Errorf("noise %v, want %v", got, want)
	}
	// A step in which nothing was recorded has no difference to those around it: 1, 2 and 3 thousand are
	// left where the last is missing, the upper median of the six is 2000.
	d := division(0, rows)
	d.Head[4] = -1
	if got, want := newSeries(d, nil).noise[0], 1.4826/math.Sqrt2*2000+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("without the last step %v, want %v", got, want)
	}
}

// TestNoiseOfWhatComesAndGoes: a delay that begins or ends in two of three steps is in most differences; the
// distances from the rank's median do not hold it. It takes a middle difference of more than 4 times the first quartile.
func TestNoiseOfWhatComesAndGoes(t *testing.T) {
	// Excess of every other one of ten ranks over the rest: differences of u, D, D again and again; of 120 absolute differences (12 of each
	// rank) the quartile is u and the upper median D.
	noise := func(u, d int64) float64 {
		rows := [][]int64{make([]int64, 10)}
		for i := range 4 {
			at := rows[len(rows)-1][0]
			step := u
			if i%2 == 1 {
				step = -u
			}
			for _, x := range []int64{at + step, at + step + d, at + step} {
				rows = append(rows, slices.Repeat([]int64{x, 0}, 5))
			}
		}
		return newSeries(division(0, rows), nil).noise[0]
	}
	if got, want := noise(1000, 4000), 1.4826/math.Sqrt2*4000+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("at 4 times the quartile %v, want that of differences, %v", got, want)
	}
	// Levels 0, u, u+D, u | 0, D, 0 | u, u+D, u | 0, D, 0: with u = 1000, D = 5000 the median of the 13 is 1000. Distances
	// from it: four of 0, five of 1000, two of 4000, two of 5000; of all ranks the upper median is 1000.
	want := 1.4826*1000 + 1
	if got := noise(1000, 5000); math.Abs(got-want) > 1e-4*want {
		t.Errorf("at 5 times the quartile %v, want that of levels, %v", got, want)
	}
}

// TestNoiseOfFewValues: fewer than eight differences say nothing of what comes and goes.
func TestNoiseOfFewValues(t *testing.T) {
	// Three ranks stay, and those above change by 9000.
	change := func(ranks int) float64 {
		rows := [][]int64{slices.Repeat([]int64{10_000}, ranks), slices.Repeat([]int64{10_000}, ranks)}
		copy(rows[1], []int64{1000, 1000})
		for r := 5; r < ranks; r++ {
			rows[1][r] = 19_000
		}
		return newSeries(division(0, rows), nil).noise[0]
	}
	if got, want := change(7), 1.4826/math.Sqrt2*9000+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("of seven %v, want that of differences, %v", got, want)
	}
	if got, want := change(8), 1.4826*4500+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("of eight %v, want that of levels, %v", got, want)
	}
	// A quarter of 120 are of 1000: the first quartile is the next, 5000.
	var rows [][]int64
	for _, x := range []int64{0, 5000, 0, 5000, 0, 5000, 0, 5000, 0, 5000, 6000, 5000, 6000} {
		rows = append(rows, slices.Repeat([]int64{x, 0}, 5))
	}
	if got, want := newSeries(division(0, rows), nil).noise[0], 1.4826/math.Sqrt2*5000+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("of 120, a quarter of them small, %v, want that of differences, %v", got, want)
	}
}

// TestNoiseOfFewRanks: of two or three ranks, of which one is late in every second step, or in steps at random, and of four of which two are by turns, the noise is what
// is left of differences without the delay. Normal noise keeps its standard deviation.
func TestNoiseOfFewRanks(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 5))
	const sd = 1000.0
	// By the definition: the excess of a rank over one other has sd·√2, over the mean of two others sd·√1.5.
	root := map[int]float64{2: math.Sqrt2, 3: math.Sqrt(1.5), 4: math.Sqrt(1.45)} // the median of three normal values has a variance of 0.449
	for name, late := range map[string]func(n int) bool{
		"never": func(int) bool { return false }, "always": func(int) bool { return true },
		"every other": func(n int) bool { return n%2 == 1 }, "every third": func(n int) bool { return n%3 == 0 }, "at random": func(int) bool { return g.IntN(2) == 0 },
	} {
		for ranks := 2; ranks <= 4; ranks++ {
			rows := repeated(200, slices.Repeat([]int64{1_000_000}, ranks)...)
			for n, row := range rows {
				for r := range row {
					row[r] += int64(sd * g.NormFloat64())
				}
				if late(n) {
					row[0] += 40 * sd
				} else if ranks == 4 {
					row[2] += 40 * sd
				}
			}
			got, want := newSeries(division(0, rows), nil).noise[0], sd*root[ranks]
			if got < 0.75*want || got > 1.25*want {
				t.Errorf("%d ranks, late %s: noise %v, want about %v", ranks, name, got, want)
			}
		}
	}
}

// TestParts: values are of two levels where cutting them in two leaves a sixteenth of their variance, and three are in each.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		x   []int64
		cut int64
		ok  bool
	}{
		"two levels":       {[]int64{0, 100, 10, 110, 5, 105}, 55, true},
		"two in one":       {[]int64{0, 100, 10, 110, 5, 7, 2}, 0, false},
		"all alike":        {[]int64{7, 7, 7, 7, 7, 7}, 0, false},
		"evenly":           {[]int64{0, 20, 40, 60, 80, 100, 120, 140}, 0, false},
		"just a sixteenth": {[]int64{0, 0, 0, 30, 30, 30, 8, 8, 8, 38, 38, 38}, 0, false}, // 192 of 2892 beside the means: 1 of 15.06
		"less":             {[]int64{0, 0, 0, 32, 32, 32, 8, 8, 8, 40, 40, 40}, 20, true}, // 192 of 3264: 1 of 17
	} {
		cut, ok := partsOf(c.x)
		if ok != c.ok || ok && cut != c.cut {
			t.Errorf("%s: cut at %d, %v, want %d, %v", name, cut, ok, c.cut, c.ok)
		}
	}
}

// TestCharge: a rank is charged its excess beyond twice the noise, and no more than it led its peers by.
func TestCharge(t *testing.T) {
	var c charges
	//                excess                       lead
	c.fill([]int64{100, 100, 100, 30, 100, 31}, []int64{50, 80, 0, 99, -5, 99}, 30, 2)
	equal(t, "entries", c.entries, []entry{{0, 0, 50}, {0, 1, 70}, {2, 1, 1}})
	equal(t, "totals", c.total, []float64{50, 71})
	if c.sum != 121 {
		t.Errorf("sum %v, want 121", c.sum)
	}
	equal(t, "of rank 1", c.rankCharges(1, 3), []float64{70, 0, 1})

	// Rank 2 exceeds its peers by 100 in the first piece and is 60 shorter in the second, so that it leads by 40; a noise
	// of 1 ns (nothing differs in time) charges 2 ns to nobody.
	s := newSeries(division(0, repeated(5, 100, 100, 200), repeated(5, 100, 100, 40)), nil)
	if s.noise[0] != 1 || s.charge[0].sum != 5*40 || s.charge[1].sum != 0 {
		t.Errorf("noise %v, charged %v and %v, want 1, 200 and 0", s.noise[0], s.charge[0].sum, s.charge[1].sum)
	}
	s = newSeries(division(0, repeated(5, 100, 100, 200)), nil)
	if s.charge[0].sum != 5*98 {
		t.Errorf("charged %v, want 490: 100 less twice the noise in each of 5 steps", s.charge[0].sum)
	}
}

// TestRemove: what is taken off a piece is taken off the arrivals, the excess and the charges, and off nothing else.
func TestRemove(t *testing.T) {
	d := division(0, repeated(3, 100, 100, 200), repeated(3, 10, 10, 10))
	s := newSeries(d, nil)
	s.remove(0, 2, []float64{100, 0, 60.4})
	equal(t, "rest", s.rest[0], []int64{100, 100, 100, 100, 100, 200, 100, 100, 140})
	equal(t, "arrivals", s.arrive[0], []int64{110, 110, 110, 110, 110, 210, 110, 110, 150})
	equal(t, "excess", s.excess[0], []int64{0, 0, 0, -50, -50, 100, -20, -20, 40})
	equal(t, "charges", s.charge[0].rankCharges(2, 3), []float64{0, 98, 38})
	equal(t, "recorded", d.Work[0][:3], []int64{100, 100, 200})
	equal(t, "recorded arrivals", d.Arrivals[0][:3], []int64{110, 110, 210})
}

// TestRemoveOfTwo: of two ranks no more is taken off one than it takes longer than the other, but for noise.
func TestRemoveOfTwo(t *testing.T) {
	s := newSeries(division(0, [][]int64{{140, 100}, {180, 100}, {140, 100}}), nil)
	slack := int64(slackOfNoise * s.noise[0])
	s.remove(0, 0, []float64{500, 60, 0})
	equal(t, "rest", s.rest[0], []int64{100 - slack, 100, 120, 100, 140, 100})
}

// TestOneOfTwo: a rank that loses as much again in every third interval is the only one late of two: where it loses less than on the
// average the other is not late.
func TestOneOfTwo(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var rows [][]int64
		for n := range 60 {
			late := int64(38e6)
			if n%3 == 0 {
				late += late
			}
			rows = append(rows, []int64{40e6 + late + int64(3e5*rng.NormFloat64()), 40e6 + int64(3e5*rng.NormFloat64())})
		}
		out := AnalyzeDivision(division(1e6, rows), &Run{}, Options{})
		for i := range out.Claims {
			if c := &out.Claims[i]; slices.Contains(c.Ranks, 1) {
				t.Errorf("seed %d: rank 1 is %v by %d ns", seed, c.Cause, c.Size)
			}
		}
		if len(out.Claims) == 0 || out.Claims[0].Ranks[0] != 0 {
			t.Errorf("seed %d: %+v", seed, out.Claims)
		}
	}
}

// TestLengths: a step takes until its last arrival and what follows it; a run in which nobody waits
// takes as long as its longest rank.
func TestLengths(t *testing.T) {
	rows := [][]int64{{100, 120}, {130, 110}, {90, 80}}
	s := newSeries(division(7, rows), nil)
	equal(t, "lengths", s.took, []float64{127, 137, 97})
	if s.whole != 361 || s.step != 127 {
		t.Errorf("run %v, step %v, want 361 and 127", s.whole, s.step)
	}
	d := division(7, rows)
	d.Points, d.After, d.Spent = nil, nil, nil
	if s := newSeries(d, nil); s.whole != 320 {
		t.Errorf("nobody waits: %v, want 320 of rank 0", s.whole)
	}
	if got := lengthOf([]float64{10, 20, 40, 80}, []bool{true, false, true, true}); got != 40 {
		t.Errorf("median length of three steps %d, want 40", got)
	}
	if got := lengthOf([]float64{10}, []bool{false}); got != 0 {
		t.Errorf("of no step %d", got)
	}
}

// TestTrimmed: numpy.clip(v, *numpy.quantile(v, [0.25, 0.75])).mean().
func TestTrimmed(t *testing.T) {
	for want, v := range map[float64][]float64{4.5: {1, 2, 3, 4, 5, 6, 7, 100}, 6.2: {3, 9, 4, 1000, 5}, 8: {8}, 0: nil} {
		if got := winsorizedMean(v); !near(got, want) {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
