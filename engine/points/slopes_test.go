package points

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func allNear(a, b []float64) bool { return slices.EqualFunc(a, b, near) }

// stepsOf returns steps of ranks, [step][stage][rank].
func stepsOf(steps ...[][]int64) *Steps {
	s := &Steps{Ranks: len(steps[0][0])}
	for k := range steps[0] {
		s.Stages = append(s.Stages, Stage{Name: string(rune('a' + k))})
	}
	for _, step := range steps {
		s.Durations = append(s.Durations, slices.Concat(step...)...)
	}
	return s
}

// TestCenter: deviations from the mean, of times that double precision cannot tell apart by themselves.
func TestCenter(t *testing.T) {
	got := make([]float64, 3)
	if center(got, []int64{10, 20, 60}); !allNear(got, []float64{-20, -10, 30}) {
		t.Errorf("%v", got)
	}
	const year = 1 << 60
	if center(got, []int64{year + 1, year + 2, year + 6}); !slices.Equal(got, []float64{-2, -1, 3}) {
		t.Errorf("%v, want −2, −1, 3", got)
	}
}

// TestDetrend: what numpy.polyfit(range(4), y, 1) leaves of each rank; of a line nothing.
func TestDetrend(t *testing.T) {
	y := []float64{1, 5, 2, 7, 4, 9, 5, 11} // rank 0: 1, 2, 4, 5: 0.9 + 1.4 t; rank 1: 5 + 2 t
	detrend(y, 2)
	if want := []float64{0.1, 0, -0.3, 0, 0.3, 0, -0.1, 0}; !allNear(y, want) {
		t.Errorf("%v, want %v", y, want)
	}
	one := []float64{3, 4}
	if detrend(one, 2); !allNear(one, []float64{0, 0}) {
		t.Errorf("of one step %v", one)
	}
}

// TestArrivals: when ranks begin each step, and how long after the end of a stage they begin it again.
func TestArrivals(t *testing.T) {
	c := stepsOf([][]int64{{1, 3}, {10, 20}, {100, 400}}, [][]int64{{5, 1}, {0, 0}, {7, 9}}, [][]int64{{2, 2}, {3, 3}, {4, 4}})
	x := make([]float64, 6)
	arrivals(c, [2]int{0, 3}, x)
	// They begin after 0, 0; 111, 423; 123, 433.
	if want := []float64{0, 0, -156, 156, -155, 155}; !allNear(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
	x = make([]float64, 4)
	endToArrival(c, 1, 1, x)
	// From the end of b: 100 + 5 and 400 + 1; 7 + 2 and 9 + 2.
	if want := []float64{-148, 148, -1, 1}; !allNear(x, want) {
		t.Errorf("since b %v, want %v", x, want)
	}
}

// TestBlockSlopes: Σxy ÷ Σx² over blocks of steps, where arrivals differ by a nanosecond and more.
func TestBlockSlopes(t *testing.T) {
	x := []float64{-10, 10, -20, 20, 0.5, -0.5, 30, -30}
	y := []float64{10, -10, 10, -10, 1, -1, -15, 15}
	slopes, spread := blockSlopes(x, y, 2, 4)
	if !allNear(slopes, []float64{-1, -0.5, -0.5}) || !allNear(spread, []float64{200, 800, 1800}) {
		t.Errorf("%v, %v; want −1, −½ and −½ of 200, 800 and 1800", slopes, spread)
	}
}

// TestBlockOf: four degrees of freedom in a block, if a dozen blocks are left.
func TestBlockOf(t *testing.T) {
	for _, c := range []struct{ steps, freedom, want int }{{100, 1, 4}, {100, 2, 2}, {100, 3, 2}, {100, 4, 1}, {100, 9, 1}, {40, 1, 3}, {24, 1, 2}, {23, 1, 1}, {5, 1, 1}} {
		if got := blockOf(c.steps, c.freedom); got != c.want {
			t.Errorf("%d steps, %d free: %d, want %d", c.steps, c.freedom, got, c.want)
		}
	}
}

// TestWidest: of eight slopes the two of the widest spread, of fewer than four none.
func TestWidest(t *testing.T) {
	if got := widest([]float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{9, 1, 1, 8, 1, 2, 3, 4}); !slices.Equal(got, []float64{1, 4}) {
		t.Errorf("%v, want 1 and 4", got)
	}
	if got := widest([]float64{1, 2, 3}, []float64{9, 1, 1}); got != nil {
		t.Errorf("of three %v", got)
	}
}

// TestJudge: the whole interval must lie at the gate or below, the median above its inverse; two orders of 16 slopes are beyond an interval
// of 99 %: P(Bin(16, ½) ≤ 2) = 0.0021 is less than 0.005, and of three with 0.0106 it is not.
func TestJudge(t *testing.T) {
	g := Gates{}.fillDefaults()
	slopes := func(most int, x, other float64) []float64 {
		return append(slices.Repeat([]float64{x}, 16-most), slices.Repeat([]float64{other}, most)...)
	}
	for name, c := range map[string]struct {
		slopes []float64
		want   Evidence
	}{
		"all −1":             {slopes(0, -1, 0), Shown},
		"all −0.52":          {slopes(0, -0.52, 0), Shown},
		"all −0.48":          {slopes(0, -0.48, 0), None},
		"all −1.9":           {slopes(0, -1.9, 0), Shown},
		"all −2.1":           {slopes(0, -2.1, 0), None},
		"two of sixteen 0":   {slopes(2, -1, 0), Shown},
		"three of sixteen 0": {slopes(3, -1, 0), None},
		"two slopes":         {[]float64{-1, -1}, None},
	} {
		p := Point{}
		if p.judge(c.slopes, g); p.Evidence != c.want {
			t.Errorf("%s: %v, want %v (%+v)", name, p.Evidence, c.want, p)
		}
	}
	for _, c := range []struct {
		low, high float64
		want      bool
	}{{-0.49, 0, true}, {-0.51, 0, false}, {-9, -2.01, true}, {-9, -1.99, false}} {
		if p := (Point{Low: c.low, High: c.high}); p.isExcluded(g) != c.want {
			t.Errorf("from %v to %v: excluded %v, want %v", c.low, c.high, !c.want, c.want)
		}
	}
}

// TestLoose: a stage whose spread exceeds the least by more than four deviations of noise, 4/√n of it, is no synchronisation point.
func TestLoose(t *testing.T) {
	points := []Point{{Evidence: Shown}, {Evidence: Shown}, {Evidence: Shown}, {Evidence: Likely}}
	dropLoose(points, []float64{100, 139, 141, 900}, 100) // 4/√100 = 0.4
	if points[0].Evidence != Shown || points[1].Evidence != Shown || points[2].Evidence != None || points[3].Evidence != Likely {
		t.Errorf("%+v, want the third dropped", points)
	}
}

// TestSettled: a step that one rank takes half a step longer than the others, who never make up for it and wait for it nowhere, is a clock that
// was set: it has the others' median. Where they make up for half of it, it stays.
func TestSettled(t *testing.T) {
	job := func(extra int64, then func(steps [][][]int64)) *Steps {
		var steps [][][]int64
		for range 10 {
			steps = append(steps, [][]int64{{50, 50, 50}, {50, 50, 50}})
		}
		steps[4][0][1] += extra
		if then != nil {
			then(steps)
		}
		return stepsOf(steps...)
	}
	longer := func(at, by int64) func([][][]int64) { // the others, in both stages alike
		return func(steps [][][]int64) {
			for _, r := range []int{0, 2} {
				steps[at][0][r] += by / 2
				steps[at][1][r] += by / 2
			}
		}
	}
	for name, c := range map[string]struct {
		s    *Steps
		want int64
	}{
		"half a step":                {job(50, nil), 100},
		"more":                       {job(51, nil), 50},
		"made up in the next":        {job(100, longer(5, 98)), 150}, // in no stage by half of it
		"half made up":               {job(100, longer(7, 52)), 150},
		"less than half made up":     {job(100, longer(7, 48)), 50},
		"made up four steps later":   {job(100, longer(8, 98)), 50},
		"made up three steps before": {job(100, longer(1, 98)), 150},
		"made up four steps before":  {job(100, longer(0, 98)), 50},
		"waited for in one stage": {job(100, func(s [][][]int64) {
			s[4][1][0], s[4][1][2] = 100, 100
			s[5][0][0], s[5][0][2] = 0, 0
		}), 150},
	} {
		if got := removeJumps(c.s).At(4, 0)[1]; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	s := job(51, nil)
	if removeJumps(s); s.At(4, 0)[1] != 101 {
		t.Error("the steps that were given have changed")
	}
}

// TestWithin: pairs of ranks that leave together, when the pair's last has come, synchronise as pairs; if all leave together they
// do as one. What is left of exits inside the pairs, as a part of the 2/3 expected by chance, decides at a half.
func TestWithin(t *testing.T) {
	pairs := [][]int{{0, 1}, {2, 3}}
	job := func(sets [][]int, own float64) *Steps {
		g := rand.New(rand.NewPCG(3, 4))
		var steps [][][]int64
		for range 200 {
			a, b, c := make([]int64, 4), make([]int64, 4), make([]int64, 4)
			for _, set := range sets {
				last := int64(0)
				for _, r := range set {
					a[r] = 10_000_000 + int64(1e6*g.NormFloat64())
					last = max(last, a[r])
				}
				transfer := int64(1e6 * g.ExpFloat64())
				for _, r := range set {
					b[r] = last + transfer - a[r]
				}
			}
			latest := int64(0)
			for r := range c {
				c[r] = int64(own * 1e5 * math.Abs(g.NormFloat64()))
				latest = max(latest, a[r]+b[r]+c[r])
			}
			d := make([]int64, 4) // all wait at the end
			for r := range d {
				d[r] = latest + 1_000_000 - a[r] - b[r] - c[r]
			}
			steps = append(steps, [][]int64{a, b, c, d})
		}
		s := stepsOf(steps...)
		s.Splits = [][][]int{{{0, 2}, {1, 3}}, pairs}
		return s
	}
	f := Find(job(pairs, 1), Gates{})
	if len(f.Within) != 1 || f.Within[0].Stage != 1 || f.Within[0].Split != 1 || !slices.EqualFunc(f.Within[0].Sets, pairs, slices.Equal) {
		t.Errorf("pairs leave together: %+v", f.Within)
	}
	if len(f.Points) != 1 || f.Points[0].Stage != 3 {
		t.Errorf("all wait in the last stage: %+v", f.Points)
	}
	f = Find(job([][]int{{0, 1, 2, 3}}, 1), Gates{})
	if len(f.Within) != 0 || len(f.Points) != 2 {
		t.Errorf("all leave together: %+v, %+v", f.Within, f.Points)
	}
}
