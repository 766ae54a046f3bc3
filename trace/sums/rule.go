package sums

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Use is what a sum of all stages is taken for where no wall time was recorded.
type Use uint8

const (
	LeftOut  Use = iota // as every other sum
	WallTime            // that of a step
)

// Rule makes the same of the sums in all windows of a run or table: it leaves them out, or
// takes one for the wall time. What they are the first windows show that have the stages.
// The zero value leaves sums out.
type Rule struct {
	Whole  Use
	stages []string // of the windows that it was made for; nil: none yet
	wall   int      // the stage that is the wall time; −1: none is
	left   []int    // stages that are no stages, ascending
	notes  []input.Note
}

// Apply replaces windows of one list of stages, as they follow one another, by what the
// rule makes of them. The first has a note for each sum. Windows without sums, and times
// of others, stay what they are.
func (u *Rule) Apply(windows []*trace.Window) {
	if !slices.Equal(u.stages, windows[0].Schema.Stages) {
		u.find(windows)
	}
	if u.left == nil {
		return
	}
	for i, w := range windows {
		windows[i] = u.flat(w)
	}
	windows[0].Notes, u.notes = slices.Concat(windows[0].Notes, u.notes), nil
}

// find makes the rule by windows.
func (u *Rule) find(windows []*trace.Window) {
	stages, walled := windows[0].Schema.Stages, windows[0].Wall != nil
	*u = Rule{Whole: u.Whole, stages: stages, wall: -1}
	for _, f := range Find(windows...) {
		what, how := "is the sum of", "left out, as its time would count twice"
		switch {
		case f.Whole && !walled && u.Whole == WallTime && u.wall < 0:
			u.wall, how = f.Stage, "read as the wall time of the step"
		case !walled && f.Gap > wholeGap:
			continue
		}
		if f.Gap > 0 {
			what = fmt.Sprintf("is %.2g %% longer than the sum of", 100*f.Gap)
		}
		u.left = append(u.left, f.Stage)
		u.notes = append(u.notes, input.Note{Kind: input.NoteStagesSummed, Text: fmt.Sprintf("%q %s %s: %s", stages[f.Stage], what, f.names(stages), how)})
	}
}

// flat returns a window without its sums, which leaves it as it is.
func (u *Rule) flat(w *trace.Window) *trace.Window {
	out := w.DropStages(u.left)
	if out.Wall != nil || u.wall < 0 {
		return out
	}
	R := len(w.Ranks)
	for t := range w.Steps() {
		out.Wall = append(out.Wall, w.Step(t)[u.wall*R:(u.wall+1)*R]...)
	}
	return out
}
