package csv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// A running total is a clock: it never goes back, on no rank. What a step adds to it is how long the step, or its stage, took.
const (
	fewestRises    = 15  // steps behind another that tell a running total from a stage that grows
	mostRises      = 0.5 // of these in which it grows, at least
	maxClockRatio  = 2.0 // by which what it grows by differs from the times of the other stages together, at most
	minClockGrowth = 2.0 // by which it grows at least over the steps where it does not differ by that
)

// clocks makes the same of the running totals in all windows of a table. What they are the first windows show that have enough steps.
type clocks struct {
	decided bool
	left    []int // stages that are left out
	all     bool  // all are running totals: the difference between steps counts
	note    string
}

// apply replaces windows by what their running totals say.
func (c *clocks) apply(windows []*trace.Window) []*trace.Window {
	if !c.decided {
		c.decide(windows)
	}
	if c.note != "" {
		windows[0].Notes = append(windows[0].Notes, input.Note{Kind: input.NoteColumnsIgnored, Text: c.note})
		c.note = ""
	}
	var out []*trace.Window
	for _, w := range windows {
		switch {
		case c.all && w.Steps() < 2:
			continue
		case c.all:
			w = differences(w)
		case c.left != nil:
			w = w.DropStages(c.left)
		}
		out = append(out, w)
	}
	return out
}

func (c *clocks) decide(windows []*trace.Window) {
	pairs := 0
	for _, w := range windows {
		pairs += max(0, w.Steps()-1)
	}
	if pairs < fewestRises {
		return
	}
	c.decided = true
	S := len(windows[0].Schema.Stages)
	rise, running := make([]float64, S), make([]bool, S) // by which each grows in a step
	others := 0.0                                        // ns of a step in stages that are no running totals
	for s := range S {
		rise[s], running[s] = riseOf(windows, s)
		if !running[s] {
			others += meanOf(windows, s)
		}
	}
	var names []string
	for s, is := range running {
		first, last := endsOf(windows, s)
		if is && (rise[s] > others/maxClockRatio && rise[s] < others*maxClockRatio || last >= minClockGrowth*first) {
			c.left = append(c.left, s)
			names = append(names, windows[0].Schema.Stages[s])
		}
	}
	c.all = len(c.left) == S
	switch {
	case len(c.left) == 0:
	case c.all:
		c.note = "every column is a running total: what it grows by from step to step is the time of the step; the first step is left out"
	default:
		c.note = fmt.Sprintf("columns that are a running total, and no time of a step, are left out: %s", strings.Join(quoteNames(names), ", "))
	}
}

// riseOf returns by how much a stage grows from step to step, ns, and whether it never goes back on any rank.
func riseOf(windows []*trace.Window, s int) (rise float64, running bool) {
	rises, pairs := 0, 0
	for _, w := range windows {
		R := len(w.Ranks)
		for t := 1; t < w.Steps(); t++ {
			before, now := w.Step(t - 1)[s*R:(s+1)*R], w.Step(t)[s*R:(s+1)*R]
			for r := range now {
				if now[r] < before[r] {
					return 0, false
				}
				if pairs++; now[r] > before[r] {
					rises++
				}
				rise += float64(now[r] - before[r])
			}
		}
	}
	return rise / float64(max(1, pairs)), float64(rises) >= mostRises*float64(pairs)
}

// meanOf returns the mean time of a stage, ns.
func meanOf(windows []*trace.Window, s int) float64 {
	sum, n := 0.0, 0
	for _, w := range windows {
		R := len(w.Ranks)
		for t := range w.Steps() {
			for _, v := range w.Step(t)[s*R : (s+1)*R] {
				sum += float64(v)
				n++
			}
		}
	}
	return sum / float64(max(1, n))
}

// endsOf returns the first and the last value of a stage, on the rank that grows least.
func endsOf(windows []*trace.Window, s int) (first, last float64) {
	a, b := windows[0], windows[len(windows)-1]
	R := len(a.Ranks)
	return float64(slices.Max(a.Step(0)[s*R : (s+1)*R])), float64(slices.Min(b.Step(b.Steps() - 1)[s*len(b.Ranks) : (s+1)*len(b.Ranks)]))
}

// differences returns a window of what the stages of another grow by in each step but the first.
func differences(w *trace.Window) *trace.Window {
	out := *w
	out.FirstStep++
	n := len(w.Ranks) * len(w.Schema.Stages)
	out.Durations = make([]int64, len(w.Durations)-n)
	for i := range out.Durations {
		out.Durations[i] = w.Durations[i+n] - w.Durations[i]
	}
	if w.Wall != nil {
		out.Wall = w.Wall[len(w.Ranks):]
	}
	return &out
}
