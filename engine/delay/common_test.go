package delay

import (
	"github.com/sfstat/sfstat/engine/claim"
	"math"
	"slices"
	"testing"
)

// TestLowerHalf: the values up to the median, and the median.
func TestLowerHalf(t *testing.T) {
	for _, c := range []struct {
		x, low []float64
		middle float64
	}{
		{[]float64{5, 1, 4, 2, 3}, []float64{1, 2, 3}, 3}, {[]float64{4, 1, 8, 2}, []float64{1, 2}, 3}, {[]float64{7}, []float64{7}, 7},
	} {
		low, middle := lowerHalf(c.x)
		slices.Sort(low)
		if !slices.Equal(low, c.low) || middle != c.middle {
			t.Errorf("%v: %v, %v, want %v, %v", c.x, low, middle, c.low, c.middle)
		}
	}
}

// level returns n values of 1000, of which those given are more by some size.
func level(n int, size float64, at ...int) []float64 {
	out := slices.Repeat([]float64{1000}, n)
	for _, i := range at {
		out[i] += size
	}
	return out
}

// TestExceptions: values that exceed the others by 15 % of a step, if they are less than 45 % of all; they cost what they are more
// than the median of the others.
func TestExceptions(t *testing.T) {
	s := &trend{step: 1000}
	for name, c := range map[string]struct {
		x    []float64
		cost float64
	}{
		"16 %":         {level(40, 160, 3, 9, 20), 480},
		"14 %":         {level(40, 140, 3, 9, 20), 0},
		"17 of 40":     {level(40, 500, upTo(0, 17, 1)...), 17 * 500},
		"18 of 40":     {level(40, 500, upTo(0, 18, 1)...), 0},
		"nothing":      {level(40, 0), 0},
		"two sizes":    {append(level(40, 300, 3), 1000, 2000), 1300},
		"noise of ±10": {alternatingBy(40, 10, 7, 400), 390}, // 1400 − 1010, which 20 of the other 39 are
		// Of 900 and 1100 in turn the noise is 0.7·200 = 140, half a normal distribution's from the median to the least; six of it are 840.
		"less than six deviations": {alternatingBy(40, 100, 7, 930), 0},
		"six deviations":           {alternatingBy(40, 100, 7, 950), 850},
	} {
		big, _, cost := s.exceptions(c.x)
		if !near(cost, c.cost) {
			t.Errorf("%s: %v %v, want a cost of %v", name, cost, big, c.cost)
		}
	}
}

// alternatingBy returns n values of 1000 ± by in turn, of which one is more by some size.
func alternatingBy(n int, by float64, at int, size float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1000 + by - 2*by*float64(i%2)
	}
	out[at] = 1000 + size
	return out
}

// TestNoiseOfValues: 1.4826/√2 of the median absolute difference, and a nanosecond.
func TestNoiseOfValues(t *testing.T) {
	if got, want := noiseOf([]float64{0, 1000, 3000, 6000}), 1.4826/math.Sqrt2*2000+1; math.Abs(got-want) > 1e-4*want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBestCut: the place between eight values at either end where k(n − k)/n of the squared difference of means is largest; by NumPy
//
//	c = numpy.clip(x, *numpy.quantile(x, [0.01, 0.99])); k = range(8, len(x) - 7)
//	max(k, key=lambda k: (c[k:].mean() - c[:k].mean())**2 * k * (len(x) - k) / len(x))
//
// which is 12 of these, with a difference of means of 16.5179…
func TestBestCut(t *testing.T) {
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 20, 22, 19, 21, 23, 20, 18, 24}
	if at, shift := bestCut(x, shortest); at != 12 || math.Abs(shift-16.517916666666668) > 1e-9 {
		t.Errorf("%d, %v; want 12, 16.5179…", at, shift)
	}
	slices.Reverse(x)
	if at, shift := bestCut(x, shortest); at != 8 || math.Abs(shift+16.517916666666668) > 1e-9 {
		t.Errorf("the other way round %d, %v; want 8, −16.5179…", at, shift)
	}
	far := []float64{3, -100, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 20, 22, 19, 21, 300, 20, 18, 24}
	if at, shift := bestCut(far, shortest); at != 12 || math.Abs(shift-51.429166666666625) > 1e-9 {
		t.Errorf("with two far values %d, %v; want 12, 51.429166666666625", at, shift)
	}
	if at, shift := bestCut([]float64{1, 1, 1, 9, 9}, shortest); at != 2 || shift != 0 {
		t.Errorf("of five values %d, %v; want none", at, shift)
	}
}

// TestRefine: among the values around a cut of blocks the place where Σ|x − before| + Σ|x − after| is least.
func TestRefine(t *testing.T) {
	x := slices.Concat(slices.Repeat([]float64{10}, 13), slices.Repeat([]float64{20}, 17))
	for _, at := range []int{10, 12, 15} {
		if got := refine(x, at, 5); got != 13 {
			t.Errorf("from %d: %d, want 13", at, got)
		}
	}
	if got := refine(x, 5, 2); got != 9 {
		t.Errorf("two blocks of two away at most: %d, want 9", got)
	}
}

// TestRefineNearby: with more than fifty values on either side the levels are those of the nearest fifty. Here 12 is nearer to the 10 in front of it than to
// the 20 behind it, and further from the 0 that most in front of it are.
func TestRefineNearby(t *testing.T) {
	for at, want := range map[int]int{48: 46, 50: 48, 51: 51, 55: 55, 60: 60} {
		x := slices.Concat(slices.Repeat([]float64{0}, at/2+1), slices.Repeat([]float64{10}, at-at/2-2), []float64{12}, slices.Repeat([]float64{20}, at))
		if got := refine(x, at, 1); got != want {
			t.Errorf("%d values on either side: %d, want %d", at, got, want)
		}
	}
}

// TestBlockMedians: of three values each, the last of what is left.
func TestBlockMedians(t *testing.T) {
	equal(t, "medians", blockMedians([]float64{1, 9, 2, 4, 4, 7, 8, 6}, 3), []float64{2, 4, 7})
}

// TestBeyondSingle: so many slow steps at a point are Poisson's, with twice the most exceptions of a piece, and one, as mean:
//
//	1 - sum(exp(-m) * m**i / factorial(i) for i in range(n))
func TestBeyondSingle(t *testing.T) {
	c := shared{x: level(20, 0)}
	for singles, want := range map[int]float64{0: 0.00365984682734366, 1: 0.18473675547622792} {
		row := shared{single: slices.Repeat([]float32{0.1}, 20)}
		for i := range singles {
			row.single[i] = 0.31
		}
		s := &trend{rows: []shared{row, {single: []float32{0.2}}}}
		if got := s.singleRankChance(c, 5, 300); math.Abs(got-want) > 1e-12 {
			t.Errorf("five slow steps, %d exceptions: %v, want %v", singles, got, want)
		}
	}
}

// trendOf returns the trend of steps whose only row is x and that all ranks take alike, and 100 more.
func trendOf(x []float64) *trend {
	rows := make([][]int64, len(x))
	for i, v := range x {
		rows[i] = []int64{int64(v), int64(v), int64(v)}
	}
	return newSeries(division(100, rows), nil).trend()
}

// TestCommonTerms: what makes steps longer on all ranks alike, and what it saves, counted by hand. The step takes 1100.
func TestCommonTerms(t *testing.T) {
	for name, c := range map[string]struct {
		x         []float64
		cause     claim.Cause
		pattern   claim.Pattern
		period    int
		certainty claim.Certainty
		first     int
		count     int
		size      int64
	}{
		"nothing":              {x: level(40, 0)},
		"every tenth":          {level(40, 600, 5, 15, 25, 35), claim.SlowSteps, claim.Periodic, 10, claim.Supported, 5, 4, 600},
		"three now and then":   {level(40, 600, 5, 8, 30), claim.SlowSteps, claim.Irregular, 0, claim.Supported, 5, 3, 600},
		"two":                  {level(40, 800, 5, 9), claim.SlowSteps, claim.Irregular, 0, claim.Event, 5, 2, 800},
		"less than 3 %":        {x: level(40, 400, 5, 9, 30)}, // 1200 of 45,200
		"ten in the middle":    {level(40, 500, upTo(10, 20, 1)...), claim.SlowSteps, claim.Span, 0, claim.Supported, 10, 10, 500},
		"the last ten":         {level(40, 500, upTo(30, 40, 1)...), claim.Regression, claim.Span, 0, claim.Supported, 30, 10, 500},
		"the second half":      {level(60, 200, upTo(30, 60, 1)...), claim.Regression, claim.Span, 0, claim.Supported, 30, 30, 200},
		"52 of 60, by 3.5 %":   {level(60, 40, upTo(8, 60, 1)...), claim.Regression, claim.Span, 0, claim.Supported, 8, 52, 40}, // 40 of 1140, and 2080 of 68,080
		"all from the fifth":   {x: level(15, 500, upTo(5, 15, 1)...)},                                                          // of fewer than sixteen steps nothing is said
		"half, by 3 % and 2 %": {x: level(60, 30, upTo(30, 60, 1)...)},                                                          // 30 are less than 3 % of 1115
	} {
		found := trendOf(c.x).common(Options{}.fillDefaults())
		if c.size == 0 {
			if len(found) > 0 {
				t.Errorf("%s: %+v, want nothing", name, found)
			}
			continue
		}
		if len(found) != 1 {
			t.Errorf("%s: %+v, want one finding", name, found)
			continue
		}
		f := found[0]
		whole := 100 * float64(len(c.x))
		for _, v := range c.x {
			whole += v
		}
		gain := float64(c.size) * float64(c.count) / whole
		if f.Kind != claim.Everyone || f.Cause != c.cause || f.Steps.Pattern != c.pattern || f.Steps.Period != c.period || f.Certainty != c.certainty ||
			f.Steps.First != c.first || f.Steps.Count != c.count || f.Size != c.size || !near(f.Saves.Alone, gain) || f.Length != 1100+c.size {
			t.Errorf("%s: %+v, want %v, %v of period %d, %v, %d steps from %d, %d ns, saving %v", name, f, c.cause, c.pattern, c.period, c.certainty, c.count, c.first, c.size, gain)
		}
		if f.Cause == claim.Regression && (f.Before != 1000 || f.From != 1000+c.size) {
			t.Errorf("%s: from %d to %d", name, f.Before, f.From)
		}
	}
}

// TestOneCause: findings of the same steps, to within three, are one, whose parts are those of both; a stage counts once.
func TestOneCause(t *testing.T) {
	of := func(stage, first, last, count int, charged int64) claim.Claim {
		return claim.Claim{Cause: claim.SlowSteps, Steps: claim.Struck{First: first, Last: last, Count: count}, Parts: []claim.Part{{Stage: stage, Size: 10, Charged: charged}}, Size: 10,
			Saves: claim.Exact(0.1), P: 0.5, Certainty: claim.Event}
	}
	for name, c := range map[string]struct {
		with claim.Claim
		n    int
	}{
		"the same": {of(1, 5, 35, 4, 50), 1}, "three later": {of(1, 8, 38, 7, 50), 1}, "four later": {of(1, 9, 35, 4, 50), 2},
		"ends four later": {of(1, 5, 39, 4, 50), 2}, "four steps more": {of(1, 5, 35, 8, 50), 2},
	} {
		list := mergeFinding([]claim.Claim{of(0, 5, 35, 4, 90)}, c.with)
		if len(list) != c.n {
			t.Errorf("%s: %d findings, want %d", name, len(list), c.n)
			continue
		}
		if f := list[0]; c.n == 1 && (f.Size != 20 || !near(f.Saves.Alone, 0.2) || !near(f.Saves.High, 0.2) || len(f.Parts) != 2 || f.Parts[0].Stage != 0 || f.Steps.First != 5) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if list := mergeFinding([]claim.Claim{of(0, 5, 35, 4, 90)}, of(1, 6, 36, 4, 91)); list[0].Steps.First != 6 || list[0].Parts[0].Stage != 1 {
		t.Errorf("steps are those of the larger: %+v", list[0])
	}
	if list := mergeFinding([]claim.Claim{of(0, 5, 35, 4, 90)}, of(0, 5, 35, 4, 50)); len(list) != 1 || list[0].Size != 10 {
		t.Errorf("the same stage twice: %+v", list)
	}
	regression := of(1, 5, 35, 4, 50)
	regression.Cause = claim.Regression
	if list := mergeFinding([]claim.Claim{of(0, 5, 35, 4, 90)}, regression); len(list) != 2 {
		t.Errorf("another cause: %+v", list)
	}
}
