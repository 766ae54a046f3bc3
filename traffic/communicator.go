package traffic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Communicator is one communicator of the job and what was done on it.
type Communicator struct {
	ID       string // commId, or what else tells it from the others
	Kind     Kind
	Evidence []string // of the kind
	Ranks    []int    // of the job, that left a log
	NRanks   int
	Sides    []int // indices of Log.Communicators, of those ranks
	Met      bool  // put together by ends of collectives alone
	Alone    bool  // one side, and nothing tells the others
	Hosts    int
	Ops      []OpUse // most calls first
	Signature
}

// OpUse is what was done with one operation: calls and bytes (count × size of the type, as logged)
// over all ranks.
type OpUse struct {
	Op    nccl.Op
	Calls int64
	Bytes int64
}

// Signature is how a communicator is used, by one rank that has most calls on it.
type Signature struct {
	Calls      int     // of that rank
	Large      int     // of them of at least [largeBytes]
	Steps      int     // in the recording, 0 where no NVTX range tells
	PerStep    float64 // large calls in a step; NaN without steps
	Repeats    float64 // in a step, of the most frequent size of large calls; over all steps where there are none
	Burstiness float64 // of times between calls, −1 (even) to 1 (bursts); NaN without times
	Peers      float64 // ranks that one group of sends goes to, on average
	Largest    int64   // bytes
	LargeOps   map[nccl.Op]int
	Averages   int // reductions that average
	Grouped    int // large collectives that share their launch with others
}

// largeBytes is from which on a message carries data of the model, not a flag, a loss or a norm.
const largeBytes = 16 << 10

// CallsOf is the calls of one operation.
func (c *Communicator) CallsOf(op nccl.Op) (n int64) {
	for _, u := range c.Ops {
		if u.Op == op {
			n += u.Calls
		}
	}
	return n
}

// Total is calls and bytes of all operations.
func (c *Communicator) Total() (calls, bytes int64) {
	for _, u := range c.Ops {
		calls, bytes = calls+u.Calls, bytes+u.Bytes
	}
	return calls, bytes
}

// communicators describes every group. Those on which nothing was called, of one rank, stay: the layout
// is seen by them too.
func (a *assembly) communicators() {
	calls := make([][]int, len(a.sides))
	for i := range a.in.Log.Calls {
		if c := &a.in.Log.Calls[i]; !a.again[i] {
			calls[c.Comm] = append(calls[c.Comm], i)
		}
	}
	for g := range a.groups {
		a.r.Communicators = append(a.r.Communicators, a.describe(&a.groups[g], calls))
		for _, s := range a.groups[g].Sides {
			a.r.groupOf[s] = g
		}
	}
	a.kinds()
}

func (a *assembly) describe(g *comm.Communicator, calls [][]int) Communicator {
	c := Communicator{NRanks: g.Ranks, Alone: g.Method == comm.Alone, ID: a.idOf(g)}
	hosts, uses, busiest := map[string]bool{}, map[nccl.Op]*OpUse{}, None
	for _, s := range g.Sides {
		if s == comm.None {
			continue
		}
		c.Sides = append(c.Sides, s)
		c.Met = c.Met || a.met[s]
		if p := a.sides[s].Process; p != None {
			c.Ranks = append(c.Ranks, a.r.Ranks[p].Rank)
			hosts[a.r.Ranks[p].Host] = true
		}
		if busiest == None || len(calls[s]) > len(calls[busiest]) {
			busiest = s
		}
		for _, i := range calls[s] {
			x := &a.in.Log.Calls[i]
			if uses[x.Op] == nil {
				uses[x.Op] = &OpUse{Op: x.Op}
			}
			uses[x.Op].Calls++
			uses[x.Op].Bytes += max(x.Bytes(), 0)
		}
	}
	for _, u := range uses {
		c.Ops = append(c.Ops, *u)
	}
	slices.SortFunc(c.Ops, func(x, y OpUse) int { return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Op, y.Op)) })
	slices.Sort(c.Ranks)
	c.Hosts = len(hosts)
	c.Signature = a.signature(calls[busiest], a.sides[busiest].Process)
	return c
}

// idOf names a communicator: its commId; of a split the parent's id, which split, and colour; else the
// pointer in the process that has it.
func (a *assembly) idOf(g *comm.Communicator) string {
	s := first(g.Sides)
	c := &a.in.Log.Communicators[s]
	p := &a.in.Log.Processes[c.Process]
	switch {
	case g.Method == comm.ByID && c.ID != 0:
		return fmt.Sprintf("%#x", c.ID)
	case g.Method == comm.BySplit && c.Parent != nccllog.None:
		parent := &a.in.Log.Communicators[c.Parent]
		id := fmt.Sprintf("%#x", parent.ID)
		if parent.ID == 0 {
			id = fmt.Sprintf("%#x", parent.Pointer)
		}
		return fmt.Sprintf("%s/split %d/colour %d", id, max(c.Split, 0), c.Color)
	}
	return fmt.Sprintf("%s:%d:%#x", p.Host, p.PID, c.Pointer)
}

// signature looks at the calls of one side.
func (a *assembly) signature(calls []int, process int) Signature {
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
	if s.Steps = a.steps(process); s.Steps > 0 {
		s.PerStep = float64(s.Large) / float64(s.Steps)
		s.Repeats = float64(most) / float64(s.Steps)
	}
	s.Peers = a.peers(calls)
	s.Burstiness = a.burstiness(calls)
	return s
}

// steps is how many the process marked.
func (a *assembly) steps(process int) int {
	if process == None || a.r.Ranks[process].Export == None {
		return 0
	}
	k := &a.r.Ranks[process]
	return len(a.in.Exports[k.Export].Processes[k.Recorded].Steps)
}

// peers is how many ranks the sends of one group go to, on average over groups with any.
func (a *assembly) peers(calls []int) float64 {
	groups := map[uint64]map[int64]bool{}
	for _, i := range calls {
		if c := &a.in.Log.Calls[i]; c.Op == nccl.Send {
			if groups[c.OpCount] == nil {
				groups[c.OpCount] = map[int64]bool{}
			}
			groups[c.OpCount][c.Root] = true
		}
	}
	if len(groups) == 0 {
		return 0
	}
	sum := 0
	for _, g := range groups {
		sum += len(g)
	}
	return float64(sum) / float64(len(groups))
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
