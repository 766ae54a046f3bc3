package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
)

// sampledSteps is how many steps show about how long one takes.
const sampledSteps = 9

// setAside returns a window in which values that cannot be ([points.Error]) are what the rank usually
// takes, and leaves the window as it is: without them it is returned itself. They are looked for where a
// value is longer than a step, which smaller ones hardly lengthen. O(T·S·R).
func setAside(w *trace.Window) *trace.Window {
	if len(w.Ranks) < 2 || !exceeds(w.Durations, w.Wall, usualStep(w)) {
		return w
	}
	charged, _ := chargeDataWait(w)
	steps := points.WindowSteps(charged)
	found := points.Divide(&steps, points.Gates{}).Errors
	if len(found) == 0 {
		return w
	}
	out, S, R := *w, len(w.Schema.Stages), len(w.Ranks)
	out.Durations, out.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
	for _, e := range found {
		t := e.Step + int(charged.FirstStep-w.FirstStep)
		if charged != w && e.Stage == 0 {
			t-- // the wait stands in the step before
		}
		recorded := int64(0)
		for s := range S {
			recorded += w.Step(t)[s*R+e.Rank]
		}
		if e.Stage < S {
			s := w.Schema.Index(charged.Schema.Stages[e.Stage])
			lessen(&out.Durations[(t*S+s)*R+e.Rank], e.Size)
		}
		if w.Wall != nil && (e.Stage == S || w.WallOf(t)[e.Rank] >= recorded) {
			lessen(&out.Wall[t*R+e.Rank], e.Size)
		}
	}
	return &out
}

// lessen takes a time off another, of which nothing may be left.
func lessen(of *int64, by int64) { *of = max(0, *of-by) }

// usualStep returns about how long a step takes: the median over some steps of the median rank's.
func usualStep(w *trace.Window) int64 {
	R := len(w.Ranks)
	var took []int64
	all := make([]int64, R)
	n := min(sampledSteps, w.Steps())
	for i := range n {
		t := i * w.Steps() / n
		clear(all)
		for k, d := range w.Step(t) {
			all[k%R] += d
		}
		slices.Sort(all)
		took = append(took, all[R/2])
	}
	slices.Sort(took)
	return took[n/2]
}

// exceeds reports whether a duration is longer than a step, or a wall time than two.
func exceeds(durations, wall []int64, step int64) bool {
	return longest(durations) > step || longest(wall) > 2*step
}

// longest returns the largest of some times, 0 of none.
func longest(times []int64) int64 {
	var a, b, c, d int64
	for ; len(times) >= 4; times = times[4:] {
		x := (*[4]int64)(times)
		a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
	}
	for _, x := range times {
		a = max(a, x)
	}
	return max(a, b, c, d)
}
