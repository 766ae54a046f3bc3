package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/trace"
)

// closes is the share of the wall time by which stages may exceed it where clocks
// are read between them.
const closes = 0.02

// contains looks for a stage that was recorded around others. With wall times the
// stages of a step take longer than the step, and without that one they do not, on
// any rank; where that is so of several, it is the longest. Without them it takes as
// long as all others together, or a little longer, on every rank in every step.
// O(steps × stages × ranks).
func contains(w *trace.Window) (p answer.Problem, found bool) {
	around := -1
	if w.Wall != nil {
		around = exceeding(w)
	} else {
		around = embracing(w)
	}
	if around < 0 {
		return p, false
	}
	return answer.Problem{Problem: answer.StageContains, Stage: w.Schema.Stages[around],
		Text: fmt.Sprintf("stage %q contains other stages", w.Schema.Stages[around])}, true
}

// exceeding is the stage without which the others fit into the wall time, -1 for
// none, and where all fit.
func exceeding(w *trace.Window) int {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	if S < 2 {
		return -1
	}
	sums := make([]int64, S*R)
	wall := make([]int64, R)
	for t := range w.Steps() {
		for i, d := range w.Step(t) {
			sums[i] += d
		}
		for r, d := range w.WallOf(t) {
			wall[r] += d
		}
	}
	all := make([]int64, R)
	length := make([]int64, S)
	for i, d := range sums {
		all[i%R] += d
		length[i/R] += d
	}
	fits := func(without int) bool {
		for r := range R {
			left := all[r]
			if without >= 0 {
				left -= sums[without*R+r]
			}
			if float64(left) > (1+closes)*float64(wall[r]) {
				return false
			}
		}
		return true
	}
	if fits(-1) {
		return -1
	}
	around := -1
	for s := range S {
		if fits(s) && (around < 0 || length[s] > length[around]) {
			around = s
		}
	}
	return around
}

// embracing is the stage that takes as long as all others together, -1 for none.
func embracing(w *trace.Window) int {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	if S < 3 || w.Steps() < 2 {
		return -1
	}
	could := make([]bool, S)
	for s := range could {
		could[s] = true
	}
	for t := range w.Steps() {
		step := w.Step(t)
		for r := range R {
			var all int64
			for s := range S {
				all += step[s*R+r]
			}
			for s := range S {
				d := step[s*R+r]
				others := float64(all - d)
				could[s] = could[s] && float64(d) >= others && float64(d) <= (1+closes)*others
			}
		}
	}
	return slices.Index(could, true)
}
