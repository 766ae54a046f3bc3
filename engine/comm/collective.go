package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Collective is one collective on all its ranks, on the clock of the first rank, or, if all ranks have another clock that does not compare with
// it, on that. It began when its last
// rank arrived: before that the others wait.
type Collective struct {
	Communicator int   // index of Communicators
	Count        int64 // launches of the communicator before it
	Op           nccl.Op
	Bytes        int64  // of one rank: the calls of its kernel, count × size of the type
	Parts        []Part // by rank
	Last         int    // of Parts: who arrived last
	Begin, End   int64  // when the last arrived, and the median end
	Certain      bool   // all matches are
}

// Part is one rank's part.
type Part struct {
	Rank       int // index of Ranks
	Call       int // of Calls, the first of its kernel
	Kernel     int
	Start, End int64
	Own        int64 // of what it arrived later than the (lower) median, what began with the rank itself
}

// Whole reports whether all ranks of its communicator were seen.
func (c *Collective) Whole(r *Result) bool {
	return len(c.Parts) == r.Communicators[c.Communicator].NRanks
}

// collectives puts the matches of one collective together. Point to point is left out, since two ranks
// of a group need not run it at once, but for exchanges of all with all.
func (r *Result) collectives(m *members) {
	var all ordered.List[launchKey, Collective]
	for _, x := range r.Matches {
		c := &r.Calls[x.Call]
		g, ok := r.CommunicatorOf(x.Call)
		if !ok || m.list[g].Ranks <= 1 || c.Op.PointToPoint() || c.Op.OneSided() {
			continue
		}
		of, first := all.Of(launchKey{g, c.Launch})
		if first {
			*of = Collective{Communicator: g, Count: c.Launch, Op: c.Op, Certain: true}
		}
		r.addPart(of, x)
	}
	r.Collectives = append(all.All, r.exchanges(m)...)
	for i := range r.Collectives {
		r.onOneClock(&r.Collectives[i])
	}
	r.Collectives = slices.DeleteFunc(r.Collectives, func(c Collective) bool { return len(c.Parts) == 0 })
	for i := range r.Collectives {
		r.Collectives[i].finish()
	}
	r.chargeOwnDelay()
	slices.SortFunc(r.Collectives, func(x, y Collective) int {
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.Communicator, y.Communicator), cmp.Compare(x.Count, y.Count))
	})
}

// addPart adds a match. Calls of one group share a kernel.
func (r *Result) addPart(c *Collective, m Match) {
	bytes := max(r.Calls[m.Call].Bytes, 0)
	c.Certain = c.Certain && m.Certain
	if i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Rank == m.Rank }); i >= 0 {
		if i == 0 {
			c.Bytes += bytes
		}
		return
	}
	if len(c.Parts) == 0 {
		c.Bytes = bytes
	}
	c.Parts = append(c.Parts, r.part(m))
}

// onOneClock drops parts whose clock does not compare with the others'. Ranks with one clock compare, whatever it is.
func (r *Result) onOneClock(c *Collective) {
	if slices.ContainsFunc(c.Parts, func(p Part) bool { return r.clockOf(p.Rank) != r.clockOf(c.Parts[0].Rank) }) {
		c.Parts = slices.DeleteFunc(c.Parts, func(p Part) bool { return !r.Placed(p.Rank) })
	}
}

// finish finds who arrived last. There must be parts.
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

// chargeOwnDelay finds what of each part's delay began with its rank: the time since its last kernel of NCCL had ended is longer than
// the others'. What began before is somebody else's, or a slow link's.
func (r *Result) chargeOwnDelay() {
	if r.Timeless || r.Sampled {
		return
	}
	ends := make([][]int64, len(r.Ranks)) // of each rank's kernels, sorted, on its own clock
	for i := range r.Ranks {
		for _, x := range r.Kernels(i) {
			ends[i] = append(ends[i], x.End)
		}
		slices.Sort(ends[i])
	}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		gaps := make([]int64, len(c.Parts)) // −1: nothing before
		for k, p := range c.Parts {
			gaps[k] = since(ends[p.Rank], r.Kernels(p.Rank)[p.Kernel].Start)
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

// charge sets Own of the parts, against the lower medians: of two, the one that arrived first. O(parts · log parts).
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
