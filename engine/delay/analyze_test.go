package delay

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// lengthsOf returns steps that end after so many ns, on three ranks alike.
func lengthsOf(v ...int64) *points.Division {
	var rows [][]int64
	for _, x := range v {
		rows = append(rows, []int64{x, x, x})
	}
	return division(0, rows)
}

// TestStartUp: the first steps are apart if each takes more than 1.7 times the middle step, and those that follow less than 1.3 times
// on average; ten steps and an eighth of the run at most.
func TestStartUp(t *testing.T) {
	then := func(n int, first ...int64) []int64 { return append(first, slices.Repeat([]int64{1000}, n)...) }
	for name, c := range map[string]struct {
		took []int64
		want int
	}{
		"two":                    {then(38, 5000, 1800), 2},
		"1.6 times":              {then(38, 5000, 1600), 1},
		"1.75 times":             {then(38, 1750), 1},
		"1.65 times":             {then(38, 1650), 0},
		"not the first":          {then(38, 1000, 5000), 0},
		"an eighth":              {then(35, 5000, 5000, 5000, 5000, 5000, 5000), 0}, // five of 41, and the sixth makes 1.4 times of the ten after
		"five of 40":             {then(35, 5000, 5000, 5000, 5000, 5000), 5},
		"ten":                    {then(90, slices.Repeat([]int64{9000}, 10)...), 10},
		"eleven":                 {then(100, slices.Repeat([]int64{3000}, 11)...), 10}, // the eleventh makes 1.2 times of the ten after
		"seven":                  {then(6, 5000), 0},
		"what follows is as bad": {append(then(0, 5000, 1350, 1350, 1350, 1350, 1350, 1350, 1350, 1350, 1350, 1350), slices.Repeat([]int64{1000}, 30)...), 0},
		"what follows is not":    {append(then(0, 5000, 1250, 1250, 1250, 1250, 1250, 1250, 1250, 1250, 1250, 1250), slices.Repeat([]int64{1000}, 30)...), 1},
	} {
		if got := startUp(lengthsOf(c.took...)); got != c.want {
			t.Errorf("%s: %d steps, want %d", name, got, c.want)
		}
	}
}

// TestStartFinding: by how much the first steps are longer than the middle one, and whose that is: one rank's, if the others did
// not take half as long.
func TestStartFinding(t *testing.T) {
	for second, want := range map[int64]claim.Kind{1900: claim.Rank, 2100: claim.Everyone} { // beyond 1000 it is 900 and 1100 of 2000
		rows := append([][]int64{{1000, second, 3000}, {1000, 1000, 1000}}, repeated(20, 1000, 1000, 1000)...)
		d := division(50, rows)
		f := startFinding(d, 1, newSeries(dropIntervals(d, 1), nil))
		if f.Kind != want || f.Cause != claim.StartUp || f.Size != 2000 || f.Length != 1050+2000 || f.Steps.Count != 1 || f.Steps.First != 0 || f.Steps.Last != 0 || len(f.Parts) != 1 {
			t.Errorf("the second takes %d: %+v, want %v", second, f, want)
		}
		if want == claim.Rank && !slices.Equal(f.Ranks, []int{2}) {
			t.Errorf("ranks %v, want 2", f.Ranks)
		}
	}
}

// TestFrom: a division without its first intervals has what is left at the same steps.
func TestFrom(t *testing.T) {
	d := division(7, [][]int64{{1, 2}, {3, 4}, {5, 6}})
	d.Absent = [][]bool{{true, false, true}}
	got := dropIntervals(d, 1)
	equal(t, "work", got.Work[0], []int64{3, 4, 5, 6})
	equal(t, "arrivals", got.Arrivals[0], []int64{3, 4, 5, 6})
	equal(t, "spent", got.Spent[0], []int64{8, 7, 8, 7})
	equal(t, "after", got.After[0], []int64{7, 7})
	equal(t, "head", got.Head, []int{1, 2})
	equal(t, "absent", got.Absent[0], []bool{false, true})
	if got.Intervals != 2 || dropIntervals(d, 0) != d || d.Intervals != 3 {
		t.Errorf("%d intervals, before %d", got.Intervals, d.Intervals)
	}
}

// TestJoined: the same finding of two stretches is one, weighed by the lengths of the stretches; others stand beside it.
func TestJoined(t *testing.T) {
	late := func(rank, first, last int, alone float64) claim.Claim {
		return claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{rank}, Host: -1, Parts: []claim.Part{{Stage: 1, Size: 100, Charged: 1000}}, Size: 100, Length: 500, Arrival: claim.Arrival{Waited: 1, Last: 7},
			Steps: claim.Struck{Count: last - first + 1, Of: 10, First: first, Last: last, Pattern: claim.Constant, Incidents: 1, Ongoing: true}, Saves: claim.Exact(alone), P: 0.001, Certainty: claim.Supported}
	}
	next := late(3, 0, 9, 0.4)
	next.P, next.Certainty, next.Size, next.Length, next.Waited, next.Parts = 0.0001, claim.Strong, 300, 900, 0.5, []claim.Part{{Stage: 1, Size: 300, Charged: 3000}}
	got := joinFindings([]claim.Claim{late(3, 0, 9, 0.2)}, []claim.Claim{next, late(2, 4, 9, 0.1)}, 10, 1000, 3000)
	if len(got) != 2 {
		t.Fatalf("%+v, want ranks 3 and 2", got)
	}
	f := got[0]
	// 0.2 · 1000 and 0.4 · 3000 of 4000; sizes weighed by ten steps each.
	if !near(f.Saves.Alone, 0.35) || !near(f.Saves.After, 0.35) || !near(f.Saves.Low, 0.35) || !near(f.Saves.High, 0.35) || !near(f.Saves.AtMost, 0.35) ||
		f.Size != 200 || f.Length != 700 || !near(f.Waited, 0.75) || f.Parts[0] != (claim.Part{Stage: 1, Size: 200, Charged: 4000}) || f.P != 0.0001 || f.Certainty != claim.Strong || f.Last != 14 {
		t.Errorf("%+v", f)
	}
	if s := f.Steps; s.Count != 20 || s.Of != 20 || s.First != 0 || s.Last != 19 || s.Pattern != claim.Constant || !s.Ongoing || s.Incidents != 2 {
		t.Errorf("%+v, want 20 steps", s)
	}
	if f := got[1]; !near(f.Saves.Alone, 0.1*0.75) || f.Steps.First != 14 || f.Steps.Last != 19 {
		t.Errorf("rank 2, of the second stretch alone: %+v", f)
	}

	// Spans that do not go on are some steps; so are other patterns.
	span := late(3, 2, 5, 0.2)
	span.Steps.Pattern, span.Steps.Ongoing = claim.Span, false
	got = joinFindings([]claim.Claim{span}, []claim.Claim{late(3, 0, 1, 0.2)}, 10, 1000, 1000)
	if s := got[0].Steps; s.Pattern != claim.Irregular || !slices.Equal(s.List, []int{2, 3, 4, 5, 10, 11}) {
		t.Errorf("%+v, want steps 2 to 5, 10 and 11", s)
	}
	span = late(3, 6, 9, 0.2)
	span.Steps.Pattern = claim.Span
	for begins, want := range map[int]claim.Pattern{2: claim.Span, 3: claim.Irregular} { // three steps after the last, and four
		on := late(3, begins, 8, 0.2)
		on.Steps.Pattern = claim.Span
		if got := joinFindings([]claim.Claim{span}, []claim.Claim{on}, 10, 1000, 1000); got[0].Steps.Pattern != want {
			t.Errorf("a span that goes on %d steps later: %v, want %v", begins+1, got[0].Steps.Pattern, want)
		}
	}
	for name, change := range map[string]func(f *claim.Claim){
		"cause": func(f *claim.Claim) { f.Cause = claim.Turns }, "kind": func(f *claim.Claim) { f.Kind = claim.Ranks }, "rank": func(f *claim.Claim) { f.Ranks = []int{4} },
		"host": func(f *claim.Claim) { f.Host = 0 }, "stage": func(f *claim.Claim) { f.Parts = []claim.Part{{Stage: 2}} },
	} {
		f := late(3, 0, 9, 0.2)
		change(&f)
		if got := joinFindings([]claim.Claim{late(3, 0, 9, 0.2)}, []claim.Claim{f}, 10, 1, 1); len(got) != 2 {
			t.Errorf("another %s: joined", name)
		}
	}
}

// TestOfRun: a run that was looked at in three stretches was searched three times, so that P is three times as large and what saves
// less than 1 % is dropped; a level of some stretches is a span.
func TestOfRun(t *testing.T) {
	f := func(saves float64, pattern claim.Pattern, first, last, count int) claim.Claim {
		return claim.Claim{Saves: claim.Exact(saves), P: 0.2, Steps: claim.Struck{Count: count, Of: 10, First: first, Last: last, Pattern: pattern, Incidents: 4, List: []int{1}}}
	}
	got := filterReportable([]claim.Claim{f(0.009, claim.Constant, 0, 29, 30), f(0.011, claim.Constant, 0, 29, 24), f(0.2, claim.Constant, 0, 29, 23), f(0.2, claim.Irregular, 0, 19, 17), f(0.2, claim.Irregular, 0, 19, 16)}, 30, 3)
	if len(got) != 4 {
		t.Fatalf("%+v, want all but the first", got)
	}
	for i, want := range []claim.Pattern{claim.Constant, claim.Span, claim.Span, claim.Irregular} { // 24 of 30 are 0.8; 17 of 20 are 0.85
		if s := got[i].Steps; s.Pattern != want || s.Of != 30 || !near(got[i].P, 0.6) {
			t.Errorf("%d: %+v, P %v, want %v of 30, P 0.6", i, s, got[i].P, want)
		}
	}
	if s := got[2].Steps; s.Incidents != 1 || s.List != nil {
		t.Errorf("%+v, want one incident", s)
	}
	one := filterReportable([]claim.Claim{f(0.009, claim.Irregular, 0, 9, 9)}, 10, 1)
	if len(one) != 1 || one[0].P != 0.2 || one[0].Steps.Pattern != claim.Irregular {
		t.Errorf("looked at once: %+v", one)
	}
	if got := filterReportable([]claim.Claim{f(0.2, claim.Constant, 0, 29, 30)}, 30, 7); got[0].P != 1 {
		t.Errorf("P %v, want 1 at most", got[0].P)
	}
}

// TestRenumbered: findings and recording errors have the numbers of the whole run, and the stretch keeps its own.
func TestRenumbered(t *testing.T) {
	s := &Stretch{late: []claim.Claim{{Ranks: []int{0, 1}, Host: 0}}, perhaps: []claim.Claim{{Ranks: []int{1}, Host: -1}}, start: &claim.Claim{Ranks: []int{1}, Host: -1}, errors: []points.Error{{Rank: 1}}, last: &LastArrivals{}}
	out := s.Renumber([]int{4, 9}, []int{2})
	if f := out.late[0]; !slices.Equal(f.Ranks, []int{4, 9}) || f.Host != 2 || out.perhaps[0].Ranks[0] != 9 || out.perhaps[0].Host != -1 || out.start.Ranks[0] != 9 || out.errors[0].Rank != 9 {
		t.Errorf("%+v, %+v, %+v, %+v", f, out.perhaps[0], out.start, out.errors)
	}
	if s.late[0].Ranks[1] != 1 || s.late[0].Host != 0 || s.start.Ranks[0] != 1 || s.errors[0].Rank != 1 {
		t.Error("its own numbers have changed")
	}
}

// TestDescribe: counts, places and incidents of steps, and what they are called.
func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		at   []int
		want claim.Struck
	}{
		"none":       {nil, claim.Struck{Of: 20, First: -1, Last: -1, Pattern: claim.Irregular}},
		"some":       {[]int{2, 3, 9}, claim.Struck{Count: 3, Of: 20, First: 2, Last: 9, Pattern: claim.Irregular, Incidents: 2, List: []int{2, 3, 9}}},
		"16 of 20":   {upTo(4, 20, 1), claim.Struck{Count: 16, Of: 20, First: 4, Last: 19, Pattern: claim.Constant, Incidents: 1, Ongoing: true}},
		"15 of 20":   {upTo(5, 20, 1), claim.Struck{Count: 15, Of: 20, First: 5, Last: 19, Pattern: claim.Span, Incidents: 1, Ongoing: true}},
		"every 4":    {upTo(1, 20, 4), claim.Struck{Count: 5, Of: 20, First: 1, Last: 17, Pattern: claim.Periodic, Period: 4, Incidents: 5}},
		"one by one": {[]int{18}, claim.Struck{Count: 1, Of: 20, First: 18, Last: 18, Pattern: claim.Irregular, Incidents: 1, List: []int{18}}},
	} {
		got := Describe(hits(20, c.at...))
		list := c.want.List
		equal(t, name, got.List, list)
		for step := range 22 {
			if has := step < 20 && (slices.Contains(c.at, step)); got.Count > 0 && got.Has(step) != has && got.Pattern != claim.Constant {
				t.Errorf("%s: has step %d: %v", name, step, got.Has(step))
			}
		}
		if w := c.want; got.Count != w.Count || got.Of != w.Of || got.First != w.First || got.Last != w.Last || got.Pattern != w.Pattern || got.Period != w.Period || got.Incidents != w.Incidents || got.Ongoing != w.Ongoing {
			t.Errorf("%s: %+v, want %+v", name, got, w)
		}
	}
}

// TestStartUpThatRecurs: what strikes the first step and comes back, in the same stage and at least half as long, is no start-up.
func TestStartUpThatRecurs(t *testing.T) {
	for later, want := range map[int64]int{0: 1, 1900: 1, 2100: 0} {
		rows := repeated(48, 1000, 1000, 1000)
		for r := range 3 {
			rows[0][r] += 4000
			for n := 8; n < 48; n += 8 {
				rows[n][r] += later
			}
		}
		if got := AnalyzeDivision(division(0, rows), &Run{}, Options{}); got.StartUp != want || (got.Claims != nil && got.Claims[0].Cause == claim.StartUp) != (want == 1) {
			t.Errorf("every eighth step takes %d longer, the first 4000: a start-up of %d, want %d (%+v)", later, got.StartUp, want, got.Claims)
		}
	}
	// A rank that is late in the first step and, for certain, in three more, was not starting up.
	for strikes, want := range map[int]int{0: 1, 4: 0} {
		rows := repeated(48, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
		rows[0][3] += 4000
		for i := range strikes {
			rows[[]int{7, 18, 30, 45}[i]][3] += 1500
		}
		if got := AnalyzeDivision(division(0, rows), &Run{}, Options{}); got.StartUp != want {
			t.Errorf("late in %d more steps: a start-up of %d, want %d (%+v)", strikes, got.StartUp, want, got.Claims)
		}
	}
}

// TestLevels: n strikes of one rank of four, far apart, have P = 4·4⁻ⁿ/0.45: three 0.14, which is no more than an event; four 0.035, which
// are supported; five 0.009, which is strong. Of 128 ranks three are strong, of three it takes six, and five are supported.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		ranks, strikes int
		want           claim.Certainty
	}{{4, 3, claim.Event}, {4, 4, claim.Supported}, {4, 5, claim.Strong}, {128, 3, claim.Strong}, {3, 4, claim.Event}, {3, 5, claim.Supported}, {3, 6, claim.Strong}} {
		rows := repeated(60, slices.Repeat([]int64{1000}, c.ranks)...)
		for i := range c.strikes {
			rows[[]int{3, 11, 17, 30, 36, 49, 55}[i]][1] += 9000
		}
		r := AnalyzeDivision(division(0, rows), &Run{}, Options{})
		if len(r.Claims) == 0 || r.Claims[0].Cause != claim.Late || !slices.Equal(r.Claims[0].Ranks, []int{1}) || r.Claims[0].Certainty != c.want {
			t.Errorf("%d strikes of %d ranks: %+v, want rank 1, %v", c.strikes, c.ranks, r.Claims, c.want)
		}
	}
}

// TestStepOfStretches: the median step of a run is that of all its steps: of twenty of 1000 and thirty of 1200 it is 1200.
func TestStepOfStretches(t *testing.T) {
	o := Options{Limits: NoLimits}
	r := Join([]*Stretch{LookAt(division(0, repeated(20, 1000, 1000)), &Run{}, o), LookAt(division(0, repeated(30, 1200, 1200)), &Run{Steps: points.Steps{Known: []points.Point{}}}, o)}, o)
	if r.Step != 1200 || r.Whole != 20*1000+30*1200 || r.Steps != 50 {
		t.Errorf("a step of %d, %d steps in %d ns", r.Step, r.Steps, r.Whole)
	}
}
