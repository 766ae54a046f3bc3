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
//   - another stage list, world size, accumulation factor or data-wait rule on
//     some ranks: the form that most ranks share (on a tie, the one of the
//     lowest rank) makes the window, the other ranks are missing from it;
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
	kept, notes := agree(sorted)
	failed := gatherFailed(sorted)
	if len(failed) > 0 {
		notes = append(notes, Note{NoteGatherFailed, fmt.Sprintf("the recorder could not gather the window on ranks %s", RankList(failed))})
	}
	var windows []*Window
	for _, span := range spans(kept) {
		w, err := joinSpan(kept, span)
		if err != nil {
			return nil, err
		}
		w.GatherFailed = failed
		w.Notes = append(w.Notes, notes...)
		windows = append(windows, w)
	}
	for i, next := range windows[1:] {
		w := windows[i]
		if end := w.FirstStep + int64(w.Steps()); end < next.FirstStep {
			w.note(NoteStepGap, "steps %d to %d were not recorded: the window was closed there", end, next.FirstStep-1)
		} else {
			w.note(NoteMissingRanks, "the set of reporting ranks changes at step %d: the window was closed there", next.FirstStep)
		}
	}
	for _, w := range windows {
		w.NoteMissing()
	}
	return windows, nil
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

// span is a range of steps [first, end) reported by one set of parts.
type span struct{ first, end int64 }

// spans cuts the steps of the parts into ranges inside which the set of
// reporting ranks does not change. O(P log P).
func spans(parts []*Part) []span {
	type edge struct {
		at    int64
		delta int
	}
	edges := make([]edge, 0, 2*len(parts))
	for _, p := range parts {
		edges = append(edges, edge{p.FirstStep, 1}, edge{p.FirstStep + int64(p.Steps()), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(min(1, max(-1, a.at-b.at))) })
	var out []span
	open, from := 0, int64(0)
	for i := 0; i < len(edges); {
		at, delta := edges[i].at, 0
		for ; i < len(edges) && edges[i].at == at; i++ {
			delta += edges[i].delta
		}
		if open > 0 {
			out = append(out, span{from, at})
		}
		open, from = open+delta, at
	}
	return mergeSpans(parts, out)
}

// mergeSpans joins neighbours whose set of ranks is the same, which happens
// when every rank begins a new part at the same step.
func mergeSpans(parts []*Part, in []span) []span {
	out := in[:0]
	for _, s := range in {
		if n := len(out); n > 0 && out[n-1].end == s.first && slices.Equal(ranksIn(parts, out[n-1]), ranksIn(parts, s)) {
			out[n-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	return out
}

func ranksIn(parts []*Part, s span) []int {
	var ids []int
	for _, p := range parts {
		if p.FirstStep < s.end && p.FirstStep+int64(p.Steps()) > s.first &&
			(len(ids) == 0 || ids[len(ids)-1] != p.Rank.ID) {
			ids = append(ids, p.Rank.ID)
		}
	}
	return ids
}

func joinSpan(parts []*Part, at span) (*Window, error) {
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
	return p
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
