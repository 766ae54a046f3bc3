package trace

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace/input"
)

// Bounds on what stands beside the times of a window.
const (
	MaxName = 4096 // bytes in a note of a recorder or in the name of a run, a host or an axis
	MaxAxes = 64   // coordinates in one role
)

// Storable validates a window for storage: as Validate does, and it refuses contents that could not be read again: texts that
// are not UTF-8 or too long, roles that [NewRole] would not have made, and repeated channels and samples.
func (w *Window) Storable() error {
	if err := w.Validate(); err != nil {
		return err
	}
	texts := append([]string{w.Run}, w.Schema.Stages...)
	for _, r := range w.Ranks {
		if len(r.Role) > MaxAxes {
			return input.Bad(input.ErrTooLarge, "rank %d has %d role coordinates, at most %d can be written", r.ID, len(r.Role), MaxAxes)
		}
		if _, err := NewRole(r.Role...); err != nil {
			return err
		}
		texts = append(texts, r.Host)
		for _, c := range r.Role {
			texts = append(texts, c.Axis)
		}
	}
	for i, c := range w.Side {
		texts = append(texts, c.Name)
		if slices.ContainsFunc(w.Side[:i], func(other SideChannel) bool { return other.Name == c.Name }) {
			return input.Bad(input.ErrDuplicate, "window %d of run %q has channel %q twice", w.Index, w.Run, c.Name)
		}
		samples := c.SortedSamples()
		for k := 1; k < len(samples); k++ {
			if s := samples[k]; bySample(samples[k-1], s) == 0 {
				return input.Bad(input.ErrDuplicate, "channel %q has two samples of step %d, rank %d", c.Name, s.Step, w.Ranks[s.Rank].ID)
			}
		}
	}
	for _, n := range w.Notes {
		if n.Kind == input.NoteRecorder || !utf8.ValidString(n.Text) {
			texts = append(texts, n.Text)
		}
	}
	for _, text := range texts {
		switch {
		case !utf8.ValidString(text):
			return input.Bad(input.ErrFormat, "window %d of run %q: the text %q is not valid UTF-8", w.Index, w.Run, text)
		case len(text) > MaxName:
			return input.Bad(input.ErrTooLarge, "window %d of run %q: a name or note of %d bytes, at most %d can be written", w.Index, w.Run, len(text), MaxName)
		}
	}
	return nil
}

// SortedSamples returns the samples of the channel by step and rank.
func (c SideChannel) SortedSamples() []Sample {
	if slices.IsSortedFunc(c.Samples, bySample) {
		return c.Samples
	}
	return slices.SortedStableFunc(slices.Values(c.Samples), bySample)
}

func bySample(a, b Sample) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
}
