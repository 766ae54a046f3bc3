package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
)

// Series accounts for the windows of one run, one after the other. A recorder
// closes a window every so many steps and the job does not notice: windows that
// follow each other without a gap are one series of steps, and a delay in the
// last step of one is charged when the ranks synchronise in the next.
//
// What is kept between windows is the last recorded steps, how far apart the
// ranks were, and the first steps of all: O(S·R) however many windows.
type Series struct {
	o      Options
	before *Border
	first  *history
	known  *history // nil: nobody has told
}

// NewSeries starts a series. Options.Reference must fit all its windows.
func NewSeries(o Options) *Series { return &Series{o: o} }

// Know tells a series where the ranks of windows like one synchronise, by what [points.Find] says of their steps: it does not look for
// that itself. Their data waits must be those of the steps themselves ([trace.DataWaitConsuming], or none).
func (s *Series) Know(like *trace.Window, found points.Found) {
	s.known = &history{schema: like.Schema, ranks: like.Ranks, walled: like.Wall != nil, found: found, known: true, at: -1}
}

// historyOf returns what is known of where the ranks of a window synchronise.
func (s *Series) historyOf(w *trace.Window) *history {
	if s.known != nil && s.known.matches(w) {
		return s.known
	}
	return s.first
}

// Add accounts for the next validated window, without values that cannot be unless the paper's
// cut was asked for. Where it follows the one before,
// the sync cut begins at that one's last synchronisation point: its first step
// is then the last of the window before. Errors and cost as Analyze.
func (s *Series) Add(w *trace.Window) (*Analysis, error) {
	a, _, err := s.add(w)
	return a, err
}

// AddDetailed adds a window as Add does, with the detail of the account over all ranks.
func (s *Series) AddDetailed(w *trace.Window) (*Analysis, *Detail, error) {
	a, main, err := s.add(w)
	if err != nil {
		return nil, nil, err
	}
	return a, main.detail(), nil
}

func (s *Series) add(w *trace.Window) (*Analysis, *accounting, error) {
	if s.o.Cut != CutStep {
		w = setAside(w)
	}
	if s.before == nil || !s.before.continuesRun(w) {
		s.first = &history{}
	}
	if !s.before.continues(w) {
		s.before = nil
	}
	p, err := prepare(w, s.o, s)
	if err != nil {
		return nil, nil, err
	}
	a, main := p.analyze()
	s.before = BorderOf(w)
	if p.cut == CutCarried && p.point.At < 0 {
		s.before.apart = subtractFirst(main.acc.last)
	}
	return a, main, nil
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
	T := w.Steps()
	b := &Border{last: *stepsFrom(w, T-min(contextSteps, T), T), end: w.StepAt(T)}
	b.last.Durations, b.last.Wall = slices.Clone(b.last.Durations), slices.Clone(b.last.Wall)
	b.last.Side, b.last.Notes, b.last.GatherFailed = nil, nil, nil
	return b
}

// stepsFrom returns the steps [from, to) of a window.
func stepsFrom(w *trace.Window, from, to int) *trace.Window {
	out, R := *w, len(w.Ranks)
	per := len(w.Schema.Stages) * R
	out.FirstStep = w.StepAt(from)
	out.Durations = w.Durations[from*per : to*per]
	if w.Wall != nil {
		out.Wall = w.Wall[from*R : to*R]
	}
	return &out
}

// continues reports whether a window goes on where the border is, with the
// same ranks and stages.
func (b *Border) continues(w *trace.Window) bool {
	return b != nil && b.end == w.FirstStep && b.continuesRun(w)
}

// continuesRun reports whether a window is of the same run, ranks and stages.
func (b *Border) continuesRun(w *trace.Window) bool {
	l := &b.last
	sameRank := func(p, q trace.Rank) bool { return p.ID == q.ID }
	return l.Run == w.Run && l.WorldSize == w.WorldSize && l.Schema.Equal(w.Schema) &&
		max(1, l.Accumulation) == max(1, w.Accumulation) && l.DataWait == w.DataWait &&
		(l.Wall == nil) == (w.Wall == nil) && slices.EqualFunc(l.Ranks, w.Ranks, sameRank)
}

// chargeDataWait returns a window that follows a border (nil: none), and the step before it, with data waits in the steps that consume
// the batches; unsafe where it is not known which do.
func (b *Border) chargeDataWait(w *trace.Window) (charged, before *trace.Window, unsafe bool) {
	all := w
	if b != nil && w.DataWait == trace.DataWaitPreceding {
		joined := *w
		joined.FirstStep = b.last.FirstStep
		joined.Durations = slices.Concat(b.last.Durations, w.Durations)
		if w.Wall != nil {
			joined.Wall = slices.Concat(b.last.Wall, w.Wall)
		}
		all = &joined
	}
	all, unsafe = chargeDataWait(all)
	switch lead := all.Steps() - w.Steps(); {
	case lead > 0:
		return stepsFrom(all, lead, all.Steps()), stepsFrom(all, lead-1, lead), unsafe
	case b != nil && all == w:
		return w, stepsFrom(&b.last, b.last.Steps()-1, b.last.Steps()), unsafe
	}
	return all, nil, unsafe
}

// subtractFirst returns by how much prefixes lie beyond the first.
func subtractFirst(prefix []int64) []int64 {
	out, first := slices.Clone(prefix), slices.Min(prefix)
	for r := range out {
		out[r] -= first
	}
	return out
}
