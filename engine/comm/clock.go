package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/engine/comm/group"
	"github.com/sfstat/sfstat/trace/comms"
)

// Clock is how a rank's clock runs against that of the first rank with kernels.
type Clock struct {
	Rank     int  // index of Ranks
	Clock    int  // of its process: ranks with the same one have one clock
	Known    bool // false: too few collectives in common
	Offset   int64
	Drift    float64 // nanoseconds in each nanosecond
	At       int64   // on the first clock, where Offset holds
	Residual int64   // median distance of a collective's end from the line
	Points   int     // collectives that say so
}

// fit is how a clock runs against the first.
type fit struct {
	clock.Clock
	known bool
}

// launchKey is a launch of a communicator: of one side, or of all ranks.
type launchKey struct {
	group int
	count int64
}

// compareClocks compares the clocks of profilers with that of the first rank's, directly or over
// others, by what they ended together.
func (r *Result) compareClocks(m *members) {
	n := 0
	for i := range r.Recorded.Processes {
		n = max(n, r.Recorded.Processes[i].Clock+1)
	}
	r.fits = make([]fit, n)
	if r.Timeless { // the ends of operations are one clock's
		for c := range r.fits {
			r.fits[c].known = true
		}
		return
	}
	reference := comms.None
	for i := range r.Ranks {
		if c := r.clockOf(i); c != comms.None && reference == comms.None {
			reference = c
		}
	}
	if reference == comms.None {
		return
	}
	ends := r.endsByClock(m, n)
	r.fits[reference] = fit{known: true, Clock: clock.Clock{Epoch: earliest(ends[reference])}}
	for queue := []int{reference}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for c := range n {
			if r.fits[c].known || len(ends[c]) == 0 {
				continue
			}
			if between, err := clock.Fit(sharedEnds(ends[from], ends[c])); err == nil {
				r.fits[c] = fit{known: true, Clock: r.fits[from].Then(between)}
				queue = append(queue, c)
			}
		}
	}
	for c, from := 0, r.beginning(reference); c < n; c++ {
		f := &r.fits[c]
		f.Offset, f.Epoch = f.AheadAt(from), from
	}
	for i := range r.Ranks {
		if c := r.clockOf(i); c != comms.None {
			f := &r.fits[c]
			r.Clocks = append(r.Clocks, Clock{Rank: i, Clock: c, Known: f.known, Offset: f.Offset, Drift: f.Drift, At: f.Epoch,
				Residual: f.Residual, Points: f.Points})
		}
	}
}

// beginning is when the first NVTX range or kernel was recorded by a clock.
func (r *Result) beginning(clock int) (first int64) {
	seen := false
	for i := range r.Recorded.Processes {
		if p := &r.Recorded.Processes[i]; p.Clock == clock && r.profiled[i] && (!seen || p.Begin < first) {
			first, seen = p.Begin, true
		}
	}
	return first
}

// moment is when a collective ended on a clock: the mean over its ranks
// there. One that is far off is of a pairing that Fit leaves out.
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

// endsByClock is when each collective ended on each of n clocks, by certain matches.
func (r *Result) endsByClock(m *members, n int) []map[launchKey]moment {
	of := make(map[int]int) // communicators of sides
	for g := range m.list {
		for _, s := range m.list[g].Sides {
			if s != comms.None && m.list[g].Method != group.Alone {
				of[s] = g
			}
		}
	}
	all := make([]map[launchKey][]int64, n)
	for side, byCount := range r.endsBySide() {
		g, ok := of[side]
		if !ok {
			continue
		}
		c := r.clockOf(m.sides[side].Process)
		for count, x := range byCount {
			if x.certain {
				if all[c] == nil {
					all[c] = map[launchKey][]int64{}
				}
				key := launchKey{g, count}
				all[c][key] = append(all[c][key], x.at)
			}
		}
	}
	out := make([]map[launchKey]moment, n)
	for c := range all {
		out[c] = make(map[launchKey]moment, len(all[c]))
		for key, ends := range all[c] {
			out[c][key] = momentOf(ends)
		}
	}
	return out
}

// sharedEnds are what two clocks saw end together. The ranks' ends scatter alike
// and by themselves, so that a mean of many tells more.
func sharedEnds(first, second map[launchKey]moment) (list []clock.Point) {
	for key, here := range first {
		if there, ok := second[key]; ok {
			list = append(list, clock.Point{At: here.at, Ahead: there.at - here.at,
				Weight: float64(here.ranks*there.ranks) / float64(here.ranks+there.ranks)})
		}
	}
	slices.SortFunc(list, func(x, y clock.Point) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Ahead, y.Ahead)) })
	return list
}

func earliest(ends map[launchKey]moment) (t int64) {
	for _, end := range ends {
		if t == 0 || end.at < t {
			t = end.at
		}
	}
	return t
}

// OnFirstClock brings a time of a rank's kernels to the clock of the first rank; known is false where the two do not
// compare.
func (r *Result) OnFirstClock(rank int, t int64) (at int64, known bool) {
	c := r.clockOf(rank)
	if c == comms.None || !r.fits[c].known {
		return 0, false
	}
	return r.fits[c].Reference(t), true
}

// Placed reports whether times of a rank are on the clock of the first one.
func (r *Result) Placed(rank int) bool {
	if r.Timeless {
		return r.Ranks[rank].Profile != comms.None
	}
	at, has := slices.BinarySearchFunc(r.Clocks, rank, func(c Clock, rank int) int { return cmp.Compare(c.Rank, rank) })
	return has && r.Clocks[at].Known
}

// part is a kernel of a rank as a part of what several ranks did: on the first clock, where the two compare, else on one that
// is that of no other rank's.
func (r *Result) part(m Match) Part {
	x, f := &r.Kernels(m.Rank)[m.Kernel], &r.fits[r.clockOf(m.Rank)]
	return Part{Rank: m.Rank, Call: m.Call, Kernel: m.Kernel, Start: f.Reference(x.Start), End: f.Reference(x.End)}
}

// CommunicatorOf is the communicator that a call, an index of Calls, is on.
func (r *Result) CommunicatorOf(call int) (communicator int, ok bool) {
	g := r.Calls[call].Group
	if g == comms.None || g >= len(r.groupOf) || r.groupOf[g] == comms.None {
		return 0, false
	}
	return r.groupOf[g], true
}
