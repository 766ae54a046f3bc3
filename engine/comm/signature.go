package comm

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// longRun is how many all-gathers in a row are those of layers one after another: a tensor-parallel rank reduces what a layer
// made before it gathers again, but for two or three at the ends of a pass.
const longRun = 4

// usageOf looks at how communicators are used.
type usageOf struct {
	r          *Result
	m          *members
	began      map[int]int64 // calls that were entered at a known time of the profiler's
	duplicates map[int]bool
	turns      map[int]turns // of ranks, once they were asked for
}

// signature looks at the calls of one side.
func (u *usageOf) signature(calls []int, side int) parallel.Signature {
	s := parallel.Signature{Calls: len(calls), PerStep: math.NaN(), LargeOps: map[nccl.Op]int{}}
	sizes, launches := map[int64]int{}, map[int64]int{}
	most := 0
	for _, i := range calls {
		c := &u.r.Calls[i]
		s.Largest = max(s.Largest, c.Bytes)
		if c.Op.Reduces() && c.Reduction == nccl.Avg {
			s.Averages++
		}
		if c.Bytes < parallel.LargeBytes {
			continue
		}
		s.Large++
		s.LargeOps[c.Op]++
		sizes[c.Bytes]++
		most = max(most, sizes[c.Bytes])
		if !c.Op.PointToPoint() {
			launches[c.Launch]++
		}
	}
	for _, n := range launches {
		if n > 1 {
			s.Grouped += n
		}
	}
	s.Repeats = float64(most)
	s.Sending, s.Successive, s.Burstiness = u.sendPattern(calls), u.successive(calls), u.burstiness(calls)
	if rank := u.m.sides[side].Process; rank != comms.None {
		if s.Steps = len(u.r.ProfiledProcess(rank).Steps); s.Steps > 0 {
			s.PerStep = float64(s.Large) / float64(s.Steps)
			s.Repeats = float64(most) / float64(s.Steps)
		}
		t := u.turnsOf(rank)
		s.Visits, s.Elsewhere = t.runs[side], t.messages
	}
	return s
}

// turns is how the large calls of a rank alternate with the large messages that it sends and receives.
type turns struct {
	messages int         // launches of them
	runs     map[int]int // of collectives, by index of Groups
}

// turnsOf looks at the calls of a rank, once. O(calls).
func (u *usageOf) turnsOf(rank int) turns {
	if t, ok := u.turns[rank]; ok {
		return t
	}
	t := turns{runs: map[int]int{}}
	before := map[int]int{} // messages before the last call of each communicator
	var last launchKey
	for _, i := range u.r.Ranks[rank].Calls {
		c := &u.r.Calls[i]
		if c.Bytes < parallel.LargeBytes || u.duplicates[i] {
			continue
		}
		if c.Op == nccl.Send || c.Op == nccl.Recv {
			if key := (launchKey{c.Group, c.Launch}); key != last || t.messages == 0 {
				t.messages, last = t.messages+1, key
			}
			continue
		}
		if n, seen := before[c.Group]; !seen || n != t.messages {
			t.runs[c.Group]++
		}
		before[c.Group] = t.messages
	}
	u.turns[rank] = t
	return t
}

// launchTraffic is the sends and receives of one launch, by peer.
type launchTraffic struct {
	sends, recvs map[int]bool
	size         int64 // of the first send
	uneven       bool
}

// sendPattern returns how its sends and receives are used.
func (u *usageOf) sendPattern(calls []int) (s parallel.Sending) {
	launches := map[int64]*launchTraffic{}
	sent, received := map[int]bool{}, map[int]bool{}
	for _, i := range calls {
		c := &u.r.Calls[i]
		if c.Op != nccl.Send && c.Op != nccl.Recv {
			continue
		}
		l := launches[c.Launch]
		if l == nil {
			l = &launchTraffic{sends: map[int]bool{}, recvs: map[int]bool{}, size: -1}
			launches[c.Launch] = l
		}
		if c.Op == nccl.Recv {
			l.recvs[c.Peer], received[c.Peer] = true, true
			continue
		}
		if l.size < 0 {
			l.size = c.Bytes
		}
		l.sends[c.Peer], sent[c.Peer] = true, true
		l.uneven = l.uneven || c.Bytes != l.size
	}
	peers, senders := 0, 0
	for _, l := range launches {
		if len(l.sends) > 0 {
			peers, senders = peers+len(l.sends), senders+1
		}
		if len(l.sends) == 0 || len(l.recvs) == 0 {
			s.Lone++
		}
		s.Uneven = s.Uneven || l.uneven
	}
	for p := range sent {
		s.Mutual = s.Mutual || received[p]
	}
	if senders > 0 {
		s.Peers = float64(peers) / float64(senders)
	}
	return s
}

// successive returns the part of the large all-gathers that stand in long runs; 0 without any.
func (u *usageOf) successive(calls []int) float64 {
	all, inRuns, run := 0, 0, 0
	end := func() {
		if run >= longRun {
			inRuns += run
		}
		run = 0
	}
	for _, i := range calls {
		switch c := &u.r.Calls[i]; {
		case c.Bytes < parallel.LargeBytes:
		case c.Op == nccl.AllGather:
			all, run = all+1, run+1
		case c.Op.Reduces():
			end()
		}
	}
	end()
	if all == 0 {
		return 0
	}
	return float64(inRuns) / float64(all)
}

// burstiness returns (σ − μ)/(σ + μ) of the times between calls (Goh and Barabási 2008, EPL 81:48002).
func (u *usageOf) burstiness(calls []int) float64 {
	var gaps []float64
	for k := 1; k < len(calls); k++ {
		before, known := u.entryTime(calls[k-1])
		at, both := u.entryTime(calls[k])
		if !known || !both {
			return math.NaN()
		}
		gaps = append(gaps, float64(at-before))
	}
	if len(gaps) < 8 {
		return math.NaN()
	}
	mean, sigma := stat.MeanStdDev(gaps, nil)
	if sigma+mean <= 0 {
		return math.NaN()
	}
	return (sigma - mean) / (sigma + mean)
}

// entryTime returns when a call was entered, on a clock of its rank's; of one that only a dump has, when its kernel began.
func (u *usageOf) entryTime(call int) (at int64, known bool) {
	c := &u.r.Calls[call]
	if c.HasEnter || u.r.Timeless {
		return c.Enter, c.HasEnter
	}
	if !u.r.isDump(c.Process) {
		return 0, false
	}
	at, known = u.began[call]
	return at, known
}
