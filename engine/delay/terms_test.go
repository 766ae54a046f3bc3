package delay

import (
	"fmt"
	"github.com/sfstat/sfstat/engine/claim"
	"slices"
	"testing"
)

// hits returns n intervals of which those given are struck.
func hits(n int, at ...int) []bool {
	out := make([]bool, n)
	for _, i := range at {
		out[i] = true
	}
	return out
}

// upTo returns the numbers from, from + by, … below to.
func upTo(from, to, by int) (out []int) {
	for i := from; i < to; i += by {
		out = append(out, i)
	}
	return out
}

// TestPeriod: three or more at equal distances of two or more; one distance, or one in ten, may be a multiple.
func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		at   []int
		want int
	}{
		{[]int{3, 8}, 0}, {[]int{3, 8, 13}, 5}, {[]int{3, 8, 14}, 0}, {[]int{1, 2, 3, 4}, 0}, {[]int{0, 2, 4}, 2},
		{[]int{0, 5, 10, 20, 25}, 5}, // one is missing
		{[]int{0, 5, 15, 20, 30}, 0}, // two are missing of four
	} {
		if got := periodOf(hits(200, c.at...)); got != c.want {
			t.Errorf("%v: %d, want %d", c.at, got, c.want)
		}
	}
	// Twenty distances of which two are double: one in ten. Nineteen: more.
	for _, c := range []struct{ at, want int }{{21, 5}, {20, 0}} {
		at, next := []int{0}, 0
		for i := range c.at - 1 {
			if next += 5; i == 3 || i == 9 {
				next += 5
			}
			at = append(at, next)
		}
		if got := periodOf(hits(200, at...)); got != c.want {
			t.Errorf("two double ones of %d distances: %d, want %d", len(at)-1, got, c.want)
		}
	}
}

// TestRegular: up to a quarter of what is struck, or one, may lie beside a period; what does is left out.
func TestRegular(t *testing.T) {
	every := upTo(2, 42, 10) // 2, 12, 22, 32
	kept, period := regular(hits(60, slices.Concat(every, []int{5})...))
	if period != 10 || !slices.Equal(kept, hits(60, every...)) {
		t.Errorf("one beside four: period %d of %v", period, kept)
	}
	eight := upTo(2, 82, 10)
	if _, period := regular(hits(100, slices.Concat(eight, []int{5, 15})...)); period != 10 {
		t.Errorf("two beside eight: period %d, want 10: 2 of 10 are no more than 10/4", period)
	}
	if _, period := regular(hits(100, slices.Concat(eight, []int{5, 17, 29})...)); period != 0 {
		t.Errorf("three beside eight: period %d, want none: 3 of 11 are more than 11/4", period)
	}
	if _, period := regular(hits(100, slices.Concat(upTo(2, 92, 10), []int{5, 17, 29})...)); period != 10 {
		t.Errorf("three beside nine: period %d, want 10: 3 of 12 are no more than 12/4", period)
	}
	if _, period := regular(hits(100, 3, 4, 5, 6)); period != 0 {
		t.Errorf("one after another: period %d", period)
	}
}

// TestStretch: where most of what is struck lies nearly without gaps.
func TestStretch(t *testing.T) {
	for name, c := range map[string]struct {
		at       []int
		from, to int
		ok       bool
	}{
		"eight":                             {upTo(10, 18, 1), 10, 18, true},
		"seven":                             {upTo(10, 17, 1), 10, 17, false},
		"one gap of seven":                  {slices.Concat(upTo(10, 14, 1), upTo(15, 18, 1)), 10, 18, true},    // 7 of 8 = 0.875 ≥ 0.85
		"two gaps of ten":                   {slices.Concat(upTo(10, 14, 1), upTo(16, 20, 1)), 10, 20, false},   // 8 of 10 = 0.8
		"three of twenty elsewhere":         {slices.Concat(upTo(10, 27, 1), []int{40, 45, 50}), 10, 27, true},  // 17 of 20 = 0.85
		"three of nineteen elsewhere":       {slices.Concat(upTo(10, 26, 1), []int{40, 45, 50}), 10, 26, false}, // 16 of 19 = 0.842
		"the longer of two":                 {slices.Concat([]int{1, 2}, upTo(10, 40, 1)), 10, 40, true},        //
		"to the end":                        {upTo(50, 60, 1), 50, 60, true},                                    //
		"none":                              {nil, 0, 0, false},                                                 //
		"scattered, as many struck as free": {slices.Concat(upTo(0, 60, 2)), 0, 1, false},                       //
	} {
		from, to, ok := stretch(hits(60, c.at...))
		if from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%s: [%d, %d) %v, want [%d, %d) %v", name, from, to, ok, c.from, c.to, c.ok)
		}
	}
}

// TestUpperTenth: of ten values the second largest; a tenth reach it beside the largest.
func TestUpperTenth(t *testing.T) {
	if got := upperTenth([]float64{9, 1, 2, 3, 10, 4, 5, 6, 7, 8}); got != 9 {
		t.Errorf("%v, want 9", got)
	}
	if got := upperTenth([]float64{9, 1, 2}); got != 9 {
		t.Errorf("of three %v, want 9", got)
	}
}

// jobOf returns steps of four ranks that take 1000 each, of which rank 0 takes extra[n] longer in step n.
func jobOf(extra []int64) *series {
	rows := repeated(len(extra), 1000, 1000, 1000, 1000)
	for n, x := range extra {
		rows[n][0] += x
	}
	return newSeries(division(0, rows), nil)
}

// forms returns the shapes of rank 0 as "pattern claim [the first and the last interval that is struck]".
func formsOf(s *series) (out []string) {
	c := cell{0, 0}
	for _, f := range s.shapes(c, s.charge[0].rankCharges(0, s.Intervals), s.column(s.excess[0], 0), s.ownDelay(c)) {
		first, last, count := -1, -1, 0
		for n, x := range f.d {
			if x > 0 {
				if count++; first < 0 {
					first = n
				}
				last = n
			}
		}
		out = append(out, fmt.Sprintf("%v %.0f: %d in %d–%d", []string{"level", "span", "every", "some"}[f.pattern], f.claim, count, first, last))
	}
	return out
}

// TestShapes: what is tried of a candidate, and the size that each claims. The noise is 1 ns, of which 2 are charged to nobody, and a
// strike is more than 1 % of the step.
func TestShapes(t *testing.T) {
	const n = 40
	at := func(size int64, of ...int) []int64 {
		out := make([]int64, n)
		for _, i := range of {
			out[i] = size
		}
		return out
	}
	for name, c := range map[string]struct {
		extra []int64
		want  []string
	}{
		"every step":    {at(500, upTo(0, n, 1)...), []string{"level 500: 40 in 0–39"}},
		"32 of 40":      {at(500, upTo(4, 36, 1)...), []string{"level 500: 40 in 0–39"}}, // 80 % is a level
		"31 of 40":      {at(500, upTo(4, 35, 1)...), []string{"span 498: 31 in 4–34", "level 500: 40 in 0–39"}},
		"four":          {at(500, 3, 11, 12, 30), []string{"some 498: 4 in 3–30"}},
		"every eighth":  {at(500, upTo(2, n, 8)...), []string{"every 498: 5 in 2–34"}},
		"12 of 1000":    {at(13, upTo(0, n, 4)...), []string{"every 11: 10 in 0–36", "level 1: 40 in 0–39"}}, // numpy.quantile of a quarter of 13s: 3.25
		"10 of 1000":    {at(11, upTo(1, n, 8)...), []string{"every 11: 5 in 1–33"}},                         // charged 9; with its noise 11
		"9 of 1000":     {at(9, upTo(1, n, 8)...), nil},
		"nobody's time": {at(0), nil},
	} {
		equal(t, name, formsOf(jobOf(c.extra)), c.want)
	}
	// Strikes of 10,000, and 200 in all steps: beyond the step's hundredth are all, beyond half of the upper tenth the strikes.
	extra := at(200, upTo(0, n, 1)...)
	for i := 1; i < n; i += 5 {
		extra[i] = 10_000
	}
	equal(t, "two sizes", formsOf(jobOf(extra)), []string{"every 10000: 8 in 1–36", "level 200: 40 in 0–39"})
}

// TestStruck: a delay in some steps is what exceeds the usual, cut at twice its size and twice the noise; what is a quarter of
// the middle size or less is not of it.
func TestStruck(t *testing.T) {
	s := &series{}
	e := []float64{10, 110, 10, 36, 10, 35, 10, 500, 10, 10}
	f := s.struck(hits(10, 1, 3, 5, 7), e, 100, 10, 7)
	equal(t, "cut and left out", f.d, []float64{0, 100, 0, 26, 0, 0, 0, 214, 0, 0})
	if f.claim != 100 || f.pattern != claim.Irregular {
		t.Errorf("%+v, want a claim of 100 in some steps", f)
	}
	// Of one stretch it is a level: numpy.clip([30, 50, 30, 50, 30, 50, 30, 50], 30, 50).mean() − 10 = 30.
	e = []float64{10, 30, 50, 30, 50, 30, 50, 30, 50, 10}
	f = s.struck(hits(10, upTo(1, 9, 1)...), e, 28, 10, 1)
	equal(t, "a span", f.d, []float64{0, 30, 30, 30, 30, 30, 30, 30, 30, 0})
	if f.pattern != claim.Span || f.claim != 28 {
		t.Errorf("%+v, want a span that claims 28", f)
	}
}

// TestCandidates: ranks and pieces by what is charged to them, if it is more than 1 % of the run.
func TestCandidates(t *testing.T) {
	s := newSeries(division(0, repeated(10, 1000, 1000, 1000, 1000), repeated(10, 1000, 1000, 1000, 1000)), nil)
	s.whole = 20_000
	s.charge[0].total, s.charge[1].total = []float64{200, 201, 5000, 0}, []float64{300, 5000, 0, 0}
	equal(t, "candidates", s.candidates(), []cell{{2, 0}, {1, 1}, {0, 1}, {1, 0}})
	s.charge[0].total = slices.Repeat([]float64{900}, 13)
	if got := len(s.candidates()); got != 12 {
		t.Errorf("%d candidates of 15, want 12", got)
	}
}

// TestPeel: terms are found by falling charge and taken out; what is left of a rank is tested again.
func TestPeel(t *testing.T) {
	rows, other := repeated(60, 1000, 1000, 1000, 1000, 1000, 1000), repeated(60, 500, 500, 500, 500, 500, 500)
	for n := range rows {
		rows[n][2] += 300
		if n%10 == 4 {
			rows[n][4] += 5000
		}
		other[n][1] += 150
	}
	s := newSeries(division(0, rows, other), nil)
	var got []string
	for _, x := range s.peel(0.05) {
		got = append(got, fmt.Sprintf("rank %d piece %d: %.0f", x.rank, x.piece, x.claim))
	}
	// The strikes of rank 4 cost 6 · 4700 beside rank 2's 54 · 298; without both rank 1 leads by its 150.
	equal(t, "terms", got, []string{"rank 4 piece 0: 4998", "rank 2 piece 0: 300", "rank 1 piece 1: 150"})
	if s.charge[0].sum+s.charge[1].sum > 0 {
		t.Errorf("%v is left", s.charge)
	}
	if got := len(newSeries(division(0, rows, other), nil).peel(1e-30)); got != 2 {
		t.Errorf("%d terms at a level of 1e-30, want the two that have P = 3·6/w·6⁻⁶⁰: six strikes have 3·6/w·6⁻⁶", got)
	}
}

// TestLeastExplained: a delay that explains less than 1 % of the run is none.
func TestLeastExplained(t *testing.T) {
	for extra, want := range map[int64]int{8: 0, 12: 0, 14: 1} { // of steps of 1000; 2 are charged to nobody
		if got := len(jobOf(slices.Repeat([]int64{extra}, 60)).peel(0.05)); got != want {
			t.Errorf("%d ns of 1000 in every step: %d terms, want %d", extra, got, want)
		}
	}
}
