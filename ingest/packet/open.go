package packet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// place is where a window stands in its run. A run that was restarted may count
// its windows from 0 again: that is another life.
type place struct {
	life  int
	index int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.life, q.life), cmp.Compare(p.index, q.index))
}

// run is what the reader knows of one run.
type run struct {
	in     *Reader
	name   string
	order  int       // of first appearance
	open   []*window // ascending by place
	ranks  map[int]*member
	shares map[*stream]*share
	closed []closedWindow // ascending by place, then by first step
	cuts   []input.Pos    // streams of it that ended in the middle of a line
	coming []*stream      // that begin with it and are still to be opened
}

// share is what a stream has had of a run.
type share struct {
	stream      *stream
	ranks       map[int]struct{}
	last        int  // rank of the last packet
	interleaved bool // some rank has come back after another
}

// member is a rank that has reported in a run.
type member struct {
	rank   int
	shares []*share // that it came in
	latest place    // the highest window it has at hand or delivered
	end    int64    // step after the last that it has at hand or delivered
	open   int      // open windows that it has reported in
}

// window is a window whose packets are being collected.
type window struct {
	place
	run     *run
	parts   []*trace.Part // ascending by rank, then by first step
	heads   int           // streams whose head belongs to it
	arrival int64         // when its first packet came, in packets
	ranks   int           // that are in parts
	world   int           // the largest world size that a part gives
	steps   int64         // over all parts
	first   int64         // step of all parts
	end     int64         // step after the last of all parts
	waitFor int           // no rank below it holds the window back
	bytes   int64
	sources map[*stream]struct{}
}

// closedWindow remembers a window that was handed out, to recognise late packets.
type closedWindow struct {
	place
	first, end   int64
	ranks, world int
	pos          input.Pos // of its first packet, by rank
}

// maxClosed bounds what is remembered of each run, in windows.
const maxClosed = 1 << 16

// openWindow returns the open window at a place, made if there is none.
func (n *run) openWindow(p place) *window {
	i, ok := slices.BinarySearchFunc(n.open, p, func(w *window, p place) int { return w.compare(p) })
	if !ok {
		n.open = slices.Insert(n.open, i, &window{run: n, place: p, sources: make(map[*stream]struct{})})
	}
	return n.open[i]
}

// saw notes that s has a packet of the run at hand, and tells its place. A rank
// that goes back in windows but on in steps begins another life.
func (n *run) saw(s *stream) place {
	p := s.head
	rank := p.Rank.ID
	part := n.shares[s]
	if part == nil {
		part = &share{stream: s, ranks: make(map[int]struct{}), last: rank}
		n.shares[s], s.runs = part, append(s.runs, n)
	}
	_, known := part.ranks[rank]
	part.interleaved = part.interleaved || known && rank != part.last
	part.ranks[rank], part.last = struct{}{}, rank

	m := n.ranks[rank]
	if m == nil {
		m = &member{rank: rank}
		n.ranks[rank] = m
	}
	if !known {
		m.shares = append(m.shares, part)
	}
	at := place{m.latest.life, p.Index}
	if p.Index < m.latest.index && p.FirstStep >= m.end {
		at.life++
	}
	if m.latest.compare(at) < 0 {
		m.latest = at
	}
	m.end = max(m.end, p.FirstStep+int64(p.Steps()))
	return at
}

// mayBeRankOrdered reports whether the run may be ordered by rank: all of the first
// rank, then all of the next.
func (n *run) mayBeRankOrdered() bool {
	for _, part := range n.shares {
		if part.interleaved {
			return false
		}
	}
	return len(n.shares) == 1
}

// add puts p into the window. It refuses steps that the rank has reported.
func (w *window) add(p *trace.Part) error {
	i, _ := slices.BinarySearchFunc(w.parts, p, func(a, b *trace.Part) int {
		return cmp.Or(cmp.Compare(a.Rank.ID, b.Rank.ID), cmp.Compare(a.FirstStep, b.FirstStep))
	})
	end := p.FirstStep + int64(p.Steps())
	known := false
	for _, j := range [...]int{i - 1, i} { // the neighbours in step order
		if j < 0 || j >= len(w.parts) || w.parts[j].Rank.ID != p.Rank.ID {
			continue
		}
		known = true
		if q := w.parts[j]; p.FirstStep < q.FirstStep+int64(q.Steps()) && q.FirstStep < end {
			return input.At(p.Pos, input.Bad(input.ErrDuplicate, "rank %d reports step %d of window %d of run %q twice, first at %s",
				p.Rank.ID, max(p.FirstStep, q.FirstStep), w.index, p.Run, q.Pos))
		}
	}
	if !known {
		w.ranks++
		w.run.ranks[p.Rank.ID].open++
	}
	if len(w.parts) == 0 {
		w.first, w.end = p.FirstStep, end
	}
	w.parts = slices.Insert(w.parts, i, p)
	w.world = max(w.world, p.WorldSize)
	w.steps += end - p.FirstStep
	w.first, w.end = min(w.first, p.FirstStep), max(w.end, end)
	w.bytes += size(p)
	w.waitFor = 0
	return nil
}

// complete reports whether all ranks of the world have reported the same
// steps: no rank reports a step twice, so counting is enough.
func (w *window) complete() bool {
	return w.ranks >= w.world && w.steps == int64(w.ranks)*(w.end-w.first)
}

// reaches reports whether rank has reported up to the last step of the window.
func (w *window) reaches(rank int) bool {
	i, _ := slices.BinarySearchFunc(w.parts, rank+1, func(p *trace.Part, id int) int { return cmp.Compare(p.Rank.ID, id) })
	return i > 0 && w.parts[i-1].Rank.ID == rank && w.parts[i-1].FirstStep+int64(w.parts[i-1].Steps()) == w.end
}

// hasRank reports whether rank has reported in the window.
func (w *window) hasRank(rank int) bool {
	_, ok := slices.BinarySearchFunc(w.parts, rank, func(p *trace.Part, id int) int { return cmp.Compare(p.Rank.ID, id) })
	return ok
}

// isAwaited reports whether a rank still holds back w, the first open window of
// the run. A rank that no longer does never does again, unless w grows.
func (n *run) isAwaited(w *window) bool {
	for ; w.waitFor < w.world; w.waitFor++ {
		if n.awaits(w, w.waitFor) {
			return true
		}
	}
	return false
}

func (n *run) awaits(w *window, rank int) bool {
	if w.reaches(rank) {
		return false
	}
	m := n.ranks[rank]
	return m == nil || n.in.used < n.in.hold && m.live() || !m.hasPassed(w) && !m.silent(w)
}

// Patience is how many later windows a rank must have delivered before a
// window that it skipped is closed without it.
const Patience = 4

// hasPassed reports whether the rank has gone past w.
func (m *member) hasPassed(w *window) bool {
	if !m.live() {
		return true
	}
	if m.latest.compare(w.place) <= 0 {
		return false
	}
	if m.ownsStreams() {
		return true
	}
	later := m.open // as w is the first
	if w.hasRank(m.rank) {
		later--
	}
	return later >= Patience
}

// live reports whether the rank may report again.
func (m *member) live() bool {
	return slices.ContainsFunc(m.shares, func(p *share) bool { return !p.stream.closed })
}

// ownsStreams reports whether the rank shares its streams with no other of the run.
func (m *member) ownsStreams() bool {
	return !slices.ContainsFunc(m.shares, func(p *share) bool { return len(p.ranks) > 1 })
}

// Silence is how many later windows must be as full as one that lacks a rank
// that reported before, until the rank counts as silent.
const Silence = 64

// silent reports whether the rank, which shares its stream with others, has
// fallen silent while they went on.
func (m *member) silent(w *window) bool {
	if m.ownsStreams() {
		return false
	}
	later, open := 0, w.run.open
	for _, v := range open[:min(len(open), 2*Silence)] {
		if v != w && v.ranks >= w.ranks {
			later++
		}
	}
	return later >= Silence
}

// isNext reports whether w has the number behind that of the last window that was closed, or is the first of its life.
func (n *run) isNext(w *window) bool {
	last := len(n.closed) - 1
	return w.index == 0 || last >= 0 && n.closed[last].life == w.life && w.index <= n.closed[last].index+1
}

// remember notes that w was closed.
func (n *run) remember(w *window) {
	c := closedWindow{w.place, w.first, w.end, w.ranks, w.world, w.parts[0].Pos}
	i, _ := slices.BinarySearchFunc(n.closed, c, func(a, b closedWindow) int {
		return cmp.Or(a.compare(b.place), cmp.Compare(a.first, b.first))
	})
	n.closed = slices.Insert(n.closed, i, c)
	if len(n.closed) > maxClosed {
		n.closed = slices.Delete(n.closed, 0, maxClosed/2)
	}
}

// late refuses a packet of a window at this place that is closed.
func (n *run) late(at place, p *trace.Part) error {
	i, _ := slices.BinarySearchFunc(n.closed, at, func(c closedWindow, p place) int { return c.compare(p) })
	for ; i < len(n.closed) && n.closed[i].place == at; i++ {
		c := n.closed[i]
		if p.FirstStep >= c.end || p.FirstStep+int64(p.Steps()) <= c.first {
			continue
		}
		if c.ranks < c.world {
			return input.At(p.Pos, input.Bad(input.ErrFormat,
				"rank %d comes after window %d of run %q was closed with %d of %d ranks (it begins at %s): order the packets by window, or write one file per rank",
				p.Rank.ID, p.Index, p.Run, c.ranks, c.world, c.pos))
		}
		return input.At(p.Pos, input.Bad(input.ErrDuplicate,
			"rank %d reports step %d of window %d of run %q again, the window begins at %s",
			p.Rank.ID, max(p.FirstStep, c.first), p.Index, p.Run, c.pos))
	}
	return nil
}

// size returns about what a part takes in memory.
func size(p *trace.Part) int64 {
	n := 512 + 8*(len(p.Durations)+len(p.Wall))
	for _, c := range p.Side {
		n += 64 + 32*len(c.Samples)
	}
	for _, text := range p.Notes {
		n += 16 + len(text)
	}
	return int64(n)
}

// cutNote returns the note that streams of the run ended in the middle of a line.
func (n *run) cutNote() input.Note {
	text := fmt.Sprintf("%s ends in the middle of a packet, as when a job is killed", n.cuts[0])
	if more := len(n.cuts) - 1; more > 0 {
		text = fmt.Sprintf("%s and %d other inputs end in the middle of a packet, as when a job is killed", n.cuts[0], more)
	}
	return input.Note{Kind: input.NoteTruncated, Text: text}
}
