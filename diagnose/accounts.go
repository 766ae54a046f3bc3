package diagnose

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// heldWindow is a window whose times are held until all its steps were looked at and it has its account, which is made once its
// stretch has shown where the ranks synchronise.
type heldWindow struct {
	w       *trace.Window
	book    book
	before  *frontier.Border   // of a window that is lent
	account *frontier.Analysis // nil: not made yet
	passing bool               // account is of one verdict: the next steps may show better where the ranks synchronise
	uses    atomic.Int32
	release func(*trace.Window) // takes it back after its last use
}

// hold takes a window for one use more.
func (h *heldWindow) hold() { h.uses.Add(1) }

// giveBack ends a use. After the last one nothing of a window is kept but what it says of itself.
func (h *heldWindow) giveBack() {
	if h.uses.Add(-1) == 0 {
		h.release(h.w)
	}
}

// copyWindow returns a window as its account needs it, which the caller may then change.
func copyWindow(w *trace.Window) *trace.Window {
	out := *w
	out.Ranks, out.Durations, out.Wall, out.Side = slices.Clone(w.Ranks), slices.Clone(w.Durations), slices.Clone(w.Wall), slices.Clone(w.Side)
	for i := range out.Side {
		out.Side[i].Samples = slices.Clone(out.Side[i].Samples)
	}
	return &out
}

// dropTimes drops the times of a window that was copied.
func dropTimes(w *trace.Window) { w.Durations, w.Wall, w.Side = nil, nil, nil }

// holdWindow adds a window to a run: as it is, where windows are lent, or else a copy of it. Its first use is that of the caller.
func (s *Session) holdWindow(r *run, w *trace.Window, lent bool) *heldWindow {
	of := &heldWindow{w: w, book: r.bookOf(w), release: dropTimes}
	if lent {
		of.before, of.release = r.border, s.o.Beside.release
		r.border = frontier.BorderOf(w)
	} else {
		of.w = copyWindow(w)
	}
	if n := len(r.held); n > 0 && equalRanks(r.held[n-1].w.Ranks, w.Ranks) {
		of.w.Ranks = r.held[n-1].w.Ranks // kept once
	}
	of.hold()
	r.record(of, s)
	r.between.add(of.w)
	r.held = append(r.held, of)
	return of
}

func equalRanks(a, b []trace.Rank) bool {
	return slices.EqualFunc(a, b, func(a, b trace.Rank) bool {
		return a.ID == b.ID && a.Host == b.Host && a.LocalRank == b.LocalRank && slices.Equal(a.Role, b.Role)
	})
}

// takeAccounts takes the accounts that are made, in the order of the windows, and returns these.
func (r *run) takeAccounts() (taken []*heldWindow) {
	n := 0
	for ; n < len(r.held) && r.held[n].account != nil; n++ {
		r.keep(r.held[n].w, r.held[n].account, r.held[n].book)
	}
	taken, r.held = r.held[:n], r.held[n:]
	return taken
}

// forVerdict returns a copy of the run that takes the accounts of all its windows, without a change of the run, whose passing ones are made again
// for the next verdict.
func (r *run) forVerdict() *run {
	out := *r
	out.windows, out.books, out.lost, out.dropped = slices.Clip(r.windows), slices.Clip(r.books), slices.Clone(r.lost), maps.Clone(r.dropped)
	if r.sample != nil {
		out.sample, out.later.sample = r.sample.Clone(), *r.later.sample.Clone()
	}
	return &out
}

// dropPassing drops the accounts that are of one verdict.
func (r *run) dropPassing() {
	for _, h := range r.held {
		if h.passing {
			h.account, h.passing = nil, false
		}
	}
}

// accounts is how the windows of a series are accounted for, once their steps have shown where the ranks
// synchronise.
type accounts struct {
	o       frontier.Options
	passing bool                // the accounts are of one verdict
	point   *frontier.SyncPoint // all ranks, once a step, of windows that are lent; nil: it is not as simple
	// series accounts for windows in their order, where it is not.
	series *frontier.Series
}

// newAccounts returns the accounts of a series of which nothing is known yet.
func newAccounts(o frontier.Options) *accounts {
	return &accounts{o: o, series: frontier.NewSeries(o)}
}

// know takes from the first stretch of a series where the ranks synchronise.
func (a *accounts) know(d *division, of stretch, in *steps) {
	like := of.windows[0].of.w
	sameRank := func(id int, r trace.Rank) bool { return id == r.ID }
	if in.named != "" || like.DataWait == trace.DataWaitPreceding || d.Missing != nil || d.at.walled != (like.Wall != nil) || !slices.EqualFunc(d.at.ranks, like.Ranks, sameRank) {
		return // the steps of the windows are not those of the division
	}
	a.series.Know(like, d.Found)
	plain := in.beside != nil && len(d.Points) == 1 && d.Every == 0 && d.Stages[d.Points[0].Stage].Role != points.Rest && len(d.Within) == 0 && d.Peers == nil && d.run.Peers == nil &&
		like.DataWait == trace.DataWaitConsuming && (a.o.Cut == frontier.CutAuto || a.o.Cut == frontier.CutSync)
	if !plain {
		return
	}
	at := syncPoint(d)
	if differ, err := frontier.RolesDiffer(like, *at, a.o); err == nil && !differ {
		a.point = at
	}
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

// accountInOrder accounts for the windows that end in a stretch and have no account, where each rests on those before it.
func (a *accounts) accountInOrder(of stretch) {
	if a.point != nil {
		return
	}
	for _, w := range of.windows {
		if w.last && w.of.account == nil {
			account, err := a.series.Add(w.of.w)
			if err != nil {
				panic("frontier: " + err.Error()) // options that fit no window
			}
			w.of.account, w.of.before, w.of.passing = account, nil, a.passing
		}
	}
}

// accountEach accounts for every window that ends in a stretch, where its account rests on no other.
func (a *accounts) accountEach(of stretch) {
	if a.point == nil {
		return
	}
	for _, w := range of.windows {
		if w.last {
			w.of.account, w.of.before = frontier.Brief(w.of.w, w.of.before, *a.point, a.o), nil
		}
	}
}
