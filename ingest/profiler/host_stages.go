package profiler

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// mark is a range that is a step.
type mark struct {
	stagemap.Mark
	thread     int64
	start, end int64
}

// piece is a range that belongs to a stage.
type piece struct {
	start, end int64
	thread     int64
	stage      int32
	background bool
	yields     bool
}

// host is a rank's steps with their stages, to look moments up in.
type host struct {
	steps  []profile.Step
	stages int   // how many the map has
	thread int64 // that marks the steps
}

// hostSteps finds the steps of a rank and the stages in them.
func (b *Builder) hostSteps(r *profile.Rank) host {
	r.Backend = b.calls.backend()
	marks, thread := b.chooseMarks()
	if marks == nil {
		marks, thread = b.inferMarks()
	}
	for _, m := range marks {
		r.Steps = append(r.Steps, profile.Step{Index: m.Number, Start: m.start, End: m.end})
	}
	b.fill(r, thread)
	return host{r.Steps, len(r.Stages), thread}
}

// fill puts the pieces into the steps.
func (b *Builder) fill(r *profile.Rank, thread int64) {
	main := newTimeline(slices.DeleteFunc(slices.Clone(b.pieces), func(p piece) bool { return p.background || p.thread != thread }))
	behind := newTimeline(slices.DeleteFunc(slices.Clone(b.pieces), func(p piece) bool { return !p.background }))
	forward, backward := b.stages.Index(stagemap.Forward), b.stages.Index(stagemap.Backward)
	running := b.backendCollectives()
	inferred := 0
	for i := range r.Steps {
		s := &r.Steps[i]
		pieces := main.piecesIn(s)
		if firstPiece(pieces, backward) < 0 {
			pieces = append(pieces, hulls(pieces, behind.piecesIn(s))...)
			slices.SortStableFunc(pieces, piece.compare)
		}
		s.Spans = extendSpans(cover(pieces), running, s.End)
		if forward >= 0 && inferForward(s, forward, backward) {
			inferred++
		}
		split(s, backward, b.stages.Index(stagemap.Optimizer))
	}
	if inferred > 0 {
		b.Note(input.NoteRecorder, "steps that name no forward pass, so that the time before the backward one counts as it: %d", inferred)
	}
}

// backendCollectives returns the collectives that a backend works on, by start; none where devices
// do, whose host waits in calls of its own.
func (b *Builder) backendCollectives() []Call {
	if b.works.hasWork() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.calls), func(c Call) bool { return !isCall(c.Name) })
}

// extendSpans ends spans when the collectives that a backend began in them are done, and
// those that it began before these were: the thread waits for them, as
// DistributedDataParallel does at the end of backward, and nothing records that. The
// next span, and the end of the step, end it anyway.
func extendSpans(spans []profile.Span, running []Call, stepEnd int64) []profile.Span {
	for i := range spans {
		s, until := &spans[i], stepEnd
		if i+1 < len(spans) {
			until = spans[i+1].Start
		}
		from := sort.Search(len(running), func(k int) bool { return running[k].Start >= s.Start })
		for _, c := range running[from:] {
			if c.Start > s.End {
				break
			}
			s.End = max(s.End, min(c.End, until))
		}
	}
	return spans
}

// timeline is pieces by start, then the longest first, with the latest end up
// to each.
type timeline struct {
	pieces []piece
	reach  []int64
}

func newTimeline(pieces []piece) timeline {
	slices.SortStableFunc(pieces, piece.compare)
	t := timeline{pieces, make([]int64, len(pieces))}
	for i, p := range pieces {
		t.reach[i] = p.end
		if i > 0 {
			t.reach[i] = max(p.end, t.reach[i-1])
		}
	}
	return t
}

func (p piece) compare(q piece) int {
	return cmp.Or(cmp.Compare(p.start, q.start), cmp.Compare(q.end, p.end))
}

// piecesIn returns the pieces that overlap the step, cut to it.
func (t timeline) piecesIn(s *profile.Step) []piece {
	var out []piece
	from := sort.Search(len(t.reach), func(i int) bool { return t.reach[i] > s.Start })
	end := sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].start >= s.End })
	for _, p := range t.pieces[min(from, end):end] {
		if p.end > s.Start {
			p.start, p.end = max(p.start, s.Start), min(p.end, s.End)
			out = append(out, p)
		}
	}
	return out
}

// firstPiece returns the first piece of a stage, −1: none.
func firstPiece(pieces []piece, stage int) int {
	return slices.IndexFunc(pieces, func(p piece) bool { return p.stage == int32(stage) })
}

// hulls joins pieces of the background over the time that the main thread
// spends in no other stage, and clips them where it does. A piece of the main
// thread that contains them all stays out of it: it runs them.
func hulls(main, behind []piece) []piece {
	var out []piece
	for _, p := range behind {
		if n := len(out); n > 0 && out[n-1].stage == p.stage && !stageBeginsBetween(main, out[n-1], p) {
			out[n-1].end = max(out[n-1].end, p.end)
			continue
		}
		out = append(out, p)
	}
	for i := range out {
		clip(&out[i], main)
	}
	return slices.DeleteFunc(out, func(p piece) bool { return p.end <= p.start })
}

// stageBeginsBetween reports whether the main thread begins another stage after a began
// and before b does.
func stageBeginsBetween(main []piece, a, b piece) bool {
	i := sort.Search(len(main), func(i int) bool { return main[i].start > a.start })
	return i < len(main) && main[i].start <= b.start
}

// lookBack is how many ranges of the main thread before a moment are looked at
// for one that is still under way: they nest, but not without end.
const lookBack = 64

// clip takes from a piece of the background what the main thread does then.
func clip(p *piece, main []piece) {
	i := sort.Search(len(main), func(i int) bool { return main[i].start > p.start })
	for _, m := range main[max(0, i-lookBack):i] {
		if m.end > p.start && m.end < p.end {
			p.start = m.end
		}
	}
	for ; i < len(main) && main[i].start < p.start; i++ {
	}
	if i < len(main) {
		p.end = min(p.end, main[i].start)
	}
}

// cover makes spans of pieces, sorted by start and then the longest first:
// every moment goes to the outermost piece, but for a piece that yields.
func cover(pieces []piece) []profile.Span {
	var out []profile.Span
	emit := func(stage int32, start, end int64) {
		if n := len(out); n > 0 && out[n-1].Stage == int(stage) && out[n-1].End == start {
			out[n-1].End = end
		} else if end > start {
			out = append(out, profile.Span{Stage: int(stage), Start: start, End: end})
		}
	}
	cur := piece{start: math.MinInt64, end: math.MinInt64} // what is left of the outermost one
	for _, p := range pieces {
		p.start = max(p.start, cur.start)
		if p.start >= cur.end {
			emit(cur.stage, cur.start, cur.end)
			cur = p
			continue
		}
		if p.end <= p.start {
			continue
		}
		switch {
		case cur.yields && !p.yields && p.stage != cur.stage:
			emit(cur.stage, cur.start, p.start)
			emit(p.stage, p.start, min(p.end, cur.end))
			if p.end >= cur.end {
				p.start = cur.end
				cur = p
			} else {
				cur.start = p.end
			}
		case p.end > cur.end:
			emit(cur.stage, cur.start, cur.end)
			p.start = cur.end
			cur = p
		}
	}
	emit(cur.stage, cur.start, cur.end)
	return out
}

// inferForward makes the time before the first backward span the forward one,
// back to the stage before, where a step names none.
func inferForward(s *profile.Step, forward, backward int) bool {
	at := -1
	for i, span := range s.Spans {
		if span.Stage == forward {
			return false
		}
		if at < 0 && span.Stage == backward {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	from := s.Start
	if at > 0 {
		from = s.Spans[at-1].End
	}
	if from >= s.Spans[at].Start {
		return false
	}
	s.Spans = slices.Insert(s.Spans, at, profile.Span{Stage: forward, Start: from, End: s.Spans[at].Start})
	return true
}

// stepAt returns the step that a moment belongs to: the time between two steps is
// the earlier one's. −1: before the first, or after the last.
func (h host) stepAt(t int64) int {
	i := sort.Search(len(h.steps), func(i int) bool { return h.steps[i].Start > t }) - 1
	if i == len(h.steps)-1 && i >= 0 && t > h.steps[i].End {
		return -1
	}
	return i
}

// stageAt returns the stage that the host is in at a moment of a step, −1: none.
func (h host) stageAt(step int, t int64) int {
	spans := h.steps[step].Spans
	i := sort.Search(len(spans), func(i int) bool { return spans[i].Start > t }) - 1
	if i >= 0 && t < spans[i].End {
		return spans[i].Stage
	}
	return -1
}

// changes returns the first moment behind t at which the host is in another step or
// stage, or may be.
func (h host) changes(t int64) int64 {
	next := int64(math.MaxInt64)
	i := sort.Search(len(h.steps), func(i int) bool { return h.steps[i].Start > t })
	if i < len(h.steps) {
		next = h.steps[i].Start
	}
	if i == 0 {
		return next
	}
	s := &h.steps[i-1]
	k := sort.Search(len(s.Spans), func(k int) bool { return s.Spans[k].End > t })
	if k == len(s.Spans) {
		if i == len(h.steps) && s.End >= t {
			next = min(next, s.End+1)
		}
		return next
	}
	if s.Spans[k].Start > t {
		return min(next, s.Spans[k].Start)
	}
	return min(next, s.Spans[k].End)
}

// assignStages sets the step and the stage in which calls were made, and returns their record.
func (h host) assignStages(r *profile.Rank, of *record) comms.Record {
	for i := range of.Calls {
		c, at := &of.Calls[i], of.Calls[i].Enter
		if c.Kernel != comms.None {
			at = of.Processes[0].Kernels[c.Kernel].Launch
		}
		step := h.stepAt(at)
		if step < 0 {
			continue
		}
		c.Step = h.steps[step].Index
		if stage := h.stageAt(step, at); stage >= 0 {
			c.Stage = r.Stages[stage]
		}
	}
	return of.Record
}

// markCut marks the first and the last step where they are cut off: under half
// as long as the median of the others and lacking a stage that all others
// have, or under a tenth as long.
func markCut(r *profile.Rank) {
	n := len(r.Steps)
	if n < 2 {
		return
	}
	for _, at := range []int{0, n - 1} {
		var lengths []int64
		common := ^uint64(0)
		for i := range r.Steps {
			if i != at {
				lengths = append(lengths, r.Steps[i].End-r.Steps[i].Start)
				common &= stageSet(&r.Steps[i])
			}
		}
		usual, own := robust.Lower(lengths), r.Steps[at].End-r.Steps[at].Start
		lacks := common&^stageSet(&r.Steps[at]) != 0
		r.Steps[at].Cut = 10*own < usual || 2*own < usual && lacks
	}
}

// stageSet returns the stages of a step as bits; those beyond the 64th do not count.
func stageSet(s *profile.Step) uint64 {
	var set uint64
	for _, span := range s.Spans {
		if span.Stage < 64 {
			set |= 1 << span.Stage
		}
	}
	return set
}
