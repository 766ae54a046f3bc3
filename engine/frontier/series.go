package frontier

import (
	"slices"
	"sync"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// Series accounts for the windows of one run, one after the other. A recorder
// closes a window every so many steps and the job does not notice: windows that
// follow each other without a gap are one series of steps, and a delay in the
// last step of one is charged when the ranks synchronise in the next.
//
// What is kept between windows is the last recorded steps, how far apart the
// ranks were: O(S·R) however many windows.
type Series struct {
	o      Options
	before *Border
	slopes slopeHistory
}

// buffers are kept from window to window, of whatever run. What lies in them is of the
// window that is accounted for; no result refers to it.
type buffers struct {
	durations, wall, residual, took, block []int64
	arrived, busy, ended, reached          []int64
	middles                                []robust.Middle
	reach                                  []int64 // [stage] of cohortMedians
}

var spare = sync.Pool{New: func() any { return new(buffers) }}

// sized is a buffer with room for n values, which are whatever they were.
func sized[T any](buffer *[]T, n int) []T {
	*buffer = slices.Grow((*buffer)[:0], n)[:n]
	return *buffer
}

// NewSeries starts a series. Options.Reference must fit all its windows.
func NewSeries(o Options) *Series { return &Series{o: o} }

// Add accounts for the next validated window. Where it follows the one before,
// the sync cut begins at that one's last synchronisation point: its first step
// is then the last of the window before. Errors and cost as Analyze.
func (s *Series) Add(w *trace.Window) (*Analysis, error) {
	s.turnTo(w)
	a, ran, err := s.account(w)
	if err != nil {
		return nil, err
	}
	s.before = BorderOf(w)
	s.before.apart = ran
	return a, nil
}

// account accounts for a window. ran is how far apart it leaves ranks whose prefixes run on.
func (s *Series) account(w *trace.Window) (a *Analysis, ran []int64, err error) {
	keep := spare.Get().(*buffers)
	defer spare.Put(keep)
	p, err := prepare(w, s.o, s, keep)
	if err != nil {
		return nil, nil, err
	}
	a, accounts := p.analyze()
	if p.cut == CutCarried && p.point.At < 0 {
		ran = apart(accounts[0].acc.last())
	}
	return a, ran, nil
}

// turnTo forgets what does not go on in w.
func (s *Series) turnTo(w *trace.Window) {
	if !s.before.continues(w) {
		s.before = nil
	}
	if s.before == nil || !s.slopes.fits(w) {
		s.slopes = newSlopeHistory(w)
	}
}

// Border is what is kept of a window for the one that follows it.
type Border struct {
	last  trace.Window // its last steps, two at the most
	end   int64        // the step that follows
	apart []int64      // [rank] carried prefixes beyond the first rank's, nil unless they run on
}

// contextSteps is how many steps of the window before are needed: the last, and
// the one before it where that holds the last's data wait.
const contextSteps = 2

// BorderOf copies the last steps of a window.
func BorderOf(w *trace.Window) *Border {
	n := min(contextSteps, w.Steps())
	b := &Border{last: *w, end: w.FirstStep + int64(w.Steps())}
	per, R := len(w.Schema.Stages)*len(w.Ranks), len(w.Ranks)
	b.last.FirstStep = b.end - int64(n)
	b.last.Durations = slices.Clone(w.Durations[(w.Steps()-n)*per:])
	if w.Wall != nil {
		b.last.Wall = slices.Clone(w.Wall[(w.Steps()-n)*R:])
	}
	b.last.Side, b.last.Notes, b.last.GatherFailed = nil, nil, nil
	return b
}

// continues reports whether a window goes on where the border is, with the
// same ranks and stages.
func (b *Border) continues(w *trace.Window) bool {
	if b == nil {
		return false
	}
	l := &b.last
	sameRank := func(p, q trace.Rank) bool { return p.ID == q.ID }
	return l.Run == w.Run && b.end == w.FirstStep && l.WorldSize == w.WorldSize && l.Schema.Equal(w.Schema) &&
		max(1, l.Accumulation) == max(1, w.Accumulation) && l.DataWait == w.DataWait &&
		(l.Wall == nil) == (w.Wall == nil) && slices.EqualFunc(l.Ranks, w.Ranks, sameRank)
}

// before puts the steps of the border in front of a window; lead is their number.
func (b *Border) join(w *trace.Window, keep *buffers) (joined *trace.Window, lead int) {
	if b == nil {
		return w, 0
	}
	n := 1
	if w.DataWait == trace.DataWaitPreceding {
		n = min(contextSteps, b.last.Steps())
	}
	per, R, from := len(w.Schema.Stages)*len(w.Ranks), len(w.Ranks), b.last.Steps()-n
	out := *w
	out.FirstStep -= int64(n)
	keep.durations = append(append(keep.durations[:0], b.last.Durations[from*per:]...), w.Durations...)
	out.Durations = keep.durations
	if w.Wall != nil {
		keep.wall = append(append(keep.wall[:0], b.last.Wall[from*R:]...), w.Wall...)
		out.Wall = keep.wall
	}
	return &out, n
}

// apart is by how much prefixes lie beyond the first.
func apart(prefix []int64) []int64 {
	out, first := slices.Clone(prefix), slices.Min(prefix)
	for r := range out {
		out[r] -= first
	}
	return out
}

// sinceSync is how far each rank has got since the last synchronisation
// point of the steps before the window, beyond the first.
func sinceSync(m *rows, after int) []int64 {
	x := make([]int64, len(m.w.Ranks))
	for s := after + 1; s < len(m.names); s++ {
		addTo(x, m.at(m.lead-1, s))
	}
	return apart(x)
}
