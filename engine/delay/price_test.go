package delay

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// TestSavingByReplay: 20 steps that end with rank 3's 1500, then 500 that all take; rank 2 takes 1300, the others 1000.
func TestSavingByReplay(t *testing.T) {
	s := newSeries(division(500, repeated(20, 1000, 1000, 1300, 1500)), nil)
	found := s.termFindings(s.peel(0.05), &Run{}, Options{}.fillDefaults())
	if len(found) != 2 || !slices.Equal(found[0].Ranks, []int{3}) || !slices.Equal(found[1].Ranks, []int{2}) {
		t.Fatalf("found %+v, want rank 3, then rank 2", found)
	}
	for i, want := range []claim.Saving{
		{Alone: 200. / 2000, After: 500. / 2000, Low: 199. / 2000, High: 201. / 2000, AtMost: 200. / 2000}, // rank 2 is next; without it 1500 of 2000 are left
		{Alone: 0, After: 300. / 1800}, // rank 3 is last all the same
	} {
		got := found[i].Saves
		for k, pair := range [][2]float64{{got.Alone, want.Alone}, {got.After, want.After}, {got.Low, want.Low}, {got.High, want.High}, {got.AtMost, want.AtMost}} {
			if !near(pair[0], pair[1]) {
				t.Errorf("rank %v: number %d of %+v, want %+v", found[i].Ranks, k, got, want)
			}
		}
	}
	if f := found[0]; f.Size != 500 || f.Length != 2000 || f.Last != 20 || f.Waited != 1 || f.Certainty != claim.Strong || f.Steps.Pattern != claim.Constant || f.Parts[0] != (claim.Part{Stage: 0, Size: 500, Charged: 10_000}) {
		t.Errorf("rank 3: %+v", f)
	}
	if f := found[1]; f.Last != 0 || f.Size != 300 || f.Parts[0].Charged != 6000 {
		t.Errorf("rank 2: %+v", f)
	}
	if !near(s.joint, 500./2000) {
		t.Errorf("both save %v, want 0.25", s.joint)
	}
}

// TestTwoAlike: of two ranks that are equally late fixing one saves nothing, and fixing it after the other all.
func TestTwoAlike(t *testing.T) {
	s := newSeries(division(0, repeated(20, 1000, 1000, 1000, 1000, 1500, 1500)), nil)
	found := s.termFindings(s.peel(0.05), &Run{}, Options{}.fillDefaults())
	if len(found) != 2 {
		t.Fatalf("%d found, want two", len(found))
	}
	for _, f := range found {
		if f.Saves.Alone != 0 || !near(f.Saves.After, 1./3) || f.Saves.Largest() != f.Saves.After {
			t.Errorf("rank %v saves %+v, want 0 alone and a third after the other", f.Ranks, f.Saves)
		}
	}
}

// TestShifted: terms are taken off, less a part of their error, or put back.
func TestShifted(t *testing.T) {
	s := newSeries(division(0, repeated(3, 100, 200)), nil)
	x := []*term{{rank: 1, d: []float64{100, 0, 5}}}
	equal(t, "without", subtractTerms(s.arrive, s, x, 0)[0], []int64{100, 100, 100, 200, 100, 195})
	equal(t, "without, less an error", subtractTerms(s.arrive, s, x, 10)[0], []int64{100, 110, 100, 200, 100, 200})
	equal(t, "without more", subtractTerms(s.arrive, s, x, -10)[0], []int64{100, 90, 100, 200, 100, 185})
	equal(t, "with", addTerms(s.arrive, s, x)[0], []int64{100, 300, 100, 200, 100, 205})
	equal(t, "as it was", s.arrive[0], []int64{100, 200, 100, 200, 100, 200})
}

// alternating returns 16 steps in which rank 0 takes 510 and 490 longer than two others in turn, and its term of 500, taken out.
func alternating16(after int64) (*series, *term) {
	rows := repeated(16, 1000, 1000, 1000)
	for n := range rows {
		rows[n][0] += 500 + 10 - 20*int64(n%2)
	}
	s := newSeries(division(after, rows), nil)
	x := &term{rank: 0, d: columnOf(16, 500, always), chance: chance{block: 1}}
	s.remove(0, 0, x.d)
	return s, x
}

// TestSizeError: two standard errors, 1.25 for a mean between quartiles, of what is left: of the rank, or the middle of all.
func TestSizeError(t *testing.T) {
	s, x := alternating16(0)
	// Left of rank 0 are ±10 in turn: numpy.std is 10, of the others, whose median rank 0 moves, 5.
	if got := s.sizeError(x); !near(got, 2*1.25*10/4) {
		t.Errorf("of 16 steps %v, want 2·1.25·10/√16 = 6.25", got)
	}
	x.block = 4
	if got := s.sizeError(x); !near(got, 2*1.25*10/2) {
		t.Errorf("in blocks of 4 %v, want 12.5", got)
	}
	x.rank, x.block, x.d = 1, 1, columnOf(16, 500, func(n int) bool { return n < 4 })
	if got := s.sizeError(x); !near(got, 2*1.25*5/2) {
		t.Errorf("of 4 steps of a rank that moves by 5 %v, want 6.25", got)
	}
}

// TestInterval: replay with the size less and more two standard errors, which are 6.25, or with what is left beside it, and half
// a per cent on either side.
func TestInterval(t *testing.T) {
	s, x := alternating16(0)
	c := cause{ranks: []int{0}, terms: []*term{x}}
	low, high, mid := s.interval(s.Arrivals, subtractTerms(s.Arrivals, s, c.terms, 0), c, s.hiddenTimes(), 0.33)
	// Rank 0 is left with 1016, 996 (1000 counts); with 1004, 984; in the middle with 1010, 990. All of 1500.
	for name, pair := range map[string][2]float64{"low": {low, 1 - 1008./1500 - 0.005*0.33}, "high": {high, 1 - 1000./1500 + 0.005*0.33}, "middle": {mid, 1 - 1005./1500}} {
		if !near(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	s.Points = nil // nobody waits: what it is given is the middle
	if low, high, mid := s.interval(s.Arrivals, s.Arrivals, c, nil, 0.33); mid != 0.33 || !near(low, 1-16*1006./(16*1500)) || !near(high, 1-16*1000./(16*1500)) {
		t.Errorf("nobody waits: %v, %v, %v", low, high, mid)
	}
}

// TestIntervalOfHiddenWork: what ranks may do unseen in the stage in which they wait is 1.5 times what all stay there, times by
// how much the visible work exceeds its median; it makes the saving smaller.
func TestIntervalOfHiddenWork(t *testing.T) {
	s := newSeries(division(400, repeated(4, 900, 1000, 1300)), nil)
	if h := s.hiddenTimes()[0]; !near(h[0], -60) || h[1] != 0 || !near(h[2], 180) {
		t.Errorf("three ranks: %v, want 600 times −0.1, 0 and 0.3", h[:3])
	}
	s.Stages[1].Role = points.Wait
	if h := s.hiddenTimes(); h[0] != nil {
		t.Errorf("in a stage that only waits: %v, want nothing", h)
	}
	h := newSeries(division(400, repeated(4, 900, 1100)), nil).hiddenTimes()[0]
	if !near(h[0], -600*math.Sqrt2*0.1) || !near(h[1], 600*math.Sqrt2*0.1) {
		t.Errorf("two ranks: %v, want ∓600·√2·0.1", h[:2])
	}

	s.Stages[1].Role = points.Undeclared
	a, b, hidden := [][]int64{{10, 30, 10, 50}}, [][]int64{{10, 20, 10, 20}}, [][]float64{{30, 0, 0, 0}}
	s = newSeries(division(0, [][]int64{{10, 30}, {10, 50}}), nil)
	for _, c := range []struct {
		shift int
		scale float64
		want  float64
	}{{0, 0, 40}, {0, 1, 0 + 30}, {1, 1, 10 + 10}, {1, 0.5, 10 + 25}} {
		// {0, 1}: max(40, 30) − max(40, 20) and 50 − 20. {1, 1}: 30 − 20 and max(40, 50) − max(40, 20). {1, 0.5}: 50 − 25 there.
		if got := s.savedTime(a, b, hidden, c.shift, c.scale); !near(got, c.want) {
			t.Errorf("shift %d, scale %v: %v, want %v", c.shift, c.scale, got, c.want)
		}
	}
	if got := s.savedTime(a, b, [][]float64{nil}, 0, 1); got != 40 {
		t.Errorf("nothing hidden: %v, want 40", got)
	}

	// The interval is the smaller of both with all of the hidden work; the middle is the mean of both with two thirds of it.
	x := &term{rank: 1, d: []float64{10, 30}, chance: chance{block: 1}}
	s.remove(0, 1, x.d)
	c := cause{ranks: []int{1}, terms: []*term{x}}
	se := s.sizeError(x)
	low, _, mid := s.interval(s.Arrivals, subtractTerms(s.Arrivals, s, c.terms, 0), c, hidden, 0.5)
	// Unshifted: max(30, 30) − max(30, 20) = 0, 50 − 20 = 30. Shifted: 30 − 20 = 10, 50 − max(30, 20) = 20.
	if !near(mid, (30+30)/2./80) {
		t.Errorf("middle %v, want %v", mid, 30./80)
	}
	if se != 0 || !near(low, 20./80-0.005*mid) { // whole: 40 − 40 + 50 − 20 = 30 and 10 + 50 − 40 = 20
		t.Errorf("error %v, low %v, want 0 and %v", se, low, 20./80)
	}
}

// TestVisible: the work most like what is hidden is the forward pass, else the longest; of the rest nothing is known.
func TestVisible(t *testing.T) {
	d := division(0, repeated(3, 100, 100), repeated(3, 900, 900), repeated(3, 5000, 5000))
	d.Stages[2].Role = points.Rest
	s := newSeries(d, nil)
	if got := s.visible(0); got != 0 {
		t.Errorf("piece %d, want the forward pass", got)
	}
	d.Stages[0].Role = points.Data
	if got := s.visible(0); got != 1 {
		t.Errorf("piece %d, want the longest", got)
	}
	if got := s.visible(1); got != -1 {
		t.Errorf("of a point without pieces %d", got)
	}
}

// TestFactor: a rank whose stages are all more than 1.08 times as long as its peers', the largest factor less than 1.35 times the smallest, is
// slow by one factor, the sums'; stages of less than 1 % of the step and what no stage covers say nothing.
func TestFactor(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, small, peers int64 // of the peers' 1000, 3000 and so many
		want               float64
	}{
		"alike":               {1200, 3600, 10, 10, 1.2},
		"a stage as the rest": {1200, 3000, 10, 10, 0},
		"1.08":                {1080, 3600, 10, 10, 0},
		"1.09":                {1090, 3600, 10, 10, 4690. / 4000},
		"1.34 apart":          {1200, 3000 * 1608 / 1000, 10, 10, (1200 + 4824) / 4000.},
		"1.36 apart":          {1200, 3000 * 1632 / 1000, 10, 10, 0},
		"a small stage":       {1200, 3600, 50, 10, 1.2},
		"a stage of 0.9 %":    {1200, 3600, 43, 43, 1.2}, // 43 of 4843
		"a stage of 1.1 %":    {1200, 3600, 54, 54, 0},   // 54 of 4854
	} {
		s := newSeries(division(0, repeated(5, c.a, 1000, 1000), repeated(5, c.b, 3000, 3000), repeated(5, c.small, c.peers, c.peers)), nil)
		if got := s.factor(0, everywhere(s)); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	d := division(0, repeated(5, 1200, 1000, 1000), repeated(5, 3600, 3000, 3000))
	d.Stages[1].Role = points.Rest
	if got := newSeries(d, nil).factor(0, []bool{true, true, true, true, true}); got != 0 {
		t.Errorf("one stage alone: %v, want none", got)
	}
	// What it saves at most is what the factor makes of all that ranks spend after the last arrival, a sixth of 1000, beside its
	// 800, of which half a per cent is not known.
	s := newSeries(division(1000, repeated(20, 1200, 1000, 1000), repeated(20, 3600, 3000, 3000)), nil)
	f := s.termFindings(s.peel(0.05), &Run{}, Options{}.fillDefaults())[0]
	if !near(f.Factor, 1.2) || !near(f.Saves.Alone, 800/5800.) || !near(f.Saves.AtMost, (804+1000/6.)/5800) || f.Saves.High != f.Saves.AtMost {
		t.Errorf("%+v, want 800 of 5800, and 971 at most", f.Saves)
	}
	if !near(s.mayHide(everywhere(s)), 20_000) {
		t.Errorf("hidden %v, want 20 times 1000", s.mayHide(everywhere(s)))
	}
}

// TestCertainty: strong takes P up to the level, eight blocks, no lone event, and that the others' waits show half of it.
func TestCertainty(t *testing.T) {
	half := func(s *series, share float64) { // the others wait for a part of what they are ahead
		for i := range s.Spent[0] {
			s.Spent[0][i] = int64(share * float64(s.Spent[0][i]))
		}
	}
	for name, c := range map[string]struct {
		at     []int
		p      float64
		blocks int
		share  float64
		want   claim.Certainty
	}{
		"all steps":                  {upTo(0, 40, 1), 0.0099, 40, 1, claim.Strong},
		"P above the level":          {upTo(0, 40, 1), 0.0101, 40, 1, claim.Supported},
		"eight blocks":               {upTo(0, 40, 1), 0.0099, 8, 1, claim.Strong},
		"seven blocks":               {upTo(0, 40, 1), 0.0099, 7, 1, claim.Supported},
		"waits of 0.55":              {upTo(0, 40, 1), 0.0099, 40, 0.55, claim.Strong},
		"waits of 0.45":              {upTo(0, 40, 1), 0.0099, 40, 0.45, claim.Supported},
		"13 steps that are over":     {upTo(10, 23, 1), 0.0099, 40, 1, claim.Supported}, // a third of 40
		"14 steps that are over":     {upTo(10, 24, 1), 0.0099, 40, 1, claim.Strong},
		"13 steps that last":         {upTo(27, 40, 1), 0.0099, 40, 1, claim.Strong},
		"two incidents":              {[]int{3, 4, 5, 20, 21}, 0.0099, 40, 1, claim.Supported},
		"three incidents":            {[]int{3, 4, 20, 28, 29}, 0.0099, 40, 1, claim.Strong},
		"three that are not apart":   {[]int{3, 4, 5, 6, 20}, 0.0099, 40, 1, claim.Supported},
		"the last of them the last":  {[]int{3, 39}, 0.0099, 40, 1, claim.Strong},
		"the last of them before it": {[]int{3, 38}, 0.0099, 40, 1, claim.Strong}, // within one block of the end
		"the last of them not":       {[]int{3, 37}, 0.0099, 40, 1, claim.Supported},
	} {
		extra := make([]int64, 40)
		for _, n := range c.at {
			extra[n] = 500
		}
		s := jobOf(extra)
		half(s, c.share)
		x := &term{d: columnOf(40, 500, func(n int) bool { return extra[n] > 0 }), charged: 1, pattern: claim.Irregular, chance: chance{p: c.p, block: 1, blocks: c.blocks}}
		f := s.finding(cause{ranks: []int{0}, host: -1, terms: []*term{x}}, Options{}.fillDefaults())
		if f.Certainty != c.want || f.P != c.p {
			t.Errorf("%s: certainty %d, P %v, want %d, %v", name, f.Certainty, f.P, c.want, c.p)
		}
	}
}

// TestWaited: what the others' lower median waits longer than the rank, as a part of how much later the rank arrives, in the steps struck.
func TestWaited(t *testing.T) {
	s := newSeries(division(7, [][]int64{{500, 100, 200, 300}, {800, 100, 100, 100}, {0, 9, 9, 9}}), nil)
	c := cause{ranks: []int{0}, terms: []*term{{}}}
	// It leads by 500 − 200 and by 800 − 100; the waits are as long, without those 7 that all stay.
	if got := s.waitShare(c, []bool{true, true, false}); !near(got, 1) {
		t.Errorf("%v, want 1", got)
	}
	s.Spent[0] = []int64{0, 400, 50, 10, 0, 550, 600, 650, 0, 0, 0, 0}
	if got := s.waitShare(c, []bool{true, true, false}); !near(got, (50+600)/1000.) {
		t.Errorf("%v, want 0.65", got)
	}
	if got := s.waitShare(cause{ranks: []int{0, 3}, terms: []*term{{}}}, []bool{true, false, false}); !near(got, 50/400.) {
		t.Errorf("without rank 3, which is late as well, %v, want 50 of 500 − 100", got)
	}
	if got := s.waitShare(c, []bool{false, false, true}); got != 0 {
		t.Errorf("where it does not lead: %v", got)
	}
	if got := s.waitShare(cause{ranks: []int{0, 1, 2, 3}, terms: []*term{{}}}, []bool{true, false, false}); got != 0 {
		t.Errorf("nobody is left to wait: %v", got)
	}
	if got := s.last(c, []bool{true, true, true}); got != 2 {
		t.Errorf("last in %d steps, want 2", got)
	}
	if got := s.last(c, []bool{true, false, false}); got != 1 {
		t.Errorf("last in %d of one step, want 1", got)
	}
}

// TestDescribed: incidents are further apart than a block; a delay lasts if its last step is within a block, or a period, of the end.
func TestDescribed(t *testing.T) {
	s := newSeries(division(0, repeated(40, 100, 100)), nil)
	for name, c := range map[string]struct {
		at            []int
		block, period int
		want          claim.Struck
	}{
		"some":              {[]int{3, 4, 6, 30}, 1, 0, claim.Struck{Count: 4, Of: 40, First: 3, Last: 30, Pattern: claim.Irregular, Incidents: 3, List: []int{3, 4, 6, 30}}},
		"in blocks of two":  {[]int{3, 4, 6, 30}, 2, 0, claim.Struck{Count: 4, Of: 40, First: 3, Last: 30, Pattern: claim.Irregular, Incidents: 2, List: []int{3, 4, 6, 30}}},
		"near the end":      {[]int{3, 37}, 2, 0, claim.Struck{Count: 2, Of: 40, First: 3, Last: 37, Pattern: claim.Irregular, Incidents: 2, Ongoing: true, List: []int{3, 37}}},
		"not near the end":  {[]int{3, 36}, 2, 0, claim.Struck{Count: 2, Of: 40, First: 3, Last: 36, Pattern: claim.Irregular, Incidents: 2, List: []int{3, 36}}},
		"every eighth":      {[]int{7, 15, 23, 31}, 1, 8, claim.Struck{Count: 4, Of: 40, First: 7, Last: 31, Pattern: claim.Periodic, Period: 8, Incidents: 4, Ongoing: true}},
		"every eighth, not": {[]int{6, 14, 22, 30}, 1, 8, claim.Struck{Count: 4, Of: 40, First: 6, Last: 30, Pattern: claim.Periodic, Period: 8, Incidents: 4}},
		"31 of 40":          {upTo(0, 31, 1), 1, 0, claim.Struck{Count: 31, Of: 40, First: 0, Last: 30, Pattern: claim.Irregular, Incidents: 1, List: upTo(0, 31, 1)}},
		"32 of 40":          {upTo(0, 32, 1), 1, 0, claim.Struck{Count: 32, Of: 40, First: 0, Last: 31, Pattern: claim.Constant, Incidents: 1}},
	} {
		pattern := claim.Irregular
		if c.period > 0 {
			pattern = claim.Periodic
		}
		got := s.steps(hits(40, c.at...), &term{pattern: pattern, period: c.period, chance: chance{block: c.block}})
		list := got.List
		got.List, c.want.List = nil, slices.Clone(c.want.List)
		equal(t, name+": steps", list, c.want.List)
		if want := c.want; got.Count != want.Count || got.Of != want.Of || got.First != want.First || got.Last != want.Last || got.Pattern != want.Pattern || got.Period != want.Period || got.Incidents != want.Incidents || got.Ongoing != want.Ongoing {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestSameReason: ranks late in one piece, by less than twice as much, in half or more of the steps in which either is.
func TestSameReason(t *testing.T) {
	a := &term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n < 6 })}
	for name, c := range map[string]struct {
		b    *term
		want bool
	}{
		"alike":             {&term{claim: 100, d: a.d}, true},
		"twice":             {&term{claim: 200, d: a.d}, true},
		"more than twice":   {&term{claim: 201, d: a.d}, false},
		"half":              {&term{claim: 50, d: a.d}, true},
		"less than half":    {&term{claim: 49, d: a.d}, false},
		"another piece":     {&term{claim: 100, piece: 1, d: a.d}, false},
		"four of eight":     {&term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n >= 2 && n < 8 })}, true},
		"three of nine":     {&term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n >= 3 && n < 9 })}, false},
		"three of six":      {&term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n < 3 })}, true},
		"two of six":        {&term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n < 2 })}, false},
		"never at one time": {&term{claim: 100, d: columnOf(10, 100, func(n int) bool { return n >= 6 })}, false},
	} {
		if got, back := areAlike(a, c.b), areAlike(c.b, a); got != c.want || back != c.want {
			t.Errorf("%s: %v, the other way round %v, want %v", name, got, back, c.want)
		}
	}
}

// TestCauses: terms of a rank are one cause; ranks late for one reason are a host if they are all of it, a set of peers if
// they are that, and several ranks from three on, if they are more than one in eight.
func TestCauses(t *testing.T) {
	terms := func(ranks ...int) (out []*term) {
		for _, r := range ranks {
			out = append(out, &term{rank: r, claim: 100, charged: 5, d: columnOf(4, 100, always)})
		}
		return out
	}
	of := func(ranks int, peers, hosts []int, within [][]int, late ...int) (out [][]int, kinds []claim.Kind) {
		d := division(0, repeated(4, make([]int64, ranks)...))
		if within != nil {
			d.Within = []points.Within{{Sets: within}}
		}
		for _, c := range newSeries(d, peers).causes(terms(late...), &Run{Hosts: hosts}) {
			out, kinds = append(out, c.ranks), append(kinds, c.kind)
		}
		return out, kinds
	}
	for name, c := range map[string]struct {
		ranks        int
		peers, hosts []int
		within       [][]int
		late         []int
		want         [][]int
		kinds        []claim.Kind
	}{
		"two of sixteen":         {ranks: 16, late: []int{5, 3}, want: [][]int{{5}, {3}}, kinds: []claim.Kind{claim.Rank, claim.Rank}},
		"two of eight":           {ranks: 8, late: []int{5, 3}, want: [][]int{{5}, {3}}, kinds: []claim.Kind{claim.Rank, claim.Rank}},
		"three of sixteen":       {ranks: 16, late: []int{5, 3, 7}, want: [][]int{{3, 5, 7}}, kinds: []claim.Kind{claim.Ranks}},
		"three of twenty-four":   {ranks: 24, late: []int{5, 3, 7}, want: [][]int{{5}, {3}, {7}}, kinds: []claim.Kind{claim.Rank, claim.Rank, claim.Rank}},
		"a host":                 {ranks: 4, hosts: []int{0, 0, 1, 1}, late: []int{3, 2}, want: [][]int{{2, 3}}, kinds: []claim.Kind{claim.Host}},
		"half of a host":         {ranks: 4, hosts: []int{0, 0, 1, 1}, late: []int{3, 1}, want: [][]int{{3}, {1}}, kinds: []claim.Kind{claim.Rank, claim.Rank}},
		"the only host":          {ranks: 2, hosts: []int{0, 0}, late: []int{0, 1}, want: [][]int{{0}, {1}}, kinds: []claim.Kind{claim.Rank, claim.Rank}},
		"a host of one":          {ranks: 4, hosts: []int{0, 1, 2, 2}, late: []int{0}, want: [][]int{{0}}, kinds: []claim.Kind{claim.Rank}},
		"no host known":          {ranks: 4, hosts: []int{-1, -1, 0, 0}, late: []int{0, 1}, want: [][]int{{0}, {1}}, kinds: []claim.Kind{claim.Rank, claim.Rank}},
		"a host and three more":  {ranks: 8, hosts: []int{0, 0, 1, 1, 2, 2, 3, 3}, late: []int{0, 1, 2, 4, 6}, want: [][]int{{0, 1}, {2, 4, 6}}, kinds: []claim.Kind{claim.Host, claim.Ranks}},
		"a set of peers":         {ranks: 6, peers: []int{0, 0, 0, 1, 1, 1}, late: []int{4, 3, 5}, want: [][]int{{3, 4, 5}}, kinds: []claim.Kind{claim.PeerSet}},
		"of two sets of peers":   {ranks: 6, peers: []int{0, 0, 0, 1, 1, 1}, late: []int{2, 3, 5}, want: [][]int{{2, 3, 5}}, kinds: []claim.Kind{claim.Ranks}},
		"a set that is together": {ranks: 6, within: [][]int{{0, 1, 2}, {3, 4, 5}}, late: []int{4, 3, 5}, want: [][]int{{3, 4, 5}}, kinds: []claim.Kind{claim.PeerSet}},
	} {
		got, kinds := of(c.ranks, c.peers, c.hosts, c.within, c.late...)
		if !slices.EqualFunc(got, c.want, slices.Equal) || !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s: %v %v, want %v %v", name, got, kinds, c.want, c.kinds)
		}
	}
	both := append(terms(2), &term{rank: 2, piece: 1, charged: 9, claim: 7, d: columnOf(4, 7, always)})
	got := newSeries(division(0, repeated(4, 0, 0, 0)), nil).causes(both, &Run{})
	if len(got) != 1 || len(got[0].terms) != 2 || got[0].main() != both[1] {
		t.Errorf("two terms of a rank: %+v, want one cause, of which the second has most", got)
	}
}

// TestEvents: up to three strikes of more than half a step, that cost 3 % of the run, are told as events.
func TestEvents(t *testing.T) {
	told := func(size int64, at ...int) (out []claim.Claim) {
		extra := make([]int64, 40)
		for _, n := range at {
			extra[n] = size
		}
		s := jobOf(extra)
		return s.eventFindings(nil, Options{}.fillDefaults())
	}
	for name, c := range map[string]struct {
		size int64
		at   []int
		want int
		p    float64 // that all are of one of four ranks
	}{
		"a step long, twice":              {1000, []int{5, 9}, 1, 1. / 4},
		"two steps that follow":           {1000, []int{5, 6}, 1, 1},
		"half a step":                     {502, []int{5, 9, 15}, 0, 0}, // 500 are charged
		"a little more":                   {503, []int{5, 9, 15}, 1, 1. / 16},
		"four times":                      {1000, []int{5, 9, 15, 30}, 0, 0},
		"3 % of the run":                  {1240, []int{5}, 1, 1}, // 1238 of 41,240
		"less than 3 % of the run":        {1239, []int{5}, 0, 0}, // 1237 of 41,239
		"nobody takes longer in any step": {0, nil, 0, 0},
	} {
		found := told(c.size, c.at...)
		if len(found) != c.want {
			t.Errorf("%s: %d events, want %d", name, len(found), c.want)
			continue
		}
		for _, f := range found {
			cost := float64(c.size-2) * float64(len(c.at))
			if f.Certainty != claim.Event || !near(f.P, c.p) || f.Size != c.size-2 || !near(f.Saves.Alone, cost/(40_000+float64(c.size)*float64(len(c.at)))) || f.Saves.Low != 0 {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	if got := jobOf(columnInts(40, 1000, 5)).eventFindings([]claim.Claim{{Ranks: []int{0}}}, Options{}.fillDefaults()); len(got) != 0 {
		t.Errorf("of a rank that was found: %+v", got)
	}
}

// columnInts returns n values of which the given one is x.
func columnInts(n int, x int64, at int) []int64 {
	out := make([]int64, n)
	out[at] = x
	return out
}

// TestUnsure: where no rank is late for certain, one that is late in six of ten steps by enough to act on is told; else one whose
// strikes have a chance of a fourth at most.
func TestUnsure(t *testing.T) {
	told := func(late, of int, size int64) []claim.Claim {
		extra := make([]int64, of)
		for n := range late {
			extra[n] = size
		}
		return jobOf(extra).unsure(nil, Options{}.fillDefaults())
	}
	// Five steps are fewer than any test takes. Of those that are late the middle half is what counts.
	for name, c := range map[string]struct {
		late, of int
		size     int64
		want     int
	}{
		"all of five":         {5, 5, 150, 1},
		"all, not enough":     {5, 5, 110, 0}, // 110 of 1110 are less than a tenth
		"all, just enough":    {5, 5, 112, 1},
		"three of five":       {3, 5, 400, 1}, // numpy.clip([400, 400, 400, 0, 0], 0, 400).mean() = 240, which 3 of 5 exceed by half
		"two of five":         {2, 5, 900, 0},
		"nobody late in five": {0, 5, 0, 0},
	} {
		found := told(c.late, c.of, c.size)
		if len(found) != c.want {
			t.Errorf("%s: %+v, want %d", name, found, c.want)
		} else if c.want > 0 && (found[0].Certainty != claim.Event || !slices.Equal(found[0].Ranks, []int{0})) {
			t.Errorf("%s: %+v, want an event of rank 0", name, found[0])
		}
	}
	if got := jobOf(slices.Repeat([]int64{150}, 5)).unsure([]claim.Claim{{}}, Options{}.fillDefaults()); got != nil {
		t.Errorf("beside a rank that is late for certain: %+v", got)
	}
	// Three strikes on one of 3 ranks in one of K pieces have P = 3·3⁻³ ÷ (0.1/K + 0.9) ÷ 0.45: 0.247 of one, and 0.260 of two, which is more
	// than a fourth.
	for pieces, want := range map[int]int{1: 1, 2: 0} {
		work := [][][]int64{repeated(40, 1000, 1000, 1000)}
		for i := range 3 {
			work[0][10*i+3][0] += 9000
		}
		for range pieces - 1 {
			work = append(work, repeated(40, 10, 10, 10))
		}
		if got := newSeries(division(0, work...), nil).unsure(nil, Options{}.fillDefaults()); len(got) != want {
			t.Errorf("three strikes in one of %d pieces: %+v, want %d", pieces, got, want)
		}
	}
	// n strikes of 40 steps on one of 4 ranks have P = 4·4⁻ⁿ/0.45: of four 0.035, certain; of three 0.14, doubted; of two nothing is said.
	for strikes, want := range map[int]int{2: 0, 3: 1} {
		extra := make([]int64, 40)
		for i := range strikes {
			extra[10*i+3] = 4000
		}
		if got := jobOf(extra).unsure(nil, Options{}.fillDefaults()); len(got) != want {
			t.Errorf("%d strikes: %+v, want %d", strikes, got, want)
		}
	}
}

// everywhere returns that all intervals of a series are struck.
func everywhere(s *series) []bool { return slices.Repeat([]bool{true}, s.Intervals) }
