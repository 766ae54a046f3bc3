package live

import (
	"os"
	"slices"
	"time"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// Seen is what is kept of runs while they are read for a verdict, by name. Make it with Seen{}.
type Seen map[string]*Sight

// Sight is when a run was recorded last, as its windows say or else its file, and how long
// its steps are.
type Sight struct {
	When  time.Time
	Steps Line

	last *[2]int64 // window and first step that came last
}

// See looks at a job, as Options.See does. A run that is read again begins anew.
func (s Seen) See(j recorded.Job) {
	if j.Readings != nil {
		return
	}
	run := j.Run()
	x := s[run]
	if x == nil {
		x = &Sight{}
		s[run] = x
	}
	var at time.Time
	for _, w := range j.Windows {
		if len(w.Epochs) > 0 {
			if began := slices.Max(w.Epochs); began > 0 {
				at = time.Unix(0, began)
			}
		}
		x.add(w)
	}
	if at.IsZero() && j.Path != "" {
		if info, err := os.Stat(j.Path); err == nil {
			at = info.ModTime()
		}
	}
	if at.After(x.When) {
		x.When = at
	}
}

func (x *Sight) add(w *trace.Window) {
	now := [2]int64{w.Index, w.FirstStep}
	if x.last != nil && slices.Compare(now[:], x.last[:]) <= 0 {
		x.Steps = Line{}
	}
	x.last = &now
	ranks := make([]int64, len(w.Ranks))
	for t := range w.Steps() {
		copy(ranks, w.WallOf(t))
		if w.Wall == nil {
			clear(ranks)
			for i, ns := range w.Step(t) {
				ranks[i%len(ranks)] += ns
			}
		}
		x.Steps.add(robust.MedianTime(ranks))
	}
}

// mostPoints is how many points a line has at most.
const mostPoints = 64

// Line is lengths in order, put together by twos whenever they are too many.
type Line struct {
	sums  []int64
	width int // lengths that fill a point
	in    int // lengths in the last point
}

func (l *Line) add(ns int64) {
	switch n := len(l.sums); {
	case n > 0 && l.in < l.width:
		l.sums[n-1] += ns
		l.in++
		return
	case n == mostPoints:
		for i := range n / 2 {
			l.sums[i] = l.sums[2*i] + l.sums[2*i+1]
		}
		l.sums, l.width = l.sums[:n/2], 2*l.width
	}
	l.sums, l.width, l.in = append(l.sums, ns), max(1, l.width), 1
}

// Means returns the points.
func (l *Line) Means() []float64 {
	out := make([]float64, len(l.sums))
	for i, sum := range l.sums {
		out[i] = float64(sum) / float64(l.width)
	}
	if n := len(out); n > 0 {
		out[n-1] = float64(l.sums[n-1]) / float64(l.in)
	}
	return out
}
