package traffic

import (
	"math"

	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Signature is how a communicator is used, by one rank that has most calls on it.
type Signature struct {
	Calls      int     // of that rank
	Large      int     // of them of at least [largeBytes]
	Steps      int     // in the recording, 0 where no NVTX range tells
	PerStep    float64 // large calls in a step; NaN without steps
	Repeats    float64 // in a step, of the most frequent size of large calls; over all steps where there are none
	Burstiness float64 // of times between calls, −1 (even) to 1 (bursts); NaN without times
	Largest    int64   // bytes
	LargeOps   map[nccl.Op]int
	Averages   int     // reductions that average
	Grouped    int     // large collectives that share their launch with others
	Successive float64 // of large all-gathers, the part that stands in runs of [longRun] or more without a reduction between
	Visits     int     // runs of large collectives that large messages of the rank, on any communicator, break
	Elsewhere  int     // launches of such messages
	Sending
}

// Sending is how a communicator is used for sends and receives, by the same rank.
type Sending struct {
	Peers  float64 // ranks that one launch sends to, on average over those that send
	Lone   int     // launches that send and do not receive, or the reverse
	Mutual bool    // a rank that is sent to is received from as well
	Uneven bool    // sends of one launch differ in size
}

// largeBytes is from which on a message carries data of the model, not a flag, a loss or a norm.
const largeBytes = 16 << 10

// longRun is how many all-gathers in a row are those of layers one after another: a tensor-parallel rank reduces what a layer
// made before it gathers again, but for two or three at the ends of a pass.
const longRun = 4

// signature looks at the calls of one side.
func (a *assembly) signature(calls []int, side int) Signature {
	s := Signature{Calls: len(calls), PerStep: math.NaN(), Burstiness: math.NaN(), LargeOps: map[nccl.Op]int{}}
	sizes, launches := map[int64]int{}, map[uint64]int{}
	most := 0
	for _, i := range calls {
		c := &a.in.Log.Calls[i]
		b := c.Bytes()
		s.Largest = max(s.Largest, b)
		if c.Op.Reduces() && c.Reduction == nccl.Avg {
			s.Averages++
		}
		if b < largeBytes {
			continue
		}
		s.Large++
		s.LargeOps[c.Op]++
		sizes[b]++
		most = max(most, sizes[b])
		if !c.Op.PointToPoint() {
			launches[c.OpCount]++
		}
	}
	for _, n := range launches {
		if n > 1 {
			s.Grouped += n
		}
	}
	s.Repeats = float64(most)
	process := a.sides[side].Process
	if s.Steps = a.steps(process); s.Steps > 0 {
		s.PerStep = float64(s.Large) / float64(s.Steps)
		s.Repeats = float64(most) / float64(s.Steps)
	}
	s.Sending = a.sending(calls)
	s.Successive = a.successive(calls)
	s.Burstiness = a.burstiness(calls)
	if process != None {
		v := a.visitsOf(process)
		s.Visits, s.Elsewhere = v.runs[side], v.messages
	}
	return s
}

// visits is how the large calls of a rank take turns with the large messages that it sends and receives.
type visits struct {
	messages int         // launches of them
	runs     map[int]int // of collectives, by index of Log.Communicators
}

// visitsOf looks at the calls of a rank, once. O(calls).
func (a *assembly) visitsOf(rank int) visits {
	if v, ok := a.visited[rank]; ok {
		return v
	}
	v := visits{runs: map[int]int{}}
	before := map[int]int{} // messages before the last call of each communicator
	var last meetingKey
	for _, i := range a.r.Ranks[rank].Calls {
		c := &a.in.Log.Calls[i]
		if c.Bytes() < largeBytes || a.again[i] {
			continue
		}
		if c.Op == nccl.Send || c.Op == nccl.Recv {
			if key := (meetingKey{c.Comm, c.OpCount}); key != last || v.messages == 0 {
				v.messages, last = v.messages+1, key
			}
			continue
		}
		if n, seen := before[c.Comm]; !seen || n != v.messages {
			v.runs[c.Comm]++
		}
		before[c.Comm] = v.messages
	}
	a.visited[rank] = v
	return v
}

// steps is how many the process marked.
func (a *assembly) steps(process int) int {
	if process == None || a.r.Ranks[process].Export == None {
		return 0
	}
	k := &a.r.Ranks[process]
	return len(a.in.Exports[k.Export].Processes[k.Recorded].Steps)
}

// launched is the sends and receives of one launch, by peer.
type launched struct {
	sends, recvs map[int64]bool
	size         int64 // of the first send
	uneven       bool
}

// sending looks at sends and receives.
func (a *assembly) sending(calls []int) (s Sending) {
	launches := map[uint64]*launched{}
	sent, received := map[int64]bool{}, map[int64]bool{}
	for _, i := range calls {
		c := &a.in.Log.Calls[i]
		if c.Op != nccl.Send && c.Op != nccl.Recv {
			continue
		}
		l := launches[c.OpCount]
		if l == nil {
			l = &launched{sends: map[int64]bool{}, recvs: map[int64]bool{}, size: -1}
			launches[c.OpCount] = l
		}
		if c.Op == nccl.Recv {
			l.recvs[c.Root], received[c.Root] = true, true
			continue
		}
		if l.size < 0 {
			l.size = c.Bytes()
		}
		l.sends[c.Root], sent[c.Root] = true, true
		l.uneven = l.uneven || c.Bytes() != l.size
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

// successive is the part of the large all-gathers that stand in long runs; 0 without any.
func (a *assembly) successive(calls []int) float64 {
	all, inRuns, run := 0, 0, 0
	end := func() {
		if run >= longRun {
			inRuns += run
		}
		run = 0
	}
	for _, i := range calls {
		switch c := &a.in.Log.Calls[i]; {
		case c.Bytes() < largeBytes:
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

// burstiness is (σ − μ)/(σ + μ) of the times between calls (Goh and Barabási 2008, EPL 81:48002).
func (a *assembly) burstiness(calls []int) float64 {
	var gaps []float64
	for k := 1; k < len(calls); k++ {
		x, y := &a.in.Log.Calls[calls[k-1]], &a.in.Log.Calls[calls[k]]
		if x.Clock == nccllog.NoClock || y.Clock == nccllog.NoClock {
			return math.NaN()
		}
		gaps = append(gaps, float64(y.Time-x.Time))
	}
	if len(gaps) < 8 {
		return math.NaN()
	}
	mean, sum := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
	}
	for _, g := range gaps {
		sum += (g - mean) * (g - mean)
	}
	sigma := math.Sqrt(sum / float64(len(gaps)-1))
	if sigma+mean <= 0 {
		return math.NaN()
	}
	return (sigma - mean) / (sigma + mean)
}
