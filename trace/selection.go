package trace

import (
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
)

// Selection is a part of what was recorded. The zero value is all of it.
type Selection struct {
	Runs    []string   // by name
	Windows []int64    // by the recorder's number
	Steps   *StepRange // by the number that was recorded
	Ranks   []int      // by ID
}

// StepRange is the steps from First to Last, both included.
type StepRange struct{ First, Last int64 }

// Has reports whether a step is in the range; nil has all.
func (r *StepRange) Has(step int64) bool {
	return r == nil || r.First <= step && step <= r.Last
}

// Run reports whether a run is selected.
func (s *Selection) Run(name string) bool {
	return len(s.Runs) == 0 || slices.Contains(s.Runs, name)
}

// All reports whether nothing is left out.
func (s *Selection) All() bool {
	return len(s.Runs) == 0 && len(s.Windows) == 0 && s.Steps == nil && len(s.Ranks) == 0
}

// Rank reports whether a rank is selected.
func (s *Selection) Rank(r Rank) bool {
	return len(s.Ranks) == 0 || slices.Contains(s.Ranks, r.ID)
}

// Window returns the selection of w: w itself where it is all, or nil. Ranks that are not selected are not missing: nobody
// expects them.
func (s *Selection) Window(w *Window) *Window {
	if !s.Run(w.Run) || len(s.Windows) > 0 && !slices.Contains(s.Windows, w.Index) {
		return nil
	}
	if w = s.stepsOf(w); w == nil || len(s.Ranks) == 0 {
		return w
	}
	var kept []int
	for i, r := range w.Ranks {
		if s.Rank(r) {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	expected := w.Expected
	out := w.Select(kept)
	out.Expected = nil
	for _, id := range slices.Compact(slices.Sorted(slices.Values(s.Ranks))) {
		if id < w.WorldSize && (expected == nil || slices.Contains(expected, id)) {
			out.Expected = append(out.Expected, id)
		}
	}
	if len(out.Missing()) == 0 {
		out.Notes = slices.DeleteFunc(slices.Clone(w.Notes), func(n input.Note) bool { return n.Kind == input.NoteMissingRanks })
	}
	return out
}

// stepsOf returns the window of the selected steps, with the calls in these, aliasing w.
func (s *Selection) stepsOf(w *Window) *Window {
	T := int64(w.Steps())
	if s.Steps == nil {
		return w
	}
	if s.Steps.First <= w.FirstStep && s.Steps.Last >= w.StepAt(int(T)-1) {
		out := *w
		out.Arrivals = s.callsOf(w)
		return &out
	}
	every := max(1, w.Every)
	from, to := max(0, (s.Steps.First-w.FirstStep+every-1)/every), int64(0)
	if last := s.Steps.Last - w.FirstStep; last >= 0 {
		to = min(T, last/every+1)
	}
	if from >= to {
		return nil
	}
	R := int64(len(w.Ranks))
	per := R * int64(len(w.Schema.Stages))
	out := *w
	out.FirstStep = w.StepAt(int(from))
	out.Durations = w.Durations[from*per : to*per]
	if w.Wall != nil {
		out.Wall = w.Wall[from*R : to*R]
	}
	out.Epochs = w.epochsAt(from)
	out.Arrivals = s.callsOf(w)
	out.Side = nil
	for _, c := range w.Side {
		kept := SideChannel{Name: c.Name}
		for _, sample := range c.Samples {
			if s.Steps.Has(sample.Step) {
				kept.Samples = append(kept.Samples, sample)
			}
		}
		out.Side = append(out.Side, kept)
	}
	return &out
}

// callsOf returns the records of a window's calls with those of the selected steps alone: what is outside of them says nothing of these.
func (s *Selection) callsOf(w *Window) (out []*comms.Record) {
	for _, r := range w.Arrivals {
		c := *r
		c.Calls = nil
		for i := range r.Calls {
			if step := r.Calls[i].Step; step >= 0 && s.Steps.Has(step) {
				c.Calls = append(c.Calls, r.Calls[i])
			}
		}
		out = append(out, &c)
	}
	return out
}

// epochsAt returns when a step began on each rank, by the wall time of the earlier steps.
func (w *Window) epochsAt(step int64) []int64 {
	if step == 0 || w.Epochs == nil || w.Wall == nil {
		if step == 0 {
			return w.Epochs
		}
		return nil
	}
	out := slices.Clone(w.Epochs)
	for t := range int(step) {
		for r, wall := range w.WallOf(t) {
			if out[r] != 0 {
				out[r] += wall
			}
		}
	}
	return out
}

// Comm reports whether communication is selected: that of a run, whole, for where a
// rank waits, and for whom, is of all its calls.
func (s *Selection) Comm(c *comms.Record) bool {
	return s.Run(c.Run) && len(s.Windows) == 0 && s.Steps == nil && len(s.Ranks) == 0
}

// DropStages returns a window without some stages, and leaves the window itself as it is.
func (w *Window) DropStages(left []int) *Window {
	out := *w
	S, R := len(w.Schema.Stages), len(w.Ranks)
	out.Schema.Stages = make([]string, 0, S-len(left))
	out.Durations = make([]int64, 0, w.Steps()*R*(S-len(left)))
	for stage, name := range w.Schema.Stages {
		if !slices.Contains(left, stage) {
			out.Schema.Stages = append(out.Schema.Stages, name)
		}
	}
	for t := range w.Steps() {
		step := w.Step(t)
		for stage := range S {
			if !slices.Contains(left, stage) {
				out.Durations = append(out.Durations, step[stage*R:(stage+1)*R]...)
			}
		}
	}
	return &out
}
