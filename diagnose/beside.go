package diagnose

import (
	"slices"
	"sync/atomic"

	"github.com/sfstat/sfstat/engine/comm/arrivals"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Beside has sessions work on the stretches of a run side by side, with the accounts of the windows in
// them: what they find does not depend on it. Several sessions may share one.
type Beside struct {
	room    chan struct{} // stretches that are looked at
	release func(*trace.Window)
	memory  memory
}

// memory is that of a few stretches which were looked at. The collector would free it, to be allocated
// again for the next.
type memory chan *points.Memory

func (m memory) take() *points.Memory {
	select {
	case x := <-m:
		return x
	default:
		return new(points.Memory)
	}
}

func (m memory) put(x *points.Memory) {
	select {
	case m <- x:
	default:
	}
}

// NewBeside bounds how many stretches are looked at at a time, each of which takes some tens of
// megabytes. A window that was added is lent: it is left alone until it comes back by release,
// which is called by several goroutines.
func NewBeside(stretches int, release func(*trace.Window)) *Beside {
	stretches = max(1, stretches)
	return &Beside{make(chan struct{}, stretches), release, make(memory, stretches)}
}

// enter waits until one stretch more may be looked at; a nil Beside bounds nothing.
func (b *Beside) enter() {
	if b != nil {
		b.room <- struct{}{}
	}
}

func (b *Beside) leave() {
	if b != nil {
		<-b.room
	}
}

// windowLoan is a window whose times are used where they lie, until all its steps were looked at and it has
// its account.
type windowLoan struct {
	w       *trace.Window
	book    book
	before  *frontier.Border
	account *frontier.Analysis
	uses    atomic.Int32
}

// lend takes a window for one use more.
func (l *windowLoan) lend() {
	if l != nil {
		l.uses.Add(1)
	}
}

// giveBack ends a use. After the last one nothing of a window is kept but what it says of itself.
func (l *windowLoan) giveBack(to *Beside) {
	if l == nil || l.uses.Add(-1) > 0 {
		return
	}
	to.release(l.w)
}

// addLent adds a window whose account is made with those of its stretch. It is in use until it is given
// back.
func (s *Session) addLent(r *run, w *trace.Window) *windowLoan {
	if n := len(r.lent); n > 0 && equalRanks(r.lent[n-1].w.Ranks, w.Ranks) {
		w.Ranks = r.lent[n-1].w.Ranks // kept once
	}
	of := &windowLoan{w: w, book: r.bookOf(w), before: r.border}
	of.lend()
	r.border = frontier.BorderOf(w)
	r.record(w, s, of)
	r.between.add(w)
	r.lent = append(r.lent, of)
	return of
}

func equalRanks(a, b []trace.Rank) bool {
	return slices.EqualFunc(a, b, func(a, b trace.Rank) bool {
		return a.ID == b.ID && a.Host == b.Host && a.LocalRank == b.LocalRank && slices.Equal(a.Role, b.Role)
	})
}

// takeAccounts takes the accounts of all windows that were lent. entered is what all entries of calls show; nil: more may
// be recorded.
func (r *run) takeAccounts(entered *arrivals.Result) {
	if len(r.lent) == 0 {
		return
	}
	r.steps.end(r.runCuts(entered))
	for _, of := range r.lent {
		r.keep(of.w, of.account, of.book)
	}
	r.lent = nil
}

// accounts is how the windows of a series are accounted for, once their steps have shown where the ranks
// synchronise.
type accounts struct {
	o     frontier.Options
	point *frontier.SyncPoint // all ranks, once a step; nil: it is not as simple
	// series accounts for windows in their order, where it is not.
	series *frontier.Series
}

// newAccounts chooses by the first stretch. nil: no windows are lent.
func newAccounts(d *division, of stretch, o frontier.Options) *accounts {
	first := of.windows[0]
	if first.of == nil {
		return nil
	}
	a := &accounts{o: o, series: frontier.NewSeries(o)}
	plain := len(d.Points) == 1 && d.Every == 0 && d.Stages[d.Points[0].Stage].Role != points.Rest && len(d.Within) == 0 && d.Peers == nil && d.run.Peers == nil && first.DataWait == trace.DataWaitConsuming &&
		(o.Cut == frontier.CutAuto || o.Cut == frontier.CutSync)
	if !plain {
		return a
	}
	at := syncPoint(d)
	if differ, err := frontier.RolesDiffer(first.of.w, *at, o); err == nil && !differ {
		a.point = at
	}
	return a
}

// syncPoint returns the only synchronisation point of a division.
func syncPoint(d *division) *frontier.SyncPoint {
	p := d.Points[0]
	out := &frontier.SyncPoint{At: p.Stage, Name: d.Stages[p.Stage].Name, Evidence: p.Evidence}
	out.Boundaries = []frontier.Boundary{{Name: out.Name, Point: p, Syncs: true}}
	for _, k := range d.Perhaps {
		name := d.Stages[k].Name
		if d.Stages[k].Role == points.Rest {
			name = stagename.Residual
		}
		out.Boundaries = append(out.Boundaries, frontier.Boundary{Name: name, Point: points.Point{Stage: k, Slope: -1, Low: -1, High: -1}})
	}
	return out
}

// accountInOrder accounts for the windows that end in a stretch, where each rests on those before it.
func (a *accounts) accountInOrder(of stretch) {
	if a == nil || a.point != nil {
		return
	}
	for _, w := range of.windows {
		if w.last {
			account, err := a.series.Add(w.of.w)
			if err != nil {
				panic("frontier: " + err.Error()) // options that fit no window
			}
			w.of.account, w.of.before = account, nil
		}
	}
}

// accountEach accounts for every completed window of a stretch whose analysis takes no account.
func (a *accounts) accountEach(of stretch) {
	if a == nil || a.point == nil {
		return
	}
	for _, w := range of.windows {
		if w.last {
			w.of.account, w.of.before = frontier.Brief(w.of.w, w.of.before, *a.point, a.o), nil
		}
	}
}
