package packet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
)

// run is what the reader knows of one run.
type run struct {
	name    string
	order   int       // of first appearance
	open    []*window // ascending by index
	ranks   map[int]*member
	streams map[*stream]struct{} // that have had packets of it
	closed  []closed             // ascending by index, then by first step
	highest int64                // index of the highest window closed, −1 for none
	cuts    []trace.Pos          // streams of it that ended in the middle of a line
}

// member is a rank that has reported in a run.
type member struct {
	rank    int
	streams []*stream // that it came in
	latest  int64     // the highest window it has at hand or delivered
}

// window is a window whose packets are being collected.
type window struct {
	run     *run
	index   int64
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

// closed remembers a window that was handed out, to recognise late packets.
type closed struct {
	index, first, end int64
	ranks, world      int
	pos               trace.Pos // of its first packet, by rank
}

// maxClosed bounds what is remembered of each run, in windows.
const maxClosed = 1 << 16

// at is the open window with this index, made if there is none.
func (n *run) at(index int64) *window {
	i, ok := slices.BinarySearchFunc(n.open, index, func(w *window, index int64) int { return cmp.Compare(w.index, index) })
	if !ok {
		n.open = slices.Insert(n.open, i, &window{run: n, index: index, sources: make(map[*stream]struct{})})
	}
	return n.open[i]
}

// saw notes that s has a packet of the run at hand.
func (n *run) saw(s *stream) {
	n.streams[s] = struct{}{}
	rank := s.head.Rank.ID
	m := n.ranks[rank]
	if m == nil {
		m = &member{rank: rank}
		n.ranks[rank] = m
	}
	if !slices.Contains(m.streams, s) {
		m.streams = append(m.streams, s)
	}
	m.latest = max(m.latest, s.head.Index)
}

// byRank reports whether the run may be ordered by rank: all of the first
// rank, then all of the next.
func (n *run) byRank() bool {
	for s := range n.streams {
		if s.interleaved {
			return false
		}
	}
	return len(n.streams) == 1
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
			return trace.At(p.Pos, trace.Bad(trace.ErrDuplicate, "rank %d reports step %d of window %d of run %q twice, first at %s",
				p.Rank.ID, max(p.FirstStep, q.FirstStep), w.index, p.Run, q.Pos))
		}
	}
	if !known {
		w.ranks++
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

// has reports whether rank has reported in the window.
func (w *window) has(rank int) bool {
	_, ok := slices.BinarySearchFunc(w.parts, rank, func(p *trace.Part, id int) int { return cmp.Compare(p.Rank.ID, id) })
	return ok
}

// waiting reports whether a rank still holds back w, the first open window of
// the run. A rank that no longer does never does again, unless w grows.
func (n *run) waiting(w *window) bool {
	for ; w.waitFor < w.world; w.waitFor++ {
		if n.holds(w, w.waitFor) {
			return true
		}
	}
	return false
}

func (n *run) holds(w *window, rank int) bool {
	if w.reaches(rank) {
		return false
	}
	m := n.ranks[rank]
	return m == nil || !m.past(w) && !m.silent(w)
}

// Patience is how many later windows a rank must have delivered before a
// window that it skipped is closed without it.
const Patience = 4

// past reports whether the rank has gone past w. Where a run counts its windows
// anew, as after a restart, the number of a window says nothing about that.
func (m *member) past(w *window) bool {
	if !m.live() {
		return true
	}
	if m.latest <= w.index || w.index <= w.run.highest {
		return false
	}
	if m.alone() {
		return true
	}
	later := 0
	for _, v := range w.run.open {
		if v.index > m.latest || later == Patience {
			break
		}
		if v.index > w.index && v.has(m.rank) {
			later++
		}
	}
	return later == Patience
}

// live reports whether the rank may report again.
func (m *member) live() bool {
	return slices.ContainsFunc(m.streams, func(s *stream) bool { return !s.closed })
}

// alone reports whether all streams of the rank are its own.
func (m *member) alone() bool {
	return !slices.ContainsFunc(m.streams, func(s *stream) bool { return len(s.ranks) > 1 })
}

// Silence is how many later windows must be as full as one that lacks a rank
// that reported before, until the rank counts as silent.
const Silence = 64

// silent reports whether the rank, which shares its stream with others, has
// fallen silent while they went on.
func (m *member) silent(w *window) bool {
	if m.alone() {
		return false
	}
	later, open := 0, w.run.open
	for _, v := range open[:min(len(open), 2*Silence)] {
		if v.index > w.index && v.ranks >= w.ranks {
			later++
		}
	}
	return later >= Silence
}

// remember notes that w was closed.
func (n *run) remember(w *window) {
	c := closed{w.index, w.first, w.end, w.ranks, w.world, w.parts[0].Pos}
	i, _ := slices.BinarySearchFunc(n.closed, c, func(a, b closed) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.first, b.first))
	})
	n.closed = slices.Insert(n.closed, i, c)
	if len(n.closed) > maxClosed {
		n.closed = slices.Delete(n.closed, 0, maxClosed/2)
	}
	n.highest = max(n.highest, w.index)
}

// late refuses a packet of a window that is closed.
func (n *run) late(p *trace.Part) error {
	i, _ := slices.BinarySearchFunc(n.closed, p.Index, func(c closed, index int64) int { return cmp.Compare(c.index, index) })
	for ; i < len(n.closed) && n.closed[i].index == p.Index; i++ {
		c := n.closed[i]
		if p.FirstStep >= c.end || p.FirstStep+int64(p.Steps()) <= c.first {
			continue
		}
		if c.ranks < c.world {
			return trace.At(p.Pos, trace.Bad(trace.ErrFormat,
				"rank %d comes after window %d of run %q was closed with %d of %d ranks (it begins at %s): order the packets by window, or write one file per rank",
				p.Rank.ID, p.Index, p.Run, c.ranks, c.world, c.pos))
		}
		return trace.At(p.Pos, trace.Bad(trace.ErrDuplicate,
			"rank %d reports step %d of window %d of run %q again, the window begins at %s",
			p.Rank.ID, max(p.FirstStep, c.first), p.Index, p.Run, c.pos))
	}
	return nil
}

// size is about what a part takes in memory.
func size(p *trace.Part) int64 {
	n := 512 + 8*(len(p.Durations)+len(p.Wall))
	for _, c := range p.Side {
		n += 64 + 32*len(c.Samples)
	}
	return int64(n)
}

// cutNote says that streams of the run ended in the middle of a line.
func (n *run) cutNote() trace.Note {
	text := fmt.Sprintf("%s ends in the middle of a packet, as when a job is killed", n.cuts[0])
	if more := len(n.cuts) - 1; more > 0 {
		text = fmt.Sprintf("%s and %d other inputs end in the middle of a packet, as when a job is killed", n.cuts[0], more)
	}
	return trace.Note{Kind: trace.NoteTruncated, Text: text}
}
