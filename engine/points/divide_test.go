package points

import (
	"slices"
	"testing"
)

// meeting returns three steps of three ranks: a, then b in which all wait for the last, then c. Rank 2 takes 30 in a.
func meeting() *Steps {
	return stepsOf(
		[][]int64{{10, 20, 30}, {27, 17, 7}, {1, 2, 3}},
		[][]int64{{10, 20, 30}, {29, 18, 7}, {1, 2, 3}},
		[][]int64{{10, 20, 30}, {29, 18, 7}, {4, 5, 6}})
}

// TestDivideByHand: an interval has c of the step before and a; after the last arrival all stay for 7. What is before
// the first point and behind the last lies in intervals of its own.
func TestDivideByHand(t *testing.T) {
	s := meeting()
	s.Known = []Point{{Stage: 1, Evidence: Shown}}
	d := Divide(s, Gates{})
	if !slices.Equal(d.Pieces[0].Ranks, nil) || len(d.Pieces) != 2 || d.Pieces[0].Tail || !d.Pieces[1].Tail || d.Pieces[1].Stage != 2 || d.Steps() != 3 || d.Free() {
		t.Errorf("pieces %+v, %d steps", d.Pieces, d.Steps())
	}
	for what, c := range map[string]struct{ got, want []int64 }{
		"a":        {d.Work[0], []int64{10, 20, 30, 10, 20, 30, 10, 20, 30, 0, 0, 0}},
		"c":        {d.Work[1], []int64{0, 0, 0, 1, 2, 3, 1, 2, 3, 4, 5, 6}},
		"arrivals": {d.Arrivals[0], []int64{10, 20, 30, 11, 22, 33, 11, 22, 33, 4, 5, 6}},
		"spent":    {d.Spent[0], []int64{27, 17, 7, 29, 18, 7, 29, 18, 7, 0, 0, 0}},
		"after":    {d.After[0], []int64{7, 7, 7, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	if !slices.Equal(d.Head, []int{0, 1, 2, -1}) || !slices.Equal(d.Tail, []int{-1, 0, 1, 2}) {
		t.Errorf("steps %v and %v", d.Head, d.Tail)
	}
	if d.Step(1, 0) != 1 || d.Step(1, 1) != 0 || d.Step(3, 0) != -1 {
		t.Error("an interval ends in one step and begins in the one before")
	}
	d.Absent = [][]bool{{false, true, false, false}, make([]bool, 4)}
	if d.Step(1, 0) != -1 || d.Step(1, 1) != 0 {
		t.Error("what is absent has no step")
	}
}

// TestDivideAtBreaks: steps that do not follow the one before begin anew.
func TestDivideAtBreaks(t *testing.T) {
	s := meeting()
	s.Known, s.Breaks = []Point{{Stage: 1, Evidence: Shown}}, []int{0, 2}
	d := Divide(s, Gates{})
	if !slices.Equal(d.Head, []int{0, 1, -1, 2, -1}) || !slices.Equal(d.Tail, []int{-1, 0, 1, -1, 2}) {
		t.Errorf("steps %v and %v", d.Head, d.Tail)
	}
	if got := d.Arrivals[0]; !slices.Equal(got, []int64{10, 20, 30, 11, 22, 33, 1, 2, 3, 10, 20, 30, 4, 5, 6}) {
		t.Errorf("arrivals %v", got)
	}
}

// TestDivideFree: where nobody waits an interval is a step, and arrivals are what each rank takes of it.
func TestDivideFree(t *testing.T) {
	s := meeting()
	s.Known = []Point{}
	d := Divide(s, Gates{})
	if !d.Free() || d.Intervals != 3 || len(d.Pieces) != 3 || !slices.Equal(d.Arrivals[0][:6], []int64{38, 39, 40, 40, 40, 40}) {
		t.Errorf("%d intervals of %d pieces, arrivals %v", d.Intervals, len(d.Pieces), d.Arrivals)
	}
}

// TestRest: what no stage covers is a stage of its own where wall time was recorded, never less than 0; steps given one by
// one are divided as those given at once, and so are those that lie in memory used before.
func TestRest(t *testing.T) {
	s := meeting()
	s.Known = []Point{{Stage: 1, Evidence: Shown}}
	s.Wall = []int64{40, 40, 40, 40, 50, 39, 44, 43, 53}
	whole := Divide(s, Gates{})
	if got := whole.Work[2]; len(whole.Stages) != 4 || whole.Stages[3].Role != Rest || !slices.Equal(got, []int64{0, 0, 0, 2, 1, 0, 0, 10, 0, 1, 0, 10}) {
		t.Errorf("%v: %v", whole.Stages, got)
	}
	memory := &Memory{}
	for range 3 {
		memory.Free()
		c := NewSteps(s.Stages, 3, 3, true, memory)
		c.Known = s.Known
		for step := range 3 {
			order := []int{1, 2, 0} // as the caller has the stages
			var given []int64
			for _, k := range order {
				given = append(given, s.At(step, k)...)
			}
			c.Set(step, given, s.Wall[3*step:3*step+3], order)
		}
		d := Divide(c, Gates{})
		same := func(a, b [][]int64) bool { return slices.EqualFunc(a, b, slices.Equal) }
		if !same(d.Work, whole.Work) || !same(d.Arrivals, whole.Arrivals) || !same(d.Spent, whole.Spent) || !same(d.After, whole.After) || !slices.Equal(d.Head, whole.Head) {
			t.Errorf("given one by one: %v, want %v", d.Work, whole.Work)
		}
	}
}

// TestSetAside: a rank that enters after another has left by more than a twentieth of the time between two points has
// a recording error there, of what it takes longer than usual; one a hundred values at most.
func TestSetAside(t *testing.T) {
	job := func(late int64) *Division {
		var steps [][][]int64
		for range 40 {
			steps = append(steps, [][]int64{{10, 20, 60}, {90, 80, 40}})
		}
		steps[7][0][1] += late // the others left after 100 at the least: it enters after 20 more
		s := stepsOf(steps...)
		s.Known = []Point{{Stage: 1, Evidence: Shown}}
		return Divide(s, Gates{})
	}
	if d := job(85); len(d.Errors) != 0 || d.Work[0][7*3+1] != 105 {
		t.Errorf("entered after 105, left after 100: %+v", d.Errors)
	}
	d := job(86) // entered after 106
	if len(d.Errors) != 1 || d.Errors[0] != (Error{Step: 7, Rank: 1, Stage: 0, Size: 86}) {
		t.Fatalf("entered after 106: %+v, want rank 1 in step 7 by 86", d.Errors)
	}
	if d.Work[0][7*3+1] != 20 || d.Arrivals[0][7*3+1] != 20 || d.After[0][7] != 40 {
		t.Errorf("its usual 20 is in place of it: %d, arrives after %d, %d after the last", d.Work[0][7*3+1], d.Arrivals[0][7*3+1], d.After[0][7])
	}
}

// TestTooManyErrors: where a rank often enters after others have left, it does not wait there: the point is none, and nothing is set aside.
func TestTooManyErrors(t *testing.T) {
	// Of 40 steps of two values one in a hundred is 0.8, and one is always allowed; of 120 it is 2.4, of 145 2.9.
	for _, c := range []struct{ steps, errors, points int }{{40, 1, 1}, {40, 2, 0}, {120, 2, 1}, {120, 3, 0}, {145, 2, 1}, {145, 3, 0}} {
		var steps [][][]int64
		for range c.steps {
			steps = append(steps, [][]int64{{10, 20, 60}, {90, 80, 40}})
		}
		for i := range c.errors {
			steps[7+9*i][0][1] += 500
		}
		s := stepsOf(steps...)
		s.Known = []Point{{Stage: 1, Evidence: Shown}}
		d := Divide(s, Gates{})
		if len(d.Points) != c.points || c.points == 0 && d.Work[0][7*3+1] != 520 {
			t.Errorf("%+v: %d points; the first value is %d", c, len(d.Points), d.Work[0][7*3+1])
		}
	}
}

// TestTakeWaits: inside a stage in which pairs wait for each other a rank has worked until the pair's last began to wait; a
// stage that is nothing but waiting has no work, and is time spent at the point.
func TestTakeWaits(t *testing.T) {
	s := stepsOf(
		[][]int64{{10, 30, 50, 20}, {25, 5, 8, 38}, {4, 4, 4, 4}, {20, 20, 2, 2}, {5, 5, 5, 5}},
		[][]int64{{10, 30, 50, 20}, {25, 5, 8, 38}, {4, 4, 4, 4}, {20, 20, 2, 2}, {5, 5, 5, 5}})
	s.Stages[2].Role = Wait
	s.Known, s.KnownWithin = []Point{{Stage: 3, Evidence: Shown}}, []Within{{Stage: 1, Sets: [][]int{{0, 1}, {2, 3}}}}
	d := Divide(s, Gates{})
	// In b the second of a pair arrives after 30 and 50: the first two worked 25 − 20 and 5 of it, the others 8 and 38 − 30.
	for what, c := range map[string]struct{ got, want []int64 }{
		"a": {d.Work[0][:4], []int64{10, 30, 50, 20}}, "b": {d.Work[1][:4], []int64{5, 5, 8, 8}}, "waits": {d.Work[2][:4], []int64{0, 0, 0, 0}},
		"arrivals": {d.Arrivals[0][:4], []int64{15, 35, 58, 28}}, "spent": {d.Spent[0][:4], []int64{24, 24, 6, 6}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// TestInside: values less the mean of the rank's set.
func TestInside(t *testing.T) {
	if got := centerBySet([]float64{1, 3, 10, 20, 5, 5, 0, 4}, 4, [][]int{{0, 1}, {2, 3}}); !allNear(got, []float64{-1, 1, -5, 5, 0, 0, -2, 2}) {
		t.Errorf("%v", got)
	}
	if got := centerBySet([]float64{1, 3, 10, 20}, 4, [][]int{{0, 2}, {1, 3}}); !allNear(got, []float64{-4.5, -8.5, 4.5, 8.5}) {
		t.Errorf("%v", got)
	}
}

// TestArriveOfSome: the work of some ranks, which all others are given the median of, makes these alone arrive later: two
// calls that other ranks make at the same time are no time one after the other.
func TestArriveOfSome(t *testing.T) {
	d := &Division{Ranks: 4, Intervals: 2, Points: []Point{{}}, Pieces: []Piece{{}, {Ranks: []int{0, 2}}, {Ranks: []int{1, 3}}},
		Work: [][]int64{{1, 1, 1, 1, 2, 2, 2, 2}, {100, 110, 120, 110, 100, 100, 100, 100}, {205, 200, 205, 210, 200, 200, 200, 200}}}
	d.Arrive()
	if want := []int64{101, 201, 121, 211, 102, 202, 102, 202}; !slices.Equal(d.Arrivals[0], want) {
		t.Errorf("arrivals %v, want %v", d.Arrivals[0], want)
	}
	d.Pieces = d.Pieces[1:]
	d.Work = d.Work[1:]
	d.Arrive()
	if want := []int64{100, 200, 120, 210, 100, 200, 100, 200}; !slices.Equal(d.Arrivals[0], want) {
		t.Errorf("without work of all: arrivals %v, want %v", d.Arrivals[0], want)
	}
}
