// Package devicetime holds how accelerators spent the steps of a run: computing,
// communicating, copying, idle.
package devicetime

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
)

// Run is how the accelerators of one run spent its steps, as profilers
// recorded them.
type Run struct {
	Run   string
	Ranks []Rank       // ascending by ID
	Notes []input.Note // what is incomplete
}

// Rank is the device time of one rank. The times of consecutive steps
// touch; between recordings, and where steps are left out, there are gaps.
type Rank struct {
	Rank  trace.Rank
	Steps []Step // by time
}

// Step is one step of one rank on its device: from when the work of
// earlier steps had ended, or the host began the step if that is later, to
// where the next step begins. All are nanoseconds; kinds of work overlap.
type Step struct {
	Step          int64
	Start, End    int64
	First, Last   int64 // within, the first and last moment in which something ran; equal: nothing did
	Compute       int64 // kernels that do not communicate
	Communication int64
	Memory        int64 // copies and fills
	Idle          int64 // nothing ran
	ExposedComm   int64 // communication that no compute covers
}

// RunName implements [trace.Recording].
func (d *Run) RunName() string { return d.Run }

// Select is what is selected, or nil.
func (d *Run) Select(s *trace.Selection) *Run {
	if d == nil || !s.Run(d.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return d
	}
	out := *d
	out.Ranks = nil
	for _, r := range d.Ranks {
		if !s.Rank(r.Rank) {
			continue
		}
		r.Steps = slices.DeleteFunc(slices.Clone(r.Steps), func(x Step) bool { return !s.Steps.Has(x.Step) })
		if len(r.Steps) > 0 {
			out.Ranks = append(out.Ranks, r)
		}
	}
	if len(out.Ranks) == 0 {
		return nil
	}
	return &out
}
