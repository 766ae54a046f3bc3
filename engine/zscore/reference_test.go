package zscore

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/student"
)

// reference is a series pooled as the package doc and pooled.go say, value by value.
type reference struct {
	r              [][]float64 // [step][peer]; NaN: absent, or too few beside it
	sigma, freedom float64
	without        []float64 // by step: sigma of the others
	skew           float64
	heavy, equal   bool
}

// middle returns the median, of an even number the mean of the middle two.
func middle(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func refer(s *Series, log bool) (out reference) {
	n := len(s.Workers)
	T := len(s.X) / n
	for t := range T {
		row := slices.Repeat([]float64{math.NaN()}, n)
		for i := range n {
			var others []float64
			for k := range n {
				if x := s.X[t*n+k]; k != i && x != Absent {
					if log {
						others = append(others, math.Log(float64(x)))
					} else {
						others = append(others, float64(x))
					}
				}
			}
			if x := s.X[t*n+i]; x != Absent && len(others) >= 2 {
				if row[i] = float64(x) - middle(others); log {
					row[i] = math.Log(float64(x)) - middle(others)
				}
			}
		}
		out.r = append(out.r, row)
	}
	clamp := func(x, by float64) float64 { return max(-by, min(by, x)) }
	level, count := make([]float64, n), make([]float64, n)
	var rough []float64
	for i := range n {
		var own []float64
		for t := range T {
			if v := out.r[t][i]; v == v {
				own = append(own, v)
			}
		}
		if count[i] = float64(len(own)); len(own) > 0 {
			level[i] = middle(own)
		}
		for _, v := range own {
			if len(own) > 2 {
				rough = append(rough, math.Abs(v-level[i]))
			}
		}
	}
	if len(rough) == 0 {
		return out
	}
	clip := 2 * 1.4826 * middle(rough)
	for i := range n {
		sum := 0.0
		for t := range T {
			if v := out.r[t][i]; v == v {
				sum += clamp(v-level[i], clip)
			}
		}
		level[i] += sum / max(1, count[i])
		out.freedom += 0.55 * max(0, count[i]-2)
	}
	u, size := make([][]float64, T), []float64{}
	for t := range T {
		for i := range n {
			if v := out.r[t][i]; v == v && count[i] > 2 {
				x := (v - level[i]) * math.Sqrt(count[i]/(count[i]-1))
				u[t], size = append(u[t], x), append(size, math.Abs(x))
			}
		}
	}
	spread := 1.4826 * middle(size)
	if out.equal = spread == 0; out.equal {
		for _, x := range size {
			spread += math.Sqrt(math.Pi/2) * x / float64(len(size))
		}
	}
	root := func(leave int) float64 {
		sum, k := 0.0, 0
		for t := range T {
			for _, x := range u[t] {
				if t != leave {
					sum, k = sum+math.Pow(clamp(x, 2.5*spread), 2), k+1
				}
			}
		}
		return math.Sqrt(sum / float64(max(1, k)) / 0.97756)
	}
	out.sigma = root(-1)
	mean, beyond := 0.0, 0
	for t := range T {
		out.without = append(out.without, root(t))
		for _, x := range u[t] {
			mean += clamp(x, 2.5*spread) / float64(len(size))
			if math.Abs(x) > 3*out.sigma {
				beyond++
			}
		}
	}
	out.heavy = beyond >= 5 && float64(beyond) > 0.01*float64(len(size))
	second, third := 0.0, 0.0
	for t := range T {
		for _, x := range u[t] {
			d := clamp(x, 2.5*spread) - mean
			second, third = second+d*d/float64(len(size)), third+d*d*d/float64(len(size))
		}
	}
	if second > 0 {
		out.skew = third / math.Pow(second, 1.5)
	}
	if out.skew *= math.Sqrt(float64(len(size))); math.IsNaN(out.skew) { // in units of 1/√n
		out.skew = 0
	}
	return out
}

// drawn returns a series with absent values, ties or skewed noise, and some that stand out.
func drawn(g *rand.Rand, op int) Series {
	n := 2 + g.IntN(7)
	s := Series{Op: op, Quantity: Quantity(g.IntN(4)), Workers: g.Perm(2 * n)[:n]}
	kind, T := g.IntN(4), 3+g.IntN(40)
	for range T {
		common := g.Int64N(1e6)
		for range n {
			x := 50e6 + common
			switch kind {
			case 0:
				x += int64(1e5 * g.NormFloat64())
			case 1:
				x = int64(3e5*g.ExpFloat64()*g.ExpFloat64()) + 1e5
			case 2:
				x = 1000 + g.Int64N(2)*g.Int64N(2)*g.Int64N(2)
			default:
				x += int64(1e5 * g.NormFloat64() / (0.05 + g.Float64()))
			}
			switch g.IntN(60) {
			case 0:
				x += 3e6
			case 1, 2, 3, 4:
				x = Absent
			}
			s.X = append(s.X, x)
		}
	}
	return s
}

// TestByDefinition: spreads, degrees of freedom, scales and the scores of single steps of many series are those of the definition.
func TestByDefinition(t *testing.T) {
	near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }
	logs, pooled := 0, 0
	for seed := range uint64(400) {
		g := source(seed)
		var all []Series
		ops := map[int]int{}
		tests, instances := 0, map[int]int{}
		for k := range 1 + g.IntN(3) {
			s := drawn(g, k/2)
			T := len(s.X) / len(s.Workers)
			all, tests, instances[s.Op] = append(all, s), tests+(T+1)*len(s.Workers), max(instances[s.Op], T)
			ops[s.Op]++
		}
		o := Options{Scale: Scale(g.IntN(3)), Alpha: 0.05}
		r := analyze(t, o, all...)
		sum := 0
		for _, steps := range instances {
			sum += steps
		}
		if r.Instances != sum || r.ExpectedFlags() == nil || *r.ExpectedFlags() != 0.05*float64(sum) {
			t.Errorf("seed %d: %d instances of which %v are expected, want %d", seed, r.Instances, r.ExpectedFlags(), sum)
		}
		for i, s := range all {
			n := len(s.Workers)
			rep, loggable := r.Series[i], s.Quantity == Duration || s.Quantity == Transfer
			loggable = loggable && !slices.ContainsFunc(s.X, func(x int64) bool { return x != Absent && x <= 0 })
			if rep.Peers != n || rep.Steps != len(s.X)/n {
				t.Fatalf("seed %d: %+v", seed, rep)
			}
			if n < 3 {
				continue
			}
			ref := refer(&s, false)
			log := o.Scale == Log && loggable
			if o.Scale == AutoScale && loggable && ref.skew > 2.5 {
				other := math.Abs(refer(&s, true).skew)
				if log = other < ref.skew; math.Abs(other-ref.skew) < 1e-2*ref.skew {
					continue // alike but for rounding
				}
			}
			if log {
				ref = refer(&s, true)
				logs++
			}
			if rep.Log != log {
				t.Fatalf("seed %d: on logarithms %v, want %v; skewness %v", seed, rep.Log, log, ref.skew)
			}
			if few := rep.Steps < 5 || ref.freedom < 1; few != (rep.Method == LeaveOneOut) || few != slices.Contains(rep.Doubts, FewSteps) {
				t.Fatalf("seed %d: %+v, want too few: %v", seed, rep, few)
			} else if few {
				continue
			}
			pooled++
			threshold, sure := student.Upper(0.05/float64(2*n*ops[s.Op]), ref.freedom), student.Upper(0.05/float64(2*tests), ref.freedom)
			if !near(rep.Sigma, ref.sigma) || !near(rep.Freedom, ref.freedom) || !near(rep.Threshold, threshold) || !near(rep.Sure, sure) {
				t.Fatalf("seed %d: %+v, want sigma %v, freedom %v, thresholds %v, %v", seed, rep, ref.sigma, ref.freedom, threshold, sure)
			}
			if slices.Contains(rep.Doubts, HeavyTails) != ref.heavy || slices.Contains(rep.Doubts, MostlyEqual) != ref.equal {
				t.Fatalf("seed %d: %v, want heavy tails %v, mostly equal %v", seed, rep.Doubts, ref.heavy, ref.equal)
			}
			var want []Outlier
			for step, row := range ref.r {
				for k, x := range row {
					score := x / ref.without[step]
					if x == 0 || math.IsNaN(x) || math.Abs(score) <= threshold {
						continue
					}
					one := Outlier{Series: i, Step: step, Worker: s.Workers[k], Score: score, Effect: int64(math.Round(x)), Threshold: threshold, Sure: math.Abs(score) > sure}
					if log {
						one.Effect = int64(math.Round(float64(s.X[step*n+k]) * (1 - math.Exp(-x))))
					}
					want = append(want, one)
				}
			}
			var got []Outlier
			for _, one := range r.Outliers {
				if one.Series == i && one.Step != EveryStep {
					if p := student.TwoSided(one.Score, ref.freedom); one.P == nil || !near(*one.P, p) && p > 1e-12 {
						t.Fatalf("seed %d: %+v, want p %v", seed, one, p)
					}
					one.P = nil
					got = append(got, one)
				}
			}
			slices.SortFunc(got, func(a, b Outlier) int {
				return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(slices.Index(s.Workers, a.Worker), slices.Index(s.Workers, b.Worker)))
			})
			same := func(a, b Outlier) bool {
				ok := (a.Score == b.Score || math.Abs(a.Score-b.Score) <= 1e-4*math.Abs(b.Score)) && // beside far values sums of squares cancel
					near(a.Threshold, b.Threshold) && max(a.Effect-b.Effect, b.Effect-a.Effect) <= 1
				a.Score, a.Threshold, a.Effect = b.Score, b.Threshold, b.Effect
				return ok && a == b
			}
			if !slices.EqualFunc(got, want, same) {
				t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
			}
		}
		inOrder(t, r, all)
	}
	if logs < 50 || pooled < 200 {
		t.Errorf("%d series on logarithms, %d pooled: too few to compare", logs, pooled)
	}
}

// inOrder checks that sure outliers come first, then by what they come to over the window, and what workers have of them.
func inOrder(t *testing.T, r *Result, all []Series) {
	t.Helper()
	weight := func(o Outlier) float64 {
		if steps := len(all[o.Series].X) / len(all[o.Series].Workers); o.Step == EveryStep {
			return math.Abs(float64(o.Effect)) * float64(steps)
		}
		return math.Abs(float64(o.Effect))
	}
	for i, o := range r.Outliers {
		if i > 0 {
			if before := r.Outliers[i-1]; o.Sure && !before.Sure || o.Sure == before.Sure && weight(o) > weight(before) {
				t.Fatalf("%+v before %+v", before, o)
			}
		}
	}
	worst := -1
	for _, w := range r.Workers {
		outliers, sure, first := 0, 0, -1
		for i, o := range r.Outliers {
			if o.Worker != w.Worker {
				continue
			}
			if outliers++; o.Sure {
				sure++
			}
			if first < 0 {
				first = i
			}
		}
		if w.Outliers != outliers || w.Sure != sure || w.Worst != first || first <= worst {
			t.Fatalf("%+v, want %d outliers, %d of them sure, the worst %d", w, outliers, sure, first)
		}
		worst = first
	}
}

// TestWords: every quantity, method and doubt has a word of its own, by which it is published.
func TestWords(t *testing.T) {
	for kind, words := range map[string][2][]string{
		"quantities": {Quantity(0).Names(), {"start", "duration", "wait", "transfer"}},
		"methods":    {Method(0).Names(), {"pooled", "leave-one-out", "population"}},
		"doubts":     {Doubt(0).Names(), {"few_peers", "few_steps", "mostly_equal", "dependent", "heavy_tails", "cannot_fire", "uncalibrated", "masks_two", "few_blocks"}},
	} {
		if !slices.Equal(words[0], words[1]) {
			t.Errorf("%s: %q, want %q", kind, words[0], words[1])
		}
	}
	for i, word := range (Doubt(0)).Names() {
		if got := Doubt(i + 1).String(); got != word {
			t.Errorf("doubt %d: %q, want %q", i+1, got, word)
		}
	}
	if a, b, c := Wait.String(), LeaveOneOut.String(), Masks.String(); a != "wait" || b != "leave-one-out" || c != "masks_two" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
}

// TestLoosen: squares grow by what levels from the same steps took off them, (τ − 1)/T, and at most twofold.
func TestLoosen(t *testing.T) {
	for _, c := range []struct {
		tau   float64
		steps int
		want  float64
	}{{1, 40, 6}, {11, 40, 8}, {31, 40, 12}} {
		f := &fit{square: []float64{6, 6}}
		if f.loosen(blocks.Blocks{Tau: c.tau, Steps: c.steps}); math.Abs(f.square[0]-c.want) > 1e-12 || math.Abs(f.square[1]-c.want) > 1e-12 {
			t.Errorf("τ %v of %d steps: %v, want %v", c.tau, c.steps, f.square, c.want)
		}
	}
}
