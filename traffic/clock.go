package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/engine/comm"
)

// fit is how the clock of an export runs against that of the first.
type fit struct {
	clock.Clock
	known bool
}

// meetingKey is one collective, on all its ranks.
type meetingKey struct {
	group int
	count uint64
}

// clocks compares the clocks of exports with that of the first rank's, directly or over
// others, by what they ended together.
func (a *assembly) clocks() {
	n := len(a.in.Exports)
	a.r.fits = make([]fit, n)
	if a.r.Timeless { // the ends of operations are one clock's
		for e := range a.r.fits {
			a.r.fits[e].known = true
		}
		return
	}
	reference := None
	for i := range a.r.Ranks {
		if e := a.r.Ranks[i].Export; e != None && reference == None {
			reference = e
		}
	}
	if reference == None {
		return
	}
	ends := a.endsByExport()
	a.r.fits[reference] = fit{known: true, Clock: clock.Clock{Epoch: earliest(ends[reference])}}
	for queue := []int{reference}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for e := range n {
			if a.r.fits[e].known {
				continue
			}
			if c, err := clock.Fit(meetingsOf(ends[from], ends[e])); err == nil {
				a.r.fits[e] = fit{known: true, Clock: a.r.fits[from].Then(c)}
				queue = append(queue, e)
			}
		}
	}
	for e, from := 0, a.beginning(reference); e < n; e++ {
		f := &a.r.fits[e]
		f.Offset, f.Epoch = f.AheadAt(from), from
	}
	for i := range a.r.Ranks {
		if e := a.r.Ranks[i].Export; e != None {
			f := &a.r.fits[e]
			a.r.Clocks = append(a.r.Clocks, Clock{Rank: i, Export: e, Known: f.known, Offset: f.Offset, Drift: f.Drift, At: f.Epoch,
				Residual: f.Residual, Meetings: f.Points})
		}
	}
}

// beginning is when the first NVTX range or kernel of an export began.
func (a *assembly) beginning(export int) int64 {
	all := a.in.Exports[export].Processes
	first := all[0].First
	for i := range all {
		first = min(first, all[i].First)
	}
	return first
}

// moment is when a collective ended on the clock of an export: the mean over its ranks
// there. One that is far off is of a meeting that Fit leaves out.
type moment struct {
	at    int64
	ranks int
}

func momentOf(ends []int64) moment {
	first, after := slices.Min(ends), int64(0)
	for _, at := range ends {
		after += at - first
	}
	return moment{first + after/int64(len(ends)), len(ends)}
}

// endsByExport is when each collective ended on the clock of each export, by certain matches.
func (a *assembly) endsByExport() []map[meetingKey]moment {
	group := map[int]int{}
	for g := range a.groups {
		for _, s := range a.groups[g].Sides {
			if s != comm.None && a.groups[g].Method != comm.Alone {
				group[s] = g
			}
		}
	}
	all := make([]map[meetingKey][]int64, len(a.in.Exports))
	for e := range all {
		all[e] = map[meetingKey][]int64{}
	}
	for side, byCount := range a.endsBySide() {
		g, ok := group[side]
		if !ok {
			continue
		}
		e := a.r.Ranks[a.sides[side].Process].Export
		for count, x := range byCount {
			if x.certain {
				key := meetingKey{g, count}
				all[e][key] = append(all[e][key], x.at)
			}
		}
	}
	out := make([]map[meetingKey]moment, len(all))
	for e := range all {
		out[e] = make(map[meetingKey]moment, len(all[e]))
		for key, ends := range all[e] {
			out[e][key] = momentOf(ends)
		}
	}
	return out
}

// meetingsOf are what two exports ended together. The ranks' ends scatter alike
// and by themselves, so that a mean of many tells more.
func meetingsOf(first, second map[meetingKey]moment) (list []clock.Point) {
	for key, here := range first {
		if there, ok := second[key]; ok {
			list = append(list, clock.Point{At: here.at, Ahead: there.at - here.at,
				Weight: float64(here.ranks*there.ranks) / float64(here.ranks+there.ranks)})
		}
	}
	slices.SortFunc(list, func(x, y clock.Point) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Ahead, y.Ahead)) })
	return list
}

func earliest(ends map[meetingKey]moment) (t int64) {
	for _, end := range ends {
		if t == 0 || end.at < t {
			t = end.at
		}
	}
	return t
}

// OnFirstClock brings a time of a rank's export to the clock of the first rank; known is false where the two do not
// compare.
func (r *Result) OnFirstClock(rank int, t int64) (at int64, known bool) {
	e := r.Ranks[rank].Export
	if e == None || !r.fits[e].known {
		return 0, false
	}
	return r.fits[e].Reference(t), true
}

// GroupOf is the communicator that a side, an index of Log.Communicators, belongs to.
func (r *Result) GroupOf(side int) (communicator int, ok bool) {
	communicator, ok = r.groupOf[side]
	return communicator, ok
}

// firstTime brings a time of an export to the clock of the first; ok is false where the clocks do not compare.
func (a *assembly) firstTime(export int, t int64) (int64, bool) {
	f := &a.r.fits[export]
	return f.Reference(t), f.known
}
