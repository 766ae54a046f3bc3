package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
)

// fit is how the clock of an export runs against that of the first.
type fit struct {
	comm.Clock
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
	a.r.fits[reference] = fit{known: true, Clock: comm.Clock{Epoch: earliest(ends[reference])}}
	for queue := []int{reference}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for e := range n {
			if a.r.fits[e].known {
				continue
			}
			if c, err := comm.Fit(meetingsOf(ends[from], ends[e])); err == nil {
				a.r.fits[e] = fit{known: true, Clock: chain(a.r.fits[from].Clock, c)}
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
				Residual: f.Residual, Meetings: f.Meetings})
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

// chain is the clock that runs as b against a clock that runs as a against the first.
func chain(a, b comm.Clock) comm.Clock {
	c := b
	c.Epoch = a.First(b.Epoch)
	c.Offset = b.Offset + a.AheadAt(c.Epoch)
	c.Drift = (1+a.Drift)*(1+b.Drift) - 1
	return c
}

// endsByExport is when each collective ended on the clock of each export: the median over its ranks
// there, of certain matches.
func (a *assembly) endsByExport() []map[meetingKey]int64 {
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
	out := make([]map[meetingKey]int64, len(all))
	for e := range all {
		out[e] = map[meetingKey]int64{}
		for key, list := range all[e] {
			slices.Sort(list)
			out[e][key] = list[len(list)/2]
		}
	}
	return out
}

func meetingsOf(first, second map[meetingKey]int64) (list []comm.Meeting) {
	for key, at := range first {
		if there, ok := second[key]; ok {
			list = append(list, comm.Meeting{At: at, Ahead: there - at})
		}
	}
	slices.SortFunc(list, func(x, y comm.Meeting) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Ahead, y.Ahead)) })
	return list
}

func earliest(ends map[meetingKey]int64) (t int64) {
	for _, at := range ends {
		if t == 0 || at < t {
			t = at
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
	return r.fits[e].First(t), true
}

// GroupOf is the communicator that a side, an index of Log.Communicators, belongs to.
func (r *Result) GroupOf(side int) (communicator int, ok bool) {
	communicator, ok = r.groupOf[side]
	return communicator, ok
}

// firstTime brings a time of an export to the clock of the first; ok is false where the clocks do not compare.
func (a *assembly) firstTime(export int, t int64) (int64, bool) {
	f := &a.r.fits[export]
	return f.First(t), f.known
}
