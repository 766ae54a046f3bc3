package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/input"
)

// Join makes windows of the parts of one (run, window), one part per rank, in
// any order. Usually there is one window. Where the parts disagree, the window
// is closed there and the reason is noted:
//
//   - a stage list, world size, accumulation factor or data-wait rule that
//     changes from a step on: the window is split there;
//   - another one on some ranks in the same steps: the form that most ranks
//     share (on a tie, the one of the lowest rank) makes the window, the other
//     ranks are missing from it;
//   - ranks that report different steps: the window is split where the set of
//     reporting ranks changes.
//
// A rank that reports the same steps twice is refused, with the positions of
// both parts. O(T·S·R) time and memory.
func Join(parts []*Part) ([]*Window, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, (*Part).compare)
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if a.Rank.ID == b.Rank.ID && b.FirstStep < a.FirstStep+int64(a.Steps()) {
			return nil, input.At(b.Pos, input.Bad(input.ErrDuplicate, "rank %d reports step %d of window %d twice, first at %s",
				b.Rank.ID, b.FirstStep, b.Index, a.Pos))
		}
	}
	failed := gatherFailed(sorted)
	var notes []input.Note
	if len(failed) > 0 {
		notes = append(notes, input.Note{Kind: input.NoteGatherFailed, Text: fmt.Sprintf("the recorder could not gather the window on %s", Ranks(failed))})
	}
	notes = append(notes, recorderNotes(sorted)...)
	cuts, err := spans(sorted)
	if err != nil {
		return nil, input.At(sorted[0].Pos, err)
	}
	var windows []*Window
	for _, span := range cuts {
		w, err := joinSpan(span)
		if err != nil {
			return nil, err
		}
		w.GatherFailed = failed
		w.Notes = append(append(w.Notes, notes...), span.notes...)
		windows = append(windows, w)
	}
	for i, next := range windows[1:] {
		windows[i].noteClosing(next)
	}
	for _, w := range windows {
		w.NoteMissing()
	}
	return windows, nil
}

// noteClosing notes why the window ends where the next one begins.
func (w *Window) noteClosing(next *Window) {
	switch end := w.FirstStep + int64(w.Steps()); {
	case end < next.FirstStep:
		w.note(input.NoteStepGap, "steps %d to %d were not recorded: the window was closed there", end, next.FirstStep-1)
	case !w.Schema.Equal(next.Schema) || w.DataWait != next.DataWait:
		w.note(input.NoteStagesChanged, "the stage list changes at step %d: the window was closed there", next.FirstStep)
	case w.WorldSize != next.WorldSize:
		w.note(input.NoteWorldSizeChanged, "the world size changes from %d to %d at step %d: the window was closed there", w.WorldSize, next.WorldSize, next.FirstStep)
	case max(1, w.Accumulation) != max(1, next.Accumulation):
		w.note(input.NoteAccumulationChanged, "the accumulation factor changes at step %d: the window was closed there", next.FirstStep)
	default:
		w.note(input.NoteMissingRanks, "the set of reporting ranks changes at step %d: the window was closed there", next.FirstStep)
	}
}

// NoteMissing notes the ranks that are missing, if any.
func (w *Window) NoteMissing() {
	if n := w.WorldSize - len(w.Ranks); n > 0 {
		w.note(input.NoteMissingRanks, "%d of %d ranks did not report steps %d to %d: %s",
			n, w.WorldSize, w.FirstStep, w.FirstStep+int64(w.Steps())-1, w.Missing())
	}
}

func (w *Window) note(kind input.NoteKind, format string, args ...any) {
	w.Notes = append(w.Notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// span is a range of steps [first, end) with the parts of one form that make
// it, by rank and then by step.
type span struct {
	first, end int64
	parts      []*Part
	notes      []input.Note
}

// maxPieces bounds the work of cutting: parts × places where a part begins or
// ends.
const maxPieces = 1 << 26

// spans cuts the steps of the parts, sorted by rank, into ranges inside which
// neither the set of reporting ranks nor the form that most of them share
// changes. O(P · places).
func spans(parts []*Part) ([]span, error) {
	places := make([]int64, 0, 2*len(parts))
	for _, p := range parts {
		places = append(places, p.FirstStep, p.FirstStep+int64(p.Steps()))
	}
	slices.Sort(places)
	places = slices.Compact(places)
	if len(places)*len(parts) > maxPieces {
		return nil, input.Bad(input.ErrTooLarge, "a window of %d pieces that begin or end at %d steps", len(parts), len(places))
	}
	var out []span
	for i, first := range places[:len(places)-1] {
		s := span{first: first, end: places[i+1]}
		var covering []*Part
		for _, p := range parts {
			if p.FirstStep < s.end && p.FirstStep+int64(p.Steps()) > s.first {
				covering = append(covering, p)
			}
		}
		if len(covering) == 0 {
			continue
		}
		s.parts, s.notes = agree(covering)
		if n := len(out); n > 0 && out[n-1].continues(s) {
			out[n-1].end = s.end
			out[n-1].parts = mergeParts(out[n-1].parts, s.parts)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// continues reports whether next is more of the same: the same ranks in the
// same form, right behind.
func (s span) continues(next span) bool {
	return s.end == next.first && s.parts[0].form() == next.parts[0].form() &&
		slices.Equal(rankIDs(s.parts), rankIDs(next.parts)) && slices.Equal(s.notes, next.notes)
}

func rankIDs(parts []*Part) []int {
	var ids []int
	for _, p := range parts {
		if len(ids) == 0 || ids[len(ids)-1] != p.Rank.ID {
			ids = append(ids, p.Rank.ID)
		}
	}
	return ids
}

// mergeParts puts the parts of two neighbouring spans together, each part once.
func mergeParts(a, b []*Part) []*Part {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(a, p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, (*Part).compare)
	return out
}

// compare orders parts by rank and step.
func (p *Part) compare(q *Part) int {
	return cmp.Or(cmp.Compare(p.Rank.ID, q.Rank.ID), cmp.Compare(p.FirstStep, q.FirstStep))
}

func joinSpan(at span) (*Window, error) {
	parts := at.parts
	first := parts[0]
	w := &Window{Run: first.Run, Index: first.Index, FirstStep: at.first, WorldSize: first.WorldSize,
		Accumulation: first.Accumulation, DataWait: first.DataWait, Schema: first.Schema}
	var in []*Part
	wall := true
	for _, p := range parts {
		if p.FirstStep >= at.end || p.FirstStep+int64(p.Steps()) <= at.first {
			continue
		}
		in = append(in, p)
		wall = wall && p.Wall != nil
		n := len(w.Ranks)
		if n == 0 || w.Ranks[n-1].ID != p.Rank.ID {
			w.Ranks = append(w.Ranks, p.Rank)
		} else if have := w.Ranks[n-1]; have.Host != p.Rank.Host || have.Role.String() != p.Rank.Role.String() {
			w.note(input.NoteTopologyChanged, "rank %d changes its host or role at step %d; its first is kept", p.Rank.ID, p.FirstStep)
		}
	}
	S, R, T := len(w.Schema.Stages), len(w.Ranks), int(at.end-at.first)
	if S*R > math.MaxInt/8/max(1, T) {
		return nil, input.Bad(input.ErrTooLarge, "a window of %d steps × %d stages × %d ranks", T, S, R)
	}
	w.Durations = make([]int64, T*S*R)
	if wall {
		w.Wall = make([]int64, T*R)
	} else if slices.ContainsFunc(in, func(p *Part) bool { return p.Wall != nil }) {
		w.note(input.NoteWallMissing, "some ranks recorded no wall time: it is not used, and there is no residual stage")
	}
	col := -1
	for _, p := range in {
		if col < 0 || w.Ranks[col].ID != p.Rank.ID {
			col++
		}
		w.place(p, col)
	}
	sortSide(w.Side)
	if err := w.Validate(); err != nil {
		return nil, input.At(first.Pos, err)
	}
	return w, nil
}

// place copies the steps of p that lie in the window into column r.
func (w *Window) place(p *Part, r int) {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	end := w.FirstStep + int64(w.Steps())
	from, to := max(p.FirstStep, w.FirstStep), min(p.FirstStep+int64(p.Steps()), end)
	for step := from; step < to; step++ {
		src := int(step-p.FirstStep) * S
		dst := int(step-w.FirstStep) * S * R
		for s := range S {
			w.Durations[dst+s*R+r] = p.Durations[src+s]
		}
		if w.Wall != nil {
			w.Wall[int(step-w.FirstStep)*R+r] = p.Wall[step-p.FirstStep]
		}
	}
	w.placeArrivals(p, r)
	for _, c := range p.Side {
		i := slices.IndexFunc(w.Side, func(have SideChannel) bool { return have.Name == c.Name })
		if i < 0 {
			i = len(w.Side)
			w.Side = append(w.Side, SideChannel{Name: c.Name})
		}
		for _, s := range c.Samples {
			if s.Step >= from && s.Step < to {
				s.Rank = r
				w.Side[i].Samples = append(w.Side[i].Samples, s)
			}
		}
	}
}

// placeArrivals keeps what p says of collectives in the window that it begins in.
func (w *Window) placeArrivals(p *Part, r int) {
	if p.FirstStep < w.FirstStep {
		return
	}
	if p.Epoch != 0 && p.FirstStep == w.FirstStep {
		if w.Epochs == nil {
			w.Epochs = make([]int64, len(w.Ranks))
		}
		w.Epochs[r] = p.Epoch
	}
	if p.Arrivals != nil {
		w.Arrivals = append(w.Arrivals, p.Arrivals)
	}
}

func sortSide(side []SideChannel) {
	slices.SortFunc(side, func(a, b SideChannel) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range side {
		slices.SortStableFunc(c.Samples, bySample)
	}
}
