package trace

import (
	"fmt"
	"math"
	"slices"
)

// Part is one rank's share of a window: what a recorder writes as one packet.
// S stages, T steps.
type Part struct {
	Pos          Pos // where it was read
	Run          string
	Index        int64 // number of the window
	WorldSize    int
	FirstStep    int64
	Accumulation int
	DataWait     DataWait
	GatherOK     bool
	Rank         Rank
	Schema       Schema

	Durations []int64 // nanoseconds, [step][stage], stage fastest
	Wall      []int64 // nanoseconds, [step]; nil when not recorded
	Side      []SideChannel

	Notes []string // what the recorder says that it lost or left out, as sentences
}

// Steps is T, the number of steps of the part.
func (p *Part) Steps() int {
	if len(p.Schema.Stages) == 0 {
		return 0
	}
	return len(p.Durations) / len(p.Schema.Stages)
}

// Validate refuses a part that cannot be joined into a window: bad schema,
// rank outside the world, ragged or negative durations, sums that overflow.
// Samples of side channels carry Rank 0 in a part.
func (p *Part) Validate() error {
	w := Window{Run: p.Run, Index: p.Index, FirstStep: p.FirstStep, WorldSize: p.WorldSize,
		Accumulation: p.Accumulation, Schema: p.Schema, Ranks: []Rank{p.Rank},
		Durations: p.Durations, Wall: p.Wall, Side: p.Side}
	return w.Validate()
}

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
	slices.SortStableFunc(sorted, func(a, b *Part) int {
		if a.Rank.ID != b.Rank.ID {
			return a.Rank.ID - b.Rank.ID
		}
		return int(min(1, max(-1, a.FirstStep-b.FirstStep)))
	})
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if a.Rank.ID == b.Rank.ID && b.FirstStep < a.FirstStep+int64(a.Steps()) {
			return nil, At(b.Pos, Bad(ErrDuplicate, "rank %d reports step %d of window %d twice, first at %s",
				b.Rank.ID, b.FirstStep, b.Index, a.Pos))
		}
	}
	failed := gatherFailed(sorted)
	var notes []Note
	if len(failed) > 0 {
		notes = append(notes, Note{NoteGatherFailed, fmt.Sprintf("the recorder could not gather the window on ranks %s", RankList(failed))})
	}
	notes = append(notes, recorderNotes(sorted)...)
	cuts, err := spans(sorted)
	if err != nil {
		return nil, At(sorted[0].Pos, err)
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

// noteClosing says why the window ends where the next one begins.
func (w *Window) noteClosing(next *Window) {
	switch end := w.FirstStep + int64(w.Steps()); {
	case end < next.FirstStep:
		w.note(NoteStepGap, "steps %d to %d were not recorded: the window was closed there", end, next.FirstStep-1)
	case !w.Schema.Equal(next.Schema) || w.DataWait != next.DataWait:
		w.note(NoteStagesChanged, "the stage list changes at step %d: the window was closed there", next.FirstStep)
	case w.WorldSize != next.WorldSize:
		w.note(NoteWorldSizeChanged, "the world size changes from %d to %d at step %d: the window was closed there", w.WorldSize, next.WorldSize, next.FirstStep)
	case max(1, w.Accumulation) != max(1, next.Accumulation):
		w.note(NoteAccumulationChanged, "the accumulation factor changes at step %d: the window was closed there", next.FirstStep)
	default:
		w.note(NoteMissingRanks, "the set of reporting ranks changes at step %d: the window was closed there", next.FirstStep)
	}
}

// NoteMissing notes the ranks that are missing, if any. O(R) time, however
// large the world claims to be.
func (w *Window) NoteMissing() {
	if n := w.WorldSize - len(w.Ranks); n > 0 {
		w.note(NoteMissingRanks, "%d of %d ranks did not report steps %d to %d: %s",
			n, w.WorldSize, w.FirstStep, w.FirstStep+int64(w.Steps())-1, w.missingList())
	}
}

// missingList is RankList of Missing.
func (w *Window) missingList() string {
	var b []byte
	next := 0
	gap := func(end int) { // ranks next … end−1 are missing
		if next < end && len(b) > 0 {
			b = append(b, ',')
		}
		if next < end {
			b = fmt.Appendf(b, "%d", next)
		}
		if next+1 < end {
			b = fmt.Appendf(b, "-%d", end-1)
		}
		next = end + 1
	}
	for _, r := range w.Ranks {
		gap(r.ID)
	}
	gap(w.WorldSize)
	return string(b)
}

func (w *Window) note(kind NoteKind, format string, args ...any) {
	w.Notes = append(w.Notes, Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// form is what the ranks of a window must agree on.
type form struct {
	schema       string
	world, accum int
	wait         DataWait
}

func (p *Part) form() form {
	return form{p.Schema.Hash(), p.WorldSize, max(1, p.Accumulation), p.DataWait}
}

// like reports whether both parts have the same form.
func (p *Part) like(q *Part) bool {
	return p.WorldSize == q.WorldSize && max(1, p.Accumulation) == max(1, q.Accumulation) &&
		p.DataWait == q.DataWait && p.Schema.Equal(q.Schema)
}

// agree keeps the parts of the form that most parts share and notes the rest.
func agree(parts []*Part) (kept []*Part, notes []Note) {
	if !slices.ContainsFunc(parts, func(p *Part) bool { return !p.like(parts[0]) }) {
		return parts, nil // the usual case, without a digest of every schema
	}
	counts := make(map[form]int)
	for _, p := range parts {
		counts[p.form()]++
	}
	best := parts[0].form()
	for _, p := range parts {
		if f := p.form(); counts[f] > counts[best] {
			best = f
		}
	}
	others := make(map[NoteKind][]int)
	for _, p := range parts {
		f := p.form()
		switch {
		case f == best:
			kept = append(kept, p)
		case f.schema != best.schema || f.wait != best.wait:
			others[NoteStagesChanged] = append(others[NoteStagesChanged], p.Rank.ID)
		case f.world != best.world:
			others[NoteWorldSizeChanged] = append(others[NoteWorldSizeChanged], p.Rank.ID)
		default:
			others[NoteAccumulationChanged] = append(others[NoteAccumulationChanged], p.Rank.ID)
		}
	}
	what := []struct {
		kind NoteKind
		text string
	}{
		{NoteStagesChanged, "another stage list or data-wait rule"},
		{NoteWorldSizeChanged, "another world size"},
		{NoteAccumulationChanged, "another accumulation factor"},
	}
	for _, k := range what {
		if ranks := others[k.kind]; len(ranks) > 0 {
			notes = append(notes, Note{k.kind, fmt.Sprintf("ranks %s have %s than the %d ranks of this window and are left out",
				RankList(ranks), k.text, len(kept))})
		}
	}
	return kept, notes
}

func gatherFailed(parts []*Part) []int {
	var failed []int
	for _, p := range parts {
		if !p.GatherOK && !slices.Contains(failed, p.Rank.ID) {
			failed = append(failed, p.Rank.ID)
		}
	}
	return failed
}

// recorderNotes are the notes of all parts, by rank, each once.
func recorderNotes(parts []*Part) []Note {
	var notes []Note
	seen := make(map[string]bool)
	for _, p := range parts {
		for _, text := range p.Notes {
			if !seen[text] {
				seen[text] = true
				notes = append(notes, Note{NoteRecorder, text})
			}
		}
	}
	return notes
}

// span is a range of steps [first, end) with the parts of one form that make
// it, by rank and then by step.
type span struct {
	first, end int64
	parts      []*Part
	notes      []Note
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
		return nil, Bad(ErrTooLarge, "a window of %d pieces that begin or end at %d steps", len(parts), len(places))
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
			out[n-1].parts = merged(out[n-1].parts, s.parts)
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

// merged puts the parts of two neighbouring spans together, each part once.
func merged(a, b []*Part) []*Part {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(a, p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(p, q *Part) int {
		if p.Rank.ID != q.Rank.ID {
			return p.Rank.ID - q.Rank.ID
		}
		return int(min(1, max(-1, p.FirstStep-q.FirstStep)))
	})
	return out
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
			w.note(NoteTopologyChanged, "rank %d changes its host or role at step %d; its first is kept", p.Rank.ID, p.FirstStep)
		}
	}
	S, R, T := len(w.Schema.Stages), len(w.Ranks), int(at.end-at.first)
	if S*R > math.MaxInt/8/max(1, T) {
		return nil, Bad(ErrTooLarge, "a window of %d steps × %d stages × %d ranks", T, S, R)
	}
	w.Durations = make([]int64, T*S*R)
	if wall {
		w.Wall = make([]int64, T*R)
	} else if slices.ContainsFunc(in, func(p *Part) bool { return p.Wall != nil }) {
		w.note(NoteWallMissing, "some ranks recorded no wall time: it is not used, and there is no residual stage")
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
		return nil, At(first.Pos, err)
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

func sortSide(side []SideChannel) {
	slices.SortFunc(side, func(a, b SideChannel) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	for _, c := range side {
		slices.SortStableFunc(c.Samples, func(a, b Sample) int {
			if a.Step != b.Step {
				return int(min(1, max(-1, a.Step-b.Step)))
			}
			return a.Rank - b.Rank
		})
	}
}

// Part is the share of column r: the inverse of Join.
func (w *Window) Part(r int) *Part {
	S, R, T := len(w.Schema.Stages), len(w.Ranks), w.Steps()
	p := &Part{Run: w.Run, Index: w.Index, WorldSize: w.WorldSize, FirstStep: w.FirstStep, Accumulation: w.Accumulation,
		DataWait: w.DataWait, GatherOK: !slices.Contains(w.GatherFailed, w.Ranks[r].ID), Rank: w.Ranks[r], Schema: w.Schema,
		Durations: make([]int64, T*S)}
	for t := range T {
		step := w.Step(t)
		for s := range S {
			p.Durations[t*S+s] = step[s*R+r]
		}
	}
	if w.Wall != nil {
		p.Wall = make([]int64, T)
		for t := range T {
			p.Wall[t] = w.Wall[t*R+r]
		}
	}
	for _, c := range w.Side {
		mine := SideChannel{Name: c.Name}
		for _, s := range c.Samples {
			if s.Rank == r {
				s.Rank = 0
				mine.Samples = append(mine.Samples, s)
			}
		}
		if len(mine.Samples) > 0 {
			p.Side = append(p.Side, mine)
		}
	}
	if r == 0 { // they say which rank they are about
		p.Notes = w.recorderTexts()
	}
	return p
}

func (w *Window) recorderTexts() []string {
	var texts []string
	for _, n := range w.Notes {
		if n.Kind == NoteRecorder {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// RankList writes ascending rank numbers compactly: "0-3,7,9-11".
func RankList(ranks []int) string {
	var b []byte
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%d", ranks[i])
		if j > i {
			b = fmt.Appendf(b, "-%d", ranks[j])
		}
		i = j + 1
	}
	return string(b)
}
