package comm

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Collective is what ranks did together, on the clock of the first rank, or, if all of them have another clock that does not
// compare with it, on that: a collective, or what two ranks send each other in one launch each. It began when its last rank
// arrived: before that the others wait.
type Collective struct {
	Communicator int // index of Communicators
	Count        int64
	Op           nccl.Op // of messages that of the lower rank; SendRecv where both ranks send and receive in one launch
	Message      bool    // between two ranks
	Bytes        int64   // of one rank: the calls of its kernel, count × size of the type; of messages the larger direction
	Parts        []Part  // by rank
	Last         int     // of Parts: who arrived last
	Begin, End   int64   // when the last arrived, and the (upper) median end
	Certain      bool    // all matches are
	Tuning       *comms.Tuning
	Subject      int // that it ran over, index of Speed.Subjects; None
	Measure          // zero where it could not be measured
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

// CollectivesAndMessages returns all that ranks did together: collectives, then messages.
func (r *Result) CollectivesAndMessages() iter.Seq[*Collective] {
	return func(yield func(*Collective) bool) {
		for _, list := range [...][]Collective{r.Collectives, r.Transfers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// launchKey is a launch of a communicator: of one side, or of all ranks.
type launchKey struct {
	group int
	count int64
}

// site is a kernel of a rank.
type site struct{ rank, kernel int }

func (m Match) site() site { return site{m.Rank, m.Kernel} }

// joint is a collective that is being put together.
type joint struct {
	Collective
	ranks  int                 // of its communicator
	served []map[int]bool      // by each part, of sends and receives
	bytes  []map[nccl.Op]int64 // of each part, sent and received
	broken bool                // a part has two kernels under one count
}

// collectives puts the matches of one collective together. Sends and receives are one where all ranks of a communicator run them in
// one kernel each, as an all-to-all is made of: it ends when the slowest has what is for it. Other point to point is left out, since
// two ranks of a group need not run it at once.
func (r *Result) collectives(m *members) {
	type key struct {
		launchKey
		messages bool
	}
	var all ordered.List[key, joint]
	for _, x := range r.Matches {
		c := &r.Calls[x.Call]
		g, ok := r.CommunicatorOf(x.Call)
		w, message := r.wireOf(m, x.Call)
		if !ok || m.list[g].Ranks <= 1 || c.Op.OneSided() || c.Op.PointToPoint() && !message || message && w.from == w.to {
			continue
		}
		j, first := all.Of(key{launchKey{g, c.Launch}, message})
		if first {
			*j = joint{Collective: Collective{Communicator: g, Count: c.Launch, Op: c.Op, Subject: g, Certain: true}, ranks: m.list[g].Ranks}
		}
		j.add(r, x)
	}
	for i := range all.All {
		j := &all.All[i]
		if (j.served[0] == nil || j.exchange()) && r.keepOneClock(&j.Collective) {
			r.finish(&j.Collective)
			r.Collectives = append(r.Collectives, j.Collective)
		}
	}
	r.chargeOwnDelay()
	slices.SortFunc(r.Collectives, func(x, y Collective) int {
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.Communicator, y.Communicator), cmp.Compare(x.Count, y.Count))
	})
}

// add adds a match. Calls of one group share a kernel.
func (j *joint) add(r *Result, m Match) {
	c := &r.Calls[m.Call]
	bytes := max(c.Bytes, 0)
	j.Certain = j.Certain && m.Certain
	i := slices.IndexFunc(j.Parts, func(p Part) bool { return p.Rank == m.Rank })
	if i < 0 {
		i = len(j.Parts)
		j.Parts, j.served, j.bytes = append(j.Parts, r.part(m)), append(j.served, nil), append(j.bytes, nil)
	}
	if i == 0 {
		j.Bytes += bytes
	}
	j.broken = j.broken || j.Parts[i].Kernel != m.Kernel
	if !c.Op.Message() {
		return
	}
	if j.served[i] == nil {
		j.served[i], j.bytes[i] = map[int]bool{}, map[nccl.Op]int64{}
	}
	j.served[i][c.Peer] = true
	j.bytes[i][c.Op] += bytes
}

// exchange makes sends and receives a collective in which every member serves two others or more; false where they are
// messages between pairs. Sizes may differ: what counts is the most that a member sends or gets.
func (j *joint) exchange() bool {
	if j.broken || len(j.Parts) != j.ranks || slices.ContainsFunc(j.served, func(peers map[int]bool) bool { return len(peers) < 2 }) {
		return false
	}
	j.Op, j.Bytes = nccl.SendRecv, 0
	for _, b := range j.bytes {
		j.Bytes = max(j.Bytes, b[nccl.Send], b[nccl.Recv])
	}
	return true
}

// keepOneClock drops parts whose clock does not compare with the others', and reports whether any is left. Ranks with one clock
// compare, whatever it is.
func (r *Result) keepOneClock(c *Collective) bool {
	if slices.ContainsFunc(c.Parts, func(p Part) bool { return r.clockOf(p.Rank) != r.clockOf(c.Parts[0].Rank) }) {
		c.Parts = slices.DeleteFunc(c.Parts, func(p Part) bool { return !r.SharesFirstClock(p.Rank) })
	}
	return len(c.Parts) > 0
}

// finish finds who arrived last, and how NCCL ran it as the first rank that was told says. There must be parts.
func (r *Result) finish(c *Collective) {
	slices.SortFunc(c.Parts, func(x, y Part) int { return cmp.Compare(x.Rank, y.Rank) })
	var ends []int64
	for i, p := range c.Parts {
		if p.Start > c.Parts[c.Last].Start {
			c.Last = i
		}
		ends = append(ends, p.End)
		if c.Tuning == nil {
			c.Tuning = r.Calls[p.Call].Tuning
		}
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
			gaps[k] = timeSince(ends[p.Rank], r.Kernels(p.Rank)[p.Kernel].Start)
		}
		c.charge(gaps)
	}
}

// timeSince returns how long before a time the last of ends was, −1 where none was.
func timeSince(ends []int64, at int64) int64 {
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
