package comm

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace/comms"
)

// Clock is how a rank's clock runs against that of the first rank with kernels.
type Clock struct {
	Rank   int // index of Ranks
	Number int // of its process: ranks with the same one have one clock
	Fit
}

// Fit is how a clock runs against the first.
type Fit struct {
	clock.Clock
	Known bool // else: too few collectives in common
}

// compareClocks compares the clocks of profilers with that of the first rank's, directly or over
// others, by what they ended together.
func (r *Result) compareClocks(m *members) {
	n := 0
	for i := range r.Recorded.Processes {
		n = max(n, r.Recorded.Processes[i].Clock+1)
	}
	r.fits = make([]Fit, n)
	if r.Timeless { // the ends of operations are one clock's
		for c := range r.fits {
			r.fits[c].Known = true
		}
		return
	}
	first := slices.IndexFunc(r.Ranks, func(k Rank) bool { return k.Profile != comms.None })
	if first < 0 {
		return
	}
	reference := r.clockOf(first)
	placed := clock.Align(n, clock.Events{Ends: r.endsTogether(m), First: reference})
	var known func(c int) bool // directly or over others
	known = func(c int) bool {
		p := &placed[c]
		return c == reference || p.HasReference() && p.Points >= clock.MinPoints && known(p.By)
	}
	from := r.beginning(reference)
	for c := range placed {
		f := &r.fits[c]
		if f.Known = known(c); f.Known {
			f.Clock = placed[c].Clock
		}
		f.Offset, f.Epoch = f.AheadAt(from), from
	}
	for i := range r.Ranks {
		if c := r.clockOf(i); c != comms.None {
			r.Clocks = append(r.Clocks, Clock{Rank: i, Number: c, Fit: r.fits[c]})
		}
	}
}

// beginning returns when the first NVTX range or kernel was recorded by a clock.
func (r *Result) beginning(clock int) (first int64) {
	seen := false
	for i := range r.Recorded.Processes {
		if p := &r.Recorded.Processes[i]; p.Clock == clock && r.profiled[i] && (!seen || p.Begin < first) {
			first, seen = p.Begin, true
		}
	}
	return first
}

// endsTogether returns the readings of each collective's end, by certain matches.
func (r *Result) endsTogether(m *members) [][]clock.Reading {
	of := make(map[int]int) // communicators of sides
	for g := range m.list {
		for _, s := range m.list[g].Sides {
			if s != comms.None && m.list[g].Method != Alone {
				of[s] = g
			}
		}
	}
	all := make(map[launchKey][]clock.Reading)
	for side, byCount := range r.endsBySide() {
		g, ok := of[side]
		if !ok {
			continue
		}
		c := r.clockOf(m.sides[side].Process)
		for count, x := range byCount {
			if x.certain {
				key := launchKey{g, count}
				all[key] = append(all[key], clock.Reading{Clock: c, At: x.at})
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(x, y launchKey) int { return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.count, y.count)) })
	ends := make([][]clock.Reading, len(keys))
	for i, key := range keys {
		ends[i] = all[key]
	}
	return ends
}

// FirstClockTime brings a time of a rank's kernels to the clock of the first rank; known is false where the two do not
// compare.
func (r *Result) FirstClockTime(rank int, t int64) (at int64, known bool) {
	c := r.clockOf(rank)
	if c == comms.None || !r.fits[c].Known {
		return 0, false
	}
	return r.fits[c].Reference(t), true
}

// SharesFirstClock reports whether times of a rank are on the clock of the first one.
func (r *Result) SharesFirstClock(rank int) bool {
	if r.Timeless {
		return r.Ranks[rank].Profile != comms.None
	}
	at, has := slices.BinarySearchFunc(r.Clocks, rank, func(c Clock, rank int) int { return cmp.Compare(c.Rank, rank) })
	return has && r.Clocks[at].Known
}

// part returns a kernel of a rank as a part of what several ranks did: on the first clock, where the two compare, else on one that
// is that of no other rank's.
func (r *Result) part(m Match) Part {
	x, f := &r.Kernels(m.Rank)[m.Kernel], &r.fits[r.clockOf(m.Rank)]
	return Part{Rank: m.Rank, Call: m.Call, Kernel: m.Kernel, Start: f.Reference(x.Start), End: f.Reference(x.End)}
}

// CommunicatorOf returns the communicator that a call, an index of Calls, is on.
func (r *Result) CommunicatorOf(call int) (communicator int, ok bool) {
	g := r.Calls[call].Group
	if g == comms.None || g >= len(r.groupOf) || r.groupOf[g] == comms.None {
		return 0, false
	}
	return r.groupOf[g], true
}
