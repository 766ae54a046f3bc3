package recurrence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// job draws an excess with noise and spikes, and adds a fault.
func job(seed uint64, n int, fault func(t int, rng *rand.Rand) float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := make([]float64, n)
	for t := range x {
		x[t] = rng.NormFloat64()
		if rng.Float64() < 0.03 {
			x[t] += 4 * rng.ExpFloat64()
		}
		x[t] += fault(t, rng)
	}
	return x
}

func TestHowOftenAndHowLong(t *testing.T) {
	cases := []struct {
		name    string
		n       int
		fault   func(t int, rng *rand.Rand) float64
		struck  int
		excess  float64
		pattern Pattern
		first   int
		last    int
	}{
		{"5 s at every border", 2000, func(t int, _ *rand.Rand) float64 { return on(t%100 == 99, 5000) }, 20, 5000, Intermittent, 99, 1999},
		{"one stall", 100, func(t int, _ *rand.Rand) float64 { return on(t == 42, 5000) }, 1, 5000, Intermittent, 42, 42},
		{"every step", 400, func(int, *rand.Rand) float64 { return 40 }, 400, 40, Constant, 0, 399},
		{"every step, no more than noise", 400, func(int, *rand.Rand) float64 { return 2 }, 400, 2, Constant, 0, 399},
		{"from a step on", 600, func(t int, _ *rand.Rand) float64 { return on(t >= 350, 40) }, 250, 40, Stretch, 350, 599},
		{"two windows of six", 300, func(t int, _ *rand.Rand) float64 { return on(t >= 100 && t < 200, 38) }, 100, 38, Stretch, 100, 199},
		{"three windows of four", 160, func(t int, _ *rand.Rand) float64 { return on(t < 80 || t >= 120, 40) }, 120, 40, Stretch, 0, 159},
		{"every third, of many sizes", 900, func(t int, rng *rand.Rand) float64 { return on(t%3 == 0, 60+60*rng.ExpFloat64()) }, 300, 120, Intermittent, 0, 897},
		{"now and then", 1000, func(t int, rng *rand.Rand) float64 { return on(rng.Float64() < 0.2, 50) }, 200, 50, Intermittent, -1, -1},
	}
	for _, c := range cases {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				r, err := Estimate(job(seed, c.n, c.fault), 1)
				if err != nil {
					t.Fatal(err)
				}
				tolerance := 0
				if c.first < 0 {
					tolerance = 40 // the draws differ
				}
				if c.excess < 6 {
					tolerance = c.n / 4
				}
				if d := r.Struck - c.struck; d > tolerance || -d > tolerance {
					t.Errorf("struck %d of %d, want %d", r.Struck, r.Of, c.struck)
				}
				if math.Abs(r.Excess-c.excess) > 0.15*c.excess+0.5 {
					t.Errorf("excess %.1f [%.1f, %.1f], want %.1f", r.Excess, r.ExcessLow, r.ExcessHigh, c.excess)
				}
				if r.Pattern != c.pattern && c.excess >= 6 {
					t.Errorf("pattern %v (p %.2g), want %v", r.Pattern, r.P, c.pattern)
				}
				if c.first >= 0 && c.excess >= 6 && (r.First != c.first || r.Last != c.last) {
					t.Errorf("from %d to %d, want %d to %d", r.First, r.Last, c.first, c.last)
				}
				if r.Low > float64(r.Struck)/float64(r.Of) || r.High < float64(r.Struck)/float64(r.Of) || r.ExcessLow > r.Excess || r.ExcessHigh < r.Excess {
					t.Errorf("bounds do not hold the estimate: %+v", r)
				}
			})
		}
	}
}

func on(yes bool, x float64) float64 {
	if yes {
		return x
	}
	return 0
}

// TestCoverage: the bounds of the excess hold the truth as often as they say.
func TestCoverage(t *testing.T) {
	held, rate, n := 0, 0, 400
	for seed := range uint64(n) {
		r, err := Estimate(job(seed, 500, func(_ int, rng *rand.Rand) float64 { return on(rng.Float64() < 0.1, 40+5*rng.NormFloat64()) }), 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.ExcessLow <= 40.1 && 40.1 <= r.ExcessHigh { // spikes add 0.12 on average
			held++
		}
		if r.Low <= 0.1 && 0.1 <= r.High {
			rate++
		}
	}
	if held < n*92/100 || rate < n*94/100 {
		t.Errorf("excess held in %d, rate in %d of %d", held, rate, n)
	}
}

// TestStretchesOfNoise: struck steps that lie anywhere are seldom said to keep to
// a stretch.
func TestStretchesOfNoise(t *testing.T) {
	wrong := 0
	for seed := range uint64(500) {
		part := 0.02 + 0.5*float64(seed%10)/10
		r, err := Estimate(job(seed, 300, func(_ int, rng *rand.Rand) float64 { return on(rng.Float64() < part, 50) }), 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Pattern == Stretch {
			wrong++
		}
	}
	if wrong > 5 {
		t.Errorf("%d of 500", wrong)
	}
}

func TestScale(t *testing.T) {
	x := job(1, 500, func(t int, _ *rand.Rand) float64 { return on(t%7 == 0, 30) })
	want, err := Estimate(x, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		x[i] *= 1e6
	}
	got, err := Estimate(x, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	got.Excess, got.ExcessLow, got.ExcessHigh = got.Excess/1e6, got.ExcessLow/1e6, got.ExcessHigh/1e6
	if math.Abs(got.Excess-want.Excess) > 1e-6 || got.Struck != want.Struck || got.Pattern != want.Pattern {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNothing(t *testing.T) {
	if _, err := Estimate(nil, 1); err == nil {
		t.Error("no steps: no error")
	}
	for _, x := range [][]float64{{0}, {0, 0, 0}, {-5, -7, -1}} {
		if r, err := Estimate(x, 0); err != nil || r.Struck != 0 || r.Pattern != None {
			t.Errorf("%v: %+v, %v", x, r, err)
		}
	}
}

func ExampleEstimate() {
	excess := make([]float64, 400)
	for step := range excess {
		if step%100 == 99 {
			excess[step] = 5e9
		}
	}
	r, err := Estimate(excess, 1e6)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.0f s in %d of %d steps, over all of the run: %t\n", r.Excess/1e9, r.Struck, r.Of, r.Pattern == Intermittent)
	// Output: 5 s in 4 of 400 steps, over all of the run: true
}

// TestChanceApart: by counting all placements of short arcs on short circles.
func TestChanceApart(t *testing.T) {
	for _, c := range []struct {
		steps   int
		lengths []int
	}{{7, []int{3}}, {7, []int{3, 4}}, {8, []int{2, 3}}, {9, []int{3, 3, 3}}, {9, []int{1, 2, 3}}, {6, []int{3, 4}}} {
		apart, all := 0, 1
		for range c.lengths {
			all *= c.steps
		}
		for placed := range all {
			taken := make([]bool, c.steps)
			free := true
			for _, l := range c.lengths {
				at := placed % c.steps
				placed /= c.steps
				for k := range l {
					free = free && !taken[(at+k)%c.steps]
					taken[(at+k)%c.steps] = true
				}
			}
			if free {
				apart++
			}
		}
		if want, got := float64(apart)/float64(all), ChanceApart(c.lengths, c.steps); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v of %d: %v, want %v", c.lengths, c.steps, got, want)
		}
	}
}

// TestConstant: a fault in nine steps of ten is constant, and one in eight of ten
// is not, in enough steps.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		part    float64
		least   int // runs of 50 said to be constant
		most    int
		pattern Pattern
	}{{0.95, 49, 50, Constant}, {0.9, 45, 50, Constant}, {0.75, 0, 1, Intermittent}} {
		n := 0
		for seed := range uint64(50) {
			r, err := Estimate(job(seed, 300, func(_ int, rng *rand.Rand) float64 { return on(rng.Float64() < c.part, 50) }), 1)
			if err != nil {
				t.Fatal(err)
			}
			if r.Pattern == Constant {
				n++
			}
		}
		if n < c.least || n > c.most {
			t.Errorf("in %v of the steps: %d of 50 constant, expected %d to %d", c.part, n, c.least, c.most)
		}
	}
}
