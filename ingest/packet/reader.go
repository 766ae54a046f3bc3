package packet

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Options of a Reader.
type Options struct {
	Limits ingest.Limits
	// Policy says what a refused stream does when there are several.
	Policy ingest.Policy
	// Hold is how many bytes of packets wait for ranks that any stream may still have, whatever they skipped before: for streams
	// that end, so that windows may come in any order.
	Hold int64
}

// Reader joins the packets of its streams into windows; see the package
// comment for when a window closes. It is an ingest.WindowReader.
type Reader struct {
	limits  ingest.Limits
	policy  ingest.Policy
	hold    int64
	streams []*stream // by name
	heads   heads
	runs    map[string]*run
	order   []*run
	due     []*run          // whose first streams are still to be opened, ascending
	ready   []*trace.Window // closed, not handed out yet
	spare   spares
	used    int64 // bytes in open windows
	count   int64 // packets so far
	started bool
	emitted int64
	err     error
}

var _ ingest.WindowReader = (*Reader)(nil)

// NewReader reads all streams as one input. What it returns does not depend on
// their order. A stream whose R is an io.Closer is closed when it ends.
func NewReader(streams []Stream, o Options) *Reader {
	r := &Reader{limits: o.Limits.OrDefault(), policy: o.Policy, hold: o.Hold, runs: make(map[string]*run)}
	sorted := slices.Clone(streams)
	slices.SortStableFunc(sorted, func(a, b Stream) int { return cmp.Compare(a.Name, b.Name) })
	spill := &ingest.Spill{}
	for i, in := range sorted {
		s := &stream{name: in.Name, order: i, spare: &r.spare, limit: r.limits.Line, close: func() error { return nil }}
		read := func(from io.Reader) {
			s.lines = ingest.NewLines(from, in.Name, r.limits, spill)
			if c, ok := from.(io.Closer); ok {
				s.close = c.Close
			}
		}
		if in.R != nil {
			read(in.R)
		} else {
			s.begins, s.open = in.Run, func() error {
				from, err := in.Open()
				if err == nil {
					read(from)
				}
				return err
			}
		}
		r.streams = append(r.streams, s)
	}
	return r
}

// run returns the run of a name.
func (r *Reader) run(name string) *run {
	n := r.runs[name]
	if n == nil {
		n = &run{in: r, name: name, order: len(r.order), ranks: make(map[int]*member), shares: make(map[*stream]*share)}
		r.runs[name] = n
		r.order = append(r.order, n)
	}
	return n
}

// Summary is what was read of one stream so far.
type Summary struct {
	Name    string
	Packets int64
	Windows int64 // handed out with packets of this stream
	Unknown int64 // keys that were skipped
	Err     error // why the stream was refused; what was read before is kept
	Cut     bool  // it ends in the middle of a packet
}

// Summaries returns what was read of each stream, by name.
func (r *Reader) Summaries() []Summary {
	out := make([]Summary, len(r.streams))
	for i, s := range r.streams {
		out[i] = Summary{s.name, s.packets, s.windows, s.dec.Unknown, s.err, s.cut.Line > 0}
	}
	return out
}

// Next returns the next window. A stream that is refused ends the reading when
// it is the only one, or under the policy ingest.FirstError; otherwise
// Summaries tells, and the others are read on. When every stream was refused
// before there was a window, the first refusal is the error.
func (r *Reader) Next() (*trace.Window, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			r.Close()
			return nil, r.err
		}
		r.err = r.step()
	}
	w := r.ready[0]
	r.ready[0] = nil // it is the caller's
	r.ready = r.ready[1:]
	r.emitted++
	return w, nil
}

// Close closes the streams that are still open. No window comes after it.
func (r *Reader) Close() error {
	var errs []error
	for _, s := range r.streams {
		errs = append(errs, s.stop())
	}
	r.ready, r.heads = nil, nil
	if r.err == nil {
		r.err = io.EOF
	}
	return errors.Join(errs...)
}

// step takes the packet that is next and closes what need wait no more.
func (r *Reader) step() error {
	if !r.started {
		return r.start()
	}
	if begun, err := r.next(); begun || err != nil {
		return err
	}
	if len(r.heads) == 0 {
		return r.finish()
	}
	s := heap.Pop(&r.heads).(*stream)
	w := s.window
	w.heads--
	if err := r.deliver(w, s); err != nil {
		s.refuse(err)
	} else {
		s.advance()
	}
	if s.head != nil && (s.head.Run != w.run.name || s.head.Index != w.index) {
		// What is complete goes before an earlier window comes to stand before
		// it. What cannot be joined refuses its streams, perhaps s.
		if err := r.settle(w.run); err != nil {
			return err
		}
	}
	if s.head != nil {
		r.place(s)
		heap.Push(&r.heads, s)
	} else if err := r.finishStream(s); err != nil {
		return err
	}
	return r.relieve()
}

func (r *Reader) start() error {
	r.started = true
	for _, s := range r.streams {
		if s.begins == "" {
			if err := r.begin(s); err != nil {
				return err
			}
			continue
		}
		n := r.run(s.begins)
		if len(n.coming) == 0 {
			r.due = append(r.due, n)
		}
		n.coming = append(n.coming, s)
	}
	slices.SortFunc(r.due, func(a, b *run) int { return cmp.Compare(a.order, b.order) })
	return nil
}

// begin opens a stream, if it is not, and takes its first packet to hand.
func (r *Reader) begin(s *stream) error {
	if s.open != nil {
		if err := s.open(); ingest.Shortage(err) {
			return err
		} else if err != nil {
			s.refuse(err)
			return r.finishStream(s)
		}
	}
	if s.advance(); s.head == nil {
		return r.finishStream(s)
	}
	r.place(s)
	heap.Push(&r.heads, s)
	return nil
}

// next opens the streams of the run that is next, if they are not.
func (r *Reader) next() (begun bool, err error) {
	if len(r.due) == 0 || len(r.heads) > 0 && r.heads[0].window.run.order < r.due[0].order {
		return false, nil
	}
	n := r.due[0]
	for i, s := range n.coming {
		if err = r.begin(s); ingest.Shortage(err) {
			most := len(n.coming)
			return true, fmt.Errorf("%w: run %s has %d files, and %d of them are open: raise the limit (ulimit -n %d), or convert the run to an archive first", err, n.name, most, i, 2*most+spareFiles)
		}
		if err != nil {
			return true, err
		}
	}
	n.coming, r.due = nil, r.due[1:]
	return true, nil
}

// spareFiles is how many files a program has open beside its inputs, at most.
const spareFiles = 64

// place finds the window that the head of s belongs to.
func (r *Reader) place(s *stream) {
	p := s.head
	n := r.run(p.Run)
	s.window = n.openWindow(n.saw(s))
	s.window.heads++
}

// deliver puts the head of s into its window.
func (r *Reader) deliver(w *window, s *stream) error {
	if err := w.run.late(w.place, s.head); err != nil {
		return err
	}
	before := w.bytes
	if err := w.add(s.head); err != nil {
		return err
	}
	r.used += w.bytes - before
	if r.count++; w.arrival == 0 {
		w.arrival = r.count
	}
	w.sources[s] = struct{}{}
	return nil
}

// finishStream closes what the end of s leaves open. The error is not nil when a refusal of
// s ends the reading: then the windows that are complete still come.
func (r *Reader) finishStream(s *stream) error {
	if s.window != nil && s.cut.Line > 0 {
		s.window.run.cuts = append(s.window.run.cuts, s.cut)
	}
	if s.err != nil && (len(r.streams) == 1 || r.policy == ingest.FirstError) {
		for _, n := range r.order {
			for len(n.open) > 0 && n.open[0].complete() && r.closeFirst(n) == nil {
			}
		}
		return s.err
	}
	slices.SortFunc(s.runs, func(a, b *run) int { return cmp.Compare(a.order, b.order) })
	for _, n := range s.runs { // its ranks hold nothing back any more
		if err := r.settle(n); err != nil {
			return err
		}
	}
	return nil
}

// settle closes the first windows of n as long as nothing holds them back.
func (r *Reader) settle(n *run) error {
	for len(n.open) > 0 {
		w := n.open[0]
		if w.heads > 0 || len(w.parts) > 0 && (!w.complete() && n.isAwaited(w) || r.used < r.hold && !n.isNext(w)) {
			return nil
		}
		if err := r.closeFirst(n); err != nil {
			return err
		}
	}
	return nil
}

// closeFirst makes windows of the first open window of n. When its packets
// cannot be joined, the streams that they came from are refused.
func (r *Reader) closeFirst(n *run) error {
	w := n.open[0]
	n.open = slices.Delete(n.open, 0, 1)
	if len(w.parts) == 0 { // its only packet was refused
		return nil
	}
	r.used -= w.bytes
	for i, p := range w.parts {
		if i == 0 || w.parts[i-1].Rank.ID != p.Rank.ID {
			n.ranks[p.Rank.ID].open--
		}
	}
	n.remember(w)
	windows, err := w.join()
	for _, p := range w.parts {
		r.spare.give(p)
	}
	if err != nil {
		return r.reject(w, err)
	}
	for s := range w.sources {
		s.windows += int64(len(windows))
	}
	if len(n.cuts) > 0 {
		for _, j := range windows {
			j.Notes = append(j.Notes, n.cutNote())
		}
	}
	r.ready = append(r.ready, windows...)
	return nil
}

// join makes windows of the packets.
func (w *window) join() (_ []*trace.Window, err error) {
	defer bug.Contain("run "+w.run.name, &err)
	return trace.Join(w.parts)
}

// reject refuses all streams that packets of w came from.
func (r *Reader) reject(w *window, err error) error {
	for s := range w.sources {
		s.refuse(err)
	}
	if len(r.streams) == 1 || r.policy == ingest.FirstError {
		return err
	}
	r.heads = slices.DeleteFunc(r.heads, func(s *stream) bool {
		if s.closed {
			s.window.heads--
		}
		return s.closed
	})
	heap.Init(&r.heads)
	return nil
}

// finish closes everything that is open, in order.
func (r *Reader) finish() error {
	for _, n := range r.order {
		for len(n.open) > 0 {
			if err := r.closeFirst(n); err != nil {
				return err
			}
		}
	}
	if len(r.ready) > 0 {
		return nil
	}
	for _, s := range r.streams {
		if r.emitted == 0 && s.err != nil {
			return s.err
		}
	}
	return io.EOF
}

// relieve keeps what waits within the limit: past half of it the window that
// has waited longest is closed without the ranks that it waits for, unless
// they may still come because the input is ordered by rank.
func (r *Reader) relieve() error {
	for r.used > r.limits.Pending/2 {
		w := r.longest(func(w *window) bool { return w.heads == 0 && !w.run.mayBeRankOrdered() })
		if w == nil {
			break
		}
		if err := r.closeFirst(w.run); err != nil {
			return err
		}
		if err := r.settle(w.run); err != nil {
			return err
		}
	}
	if r.used <= r.limits.Pending {
		return nil
	}
	w := r.longest(func(*window) bool { return true })
	if w == nil { // the first windows have no packet yet
		w = r.firstWithPackets()
	}
	return input.At(w.parts[0].Pos, input.Bad(input.ErrTooLarge,
		"%d bytes of packets wait for rank %d of window %d of run %q, at most %d may: order the packets by window, or write one file per rank",
		r.used, w.waitFor, w.index, w.run.name, r.limits.Pending))
}

// firstWithPackets returns the window whose first packet came first, of all that are open; one is where packets wait.
func (r *Reader) firstWithPackets() (first *window) {
	for _, n := range r.order {
		for _, w := range n.open {
			if len(w.parts) > 0 && (first == nil || w.arrival < first.arrival) {
				first = w
			}
		}
	}
	return first
}

// longest returns the window that has waited longest among the first ones of each
// run that may be chosen.
func (r *Reader) longest(may func(*window) bool) *window {
	var longest *window
	for _, n := range r.order {
		for _, w := range n.open[:min(1, len(n.open))] {
			if len(w.parts) > 0 && may(w) && (longest == nil || w.arrival < longest.arrival) {
				longest = w
			}
		}
	}
	return longest
}

// heads is a heap of streams by the packet that they have at hand.
type heads []*stream

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(
		cmp.Compare(a.window.run.order, b.window.run.order),
		a.window.compare(b.window.place),
		cmp.Compare(a.head.FirstStep, b.head.FirstStep),
		cmp.Compare(a.head.Rank.ID, b.head.Rank.ID),
		cmp.Compare(a.order, b.order)) < 0
}

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(s any)   { *h = append(*h, s.(*stream)) }

func (h *heads) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}
