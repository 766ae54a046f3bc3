package trace

import "slices"

// Selection is a part of what was recorded. The zero value is all of it.
type Selection struct {
	Runs    []string   // by name
	Windows []int64    // by the recorder's number
	Steps   *StepRange // by the number that was recorded
	Ranks   []int      // by ID
}

// StepRange is the steps from First to Last, both included.
type StepRange struct{ First, Last int64 }

func (r *StepRange) has(step int64) bool {
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

func (s *Selection) rank(r Rank) bool {
	return len(s.Ranks) == 0 || slices.Contains(s.Ranks, r.ID)
}

// Window is what is selected of w, which is w itself where that is all, or nil.
// Ranks that are not selected are not missing: nobody expects them.
func (s *Selection) Window(w *Window) *Window {
	if !s.Run(w.Run) || len(s.Windows) > 0 && !slices.Contains(s.Windows, w.Index) {
		return nil
	}
	if w = s.stepsOf(w); w == nil || len(s.Ranks) == 0 {
		return w
	}
	var kept []int
	for i, r := range w.Ranks {
		if s.rank(r) {
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
		out.Notes = slices.DeleteFunc(slices.Clone(w.Notes), func(n Note) bool { return n.Kind == NoteMissingRanks })
	}
	return out
}

// stepsOf is the window of the selected steps, aliasing w.
func (s *Selection) stepsOf(w *Window) *Window {
	T := int64(w.Steps())
	if s.Steps == nil || s.Steps.First <= w.FirstStep && s.Steps.Last >= w.FirstStep+T-1 {
		return w
	}
	from, to := max(0, s.Steps.First-w.FirstStep), min(T, s.Steps.Last-w.FirstStep+1)
	if from >= to {
		return nil
	}
	R := int64(len(w.Ranks))
	per := R * int64(len(w.Schema.Stages))
	out := *w
	out.FirstStep += from
	out.Durations = w.Durations[from*per : to*per]
	if w.Wall != nil {
		out.Wall = w.Wall[from*R : to*R]
	}
	out.Epochs = w.epochsAt(from)
	out.Side = nil
	for _, c := range w.Side {
		kept := SideChannel{Name: c.Name}
		for _, sample := range c.Samples {
			if s.Steps.has(sample.Step) {
				kept.Samples = append(kept.Samples, sample)
			}
		}
		out.Side = append(out.Side, kept)
	}
	return &out
}

// epochsAt is when a step began on each rank, by the wall time of those before it.
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

// Ops is what is selected of an operator trace, which is t itself where that is
// all, or nil.
func (s *Selection) Ops(t *OpTrace) *OpTrace {
	if !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var rank, step []int32
	out.Ranks, rank = kept(t.Ranks, s.rank)
	out.Steps, step = kept(t.Steps, s.Steps.has)
	var rows []int32
	used := make([]bool, len(t.Names))
	for i := range t.Start {
		if rank[t.Rank[i]] >= 0 && step[t.Step[i]] >= 0 {
			rows = append(rows, int32(i))
			used[t.Name[i]] = true
		}
	}
	if len(rows) == 0 {
		return nil
	}
	n := 0
	var name []int32
	out.Names, name = kept(t.Names, func(string) bool { n++; return used[n-1] })
	out.Start, out.Dur = gather(t.Start, rows), gather(t.Dur, rows)
	for _, column := range out.small() {
		*column = gather(*column, rows)
	}
	renumber(out.Rank, rank)
	renumber(out.Step, step)
	renumber(out.Name, name)
	if t.Declared != nil {
		out.Declared = nil
		for i, role := range t.Declared {
			if rank[i] >= 0 {
				out.Declared = append(out.Declared, role)
			}
		}
	}
	return &out
}

// Totals is what is selected of operators summed up, or nil.
func (s *Selection) Totals(t *OpTotals) *OpTotals {
	if t == nil || !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var rank, step []int32
	out.Ranks, rank = kept(t.Ranks, s.rank)
	out.Steps, step = kept(t.Steps, s.Steps.has)
	out.Rows = nil
	for _, row := range t.Rows {
		if row.Rank, row.Step = rank[row.Rank], step[row.Step]; row.Rank >= 0 && row.Step >= 0 {
			out.Rows = append(out.Rows, row)
		}
	}
	if len(out.Rows) == 0 {
		return nil
	}
	return &out
}

// Device is what is selected of device times, or nil.
func (s *Selection) Device(d *DeviceRun) *DeviceRun {
	if d == nil || !s.Run(d.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return d
	}
	out := *d
	out.Ranks = nil
	for _, r := range d.Ranks {
		if !s.rank(r.Rank) {
			continue
		}
		r.Steps = slices.DeleteFunc(slices.Clone(r.Steps), func(x DeviceStep) bool { return !s.Steps.has(x.Step) })
		if len(r.Steps) > 0 {
			out.Ranks = append(out.Ranks, r)
		}
	}
	if len(out.Ranks) == 0 {
		return nil
	}
	return &out
}

// Comm reports whether communication is selected: that of a run, whole, for where a
// rank waits, and for whom, is of all its calls.
func (s *Selection) Comm(c *Comm) bool {
	return s.Run(c.Run) && len(s.Windows) == 0 && s.Steps == nil && len(s.Ranks) == 0
}

// kept are the entries of a table for which keep holds, and the new position of
// each old one, −1 for those that are gone.
func kept[T any](table []T, keep func(T) bool) (out []T, position []int32) {
	position = make([]int32, len(table))
	for i, x := range table {
		position[i] = None
		if keep(x) {
			position[i] = int32(len(out))
			out = append(out, x)
		}
	}
	return out, position
}

// renumber replaces positions in a table by the new ones.
func renumber(column, position []int32) {
	for i, p := range column {
		column[i] = position[p]
	}
}
