package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Collective is one collective on all its ranks, on the clock of the first rank, or, if that of its export does not compare with
// it and all ranks are in that export, on that. It began when its last
// rank came: before that the others wait.
type Collective struct {
	Communicator int // index of Communicators
	Count        uint64
	Op           nccl.Op
	Bytes        int64  // of one rank: the calls of its kernel, count × size of the type
	Parts        []Part // by rank
	Last         int    // of Parts: who came last
	Begin, End   int64  // when the last came, and the median end
	Certain      bool   // all matches are
}

// Part is one rank's part.
type Part struct {
	Rank       int // index of Ranks
	Call       int // of Log.Calls, the first of its kernel
	Kernel     int
	Start, End int64
	Own        int64 // of what it came later than the (lower) median, what began with the rank itself
}

// Whole says whether all ranks of its communicator were seen.
func (c *Collective) Whole(r *Result) bool {
	return len(c.Parts) == r.Communicators[c.Communicator].NRanks
}

// collectives puts the matches of one collective together. Point to point is left out, since two ranks
// of a group need not run it at once, but for exchanges of all with all.
func (a *assembly) collectives() {
	group := map[int]int{}
	for g := range a.groups {
		for _, s := range a.groups[g].Sides {
			if s != comm.None && a.groups[g].Ranks > 1 {
				group[s] = g
			}
		}
	}
	at := map[meetingKey]int{}
	for _, m := range a.r.Matches {
		c := &a.in.Log.Calls[m.Call]
		g, ok := group[c.Comm]
		if !ok || c.Op.PointToPoint() || c.Op.OneSided() {
			continue
		}
		key := meetingKey{g, c.OpCount}
		i, ok := at[key]
		if !ok {
			i = len(a.r.Collectives)
			at[key] = i
			a.r.Collectives = append(a.r.Collectives, Collective{Communicator: g, Count: c.OpCount, Op: c.Op, Certain: true})
		}
		a.join(&a.r.Collectives[i], m)
	}
	a.exchanges()
	for i := range a.r.Collectives {
		a.onOneClock(&a.r.Collectives[i])
	}
	a.r.Collectives = slices.DeleteFunc(a.r.Collectives, func(c Collective) bool { return len(c.Parts) == 0 })
	for i := range a.r.Collectives {
		a.r.Collectives[i].finish()
	}
	a.owns()
	slices.SortFunc(a.r.Collectives, func(x, y Collective) int {
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.Communicator, y.Communicator), cmp.Compare(x.Count, y.Count))
	})
}

// join adds a match. Calls of one group share a kernel.
func (a *assembly) join(c *Collective, m Match) {
	k := &a.r.Ranks[m.Rank]
	x := &a.in.Exports[k.Export].Processes[k.Recorded].Kernels[m.Kernel]
	bytes := max(a.in.Log.Calls[m.Call].Bytes(), 0)
	c.Certain = c.Certain && m.Certain
	if i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Rank == m.Rank }); i >= 0 {
		if i == 0 {
			c.Bytes += bytes
		}
		return
	}
	start, _ := a.firstTime(k.Export, x.Start)
	end, _ := a.firstTime(k.Export, x.End)
	if len(c.Parts) == 0 {
		c.Bytes = bytes
	}
	c.Parts = append(c.Parts, Part{Rank: m.Rank, Call: m.Call, Kernel: m.Kernel, Start: start, End: end})
}

// onOneClock drops parts whose clock does not compare with the others'. All of one export have one clock, whatever it is.
func (a *assembly) onOneClock(c *Collective) {
	same := !slices.ContainsFunc(c.Parts, func(p Part) bool { return a.r.Ranks[p.Rank].Export != a.r.Ranks[c.Parts[0].Rank].Export })
	if !same {
		c.Parts = slices.DeleteFunc(c.Parts, func(p Part) bool { return !a.r.placed(p.Rank) })
	}
}

// placed says whether times of a rank are on the clock of the first one.
func (r *Result) placed(rank int) bool {
	e := r.Ranks[rank].Export
	return e != None && r.fits[e].known
}

// finish finds who came last. There must be parts.
func (c *Collective) finish() {
	slices.SortFunc(c.Parts, func(x, y Part) int { return cmp.Compare(x.Rank, y.Rank) })
	var ends []int64
	for i, p := range c.Parts {
		if p.Start > c.Parts[c.Last].Start {
			c.Last = i
		}
		ends = append(ends, p.End)
	}
	c.Begin = c.Parts[c.Last].Start
	c.End = robust.Upper(ends)
}

// owns finds what of each part's lateness began with its rank: the time since its last kernel of NCCL had ended is longer than
// the others'. What began before is somebody else's, or a slow link's.
func (a *assembly) owns() {
	if a.r.Timeless || a.r.Sampled {
		return
	}
	ends := map[int][]int64{} // of each rank's kernels, sorted, on its own clock
	for i := range a.r.Ranks {
		if k := &a.r.Ranks[i]; k.Export != None {
			for _, x := range a.in.Exports[k.Export].Processes[k.Recorded].Kernels {
				ends[i] = append(ends[i], x.End)
			}
			slices.Sort(ends[i])
		}
	}
	for i := range a.r.Collectives {
		c := &a.r.Collectives[i]
		gaps := make([]int64, len(c.Parts)) // −1: nothing before
		for k, p := range c.Parts {
			rank := &a.r.Ranks[p.Rank]
			gaps[k] = since(ends[p.Rank], a.in.Exports[rank.Export].Processes[rank.Recorded].Kernels[p.Kernel].Start)
		}
		c.charge(gaps)
	}
}

// since is how long before a time the last of ends was, −1 where none was.
func since(ends []int64, at int64) int64 {
	n, _ := slices.BinarySearch(ends, at+1)
	if n == 0 {
		return -1
	}
	return at - ends[n-1]
}

// charge sets Own of the parts, against the lower medians: of two, the one that came first. O(parts · log parts).
func (c *Collective) charge(gaps []int64) {
	var starts, before []int64
	for k, gap := range gaps {
		if gap >= 0 {
			starts, before = append(starts, c.Parts[k].Start), append(before, gap)
		}
	}
	if len(before) < 2 {
		return
	}
	start, usual := robust.Lower(starts), robust.Lower(before)
	for k, gap := range gaps {
		if gap >= 0 {
			c.Parts[k].Own = max(0, min(c.Parts[k].Start-start, gap-usual))
		}
	}
}
