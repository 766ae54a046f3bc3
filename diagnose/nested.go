package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// closes is the share of the wall time by which stages may exceed it where clocks
// are read between them.
const closes = 0.02

// contains looks for a stage that was recorded around others and that package sums cannot
// tell for sure. With wall times the
// stages of a step take longer than the step, and without that one they do not, on
// any rank; where that is so of several, it is the longest. Without them it takes as
// long as all others together, or as those beside it, or a little longer, on every
// rank in every step. O(steps × stages × ranks), and as much again for each stage
// that could be one.
func contains(w *trace.Window) (p answer.Problem, found bool) {
	around := -1
	if w.Wall != nil {
		around = stageBeyondWall(w)
	} else {
		around = containingStage(w)
	}
	if around < 0 {
		return p, false
	}
	return answer.Problem{Problem: answer.StageContains, Stage: w.Schema.Stages[around],
		Text: fmt.Sprintf("stage %q contains other stages", w.Schema.Stages[around])}, true
}

// stageDisorder looks for stages that stand in an order in which no step runs them, as
// columns do that were sorted by name: a step runs forward before backward, and the
// optimizer after it. What a rank waits for is then read from the wrong stages.
func stageDisorder(stages []string) (p answer.Problem, found bool) {
	first := func(kind stagename.Kind) int {
		return slices.IndexFunc(stages, func(s string) bool { return stagename.KindOf(s) == kind })
	}
	forward, backward, optimizer := first(stagename.Forward), first(stagename.Backward), first(stagename.Optimizer)
	before, after := backward, forward
	if forward < 0 || backward < 0 || backward > forward {
		before, after = optimizer, backward
	}
	if before < 0 || after < 0 || before > after {
		return p, false
	}
	return answer.Problem{Problem: answer.StagesDisordered, Stage: stages[before],
		Text: fmt.Sprintf("stage %q stands before %q, and no step runs them so", stages[before], stages[after])}, true
}

// stageBeyondWall returns the stage without which the others fit into the wall time, -1 for none, and where all fit.
func stageBeyondWall(w *trace.Window) int {
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

// follows is the part of a stage's variation that is left at most when the stages
// inside are taken off: what merely takes as long as others varies on its own.
const follows = 0.1

// nestedStages is a stage and others that it may be recorded around: from one stage to
// before another, itself left out.
type nestedStages struct {
	around, from, to int
	own, rest        spread // of the stage, and of what it takes beyond the others
}

// spread adds up values and their squares.
type spread struct{ n, sum, squares float64 }

func (v *spread) add(x float64) {
	v.n++
	v.sum += x
	v.squares += x * x
}

func (v *spread) variance() float64 { return v.squares/v.n - v.sum/v.n*v.sum/v.n }

// containingStage returns the stage that takes as long as others together, -1 for none.
func containingStage(w *trace.Window) int {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	if S < 3 || w.Steps() < 2 {
		return -1
	}
	could := candidates(S)
	until, total := make([]float64, S+1), make([]float64, S)
	for t := range w.Steps() {
		step := w.Step(t)
		for r := range R {
			for s := range S {
				until[s+1] = until[s] + float64(step[s*R+r])
				total[s] += float64(step[s*R+r])
			}
			could = slices.DeleteFunc(could, func(c nestedStages) bool {
				d, others := until[c.around+1]-until[c.around], until[c.to]-until[c.from]
				if c.from <= c.around && c.around < c.to {
					others -= d
				}
				return d < others || d > (1+closes)*others
			})
			for i := range could {
				could[i].take(until)
			}
		}
	}
	for _, c := range could {
		if c.countTimed(total) < 2 { // one other that takes as long is none that is inside
			continue
		}
		if c.to-c.from == S || c.rest.variance() < follows*follows*c.own.variance() {
			return c.around
		}
	}
	return -1
}

// countTimed returns how many of the other stages took any time; total is the time of each over all steps and ranks.
func (c *nestedStages) countTimed(total []float64) (n int) {
	for s := c.from; s < c.to; s++ {
		if s != c.around && total[s] > 0 {
			n++
		}
	}
	return n
}

// take adds a step of a rank, whose stages end at those times.
func (c *nestedStages) take(until []float64) {
	d, others := until[c.around+1]-until[c.around], until[c.to]-until[c.from]
	c.own.add(d)
	c.rest.add(d - others)
}

// mostInside is how many stages beside one it may contain, unless it contains all others.
const mostInside = 64

// candidates returns all stages with all others, and with two or more that stand beside them.
func candidates(S int) []nestedStages {
	var out []nestedStages
	for s := range S {
		out = append(out, nestedStages{around: s, to: S})
		for k := 2; k < min(S, mostInside+1); k++ {
			if s+1+k <= S {
				out = append(out, nestedStages{around: s, from: s + 1, to: s + 1 + k})
			}
			if s-k >= 0 {
				out = append(out, nestedStages{around: s, from: s - k, to: s})
			}
		}
	}
	return out
}
