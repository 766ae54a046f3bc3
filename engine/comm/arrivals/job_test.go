package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

const ms = 1_000_000

// synthetic is a data-parallel job: every step computes, enters its buckets one
// after the other without waiting, waits for all, and enters a barrier or not.
type synthetic struct {
	seed    uint64
	ranks   int
	steps   int
	buckets int
	barrier bool    // after the buckets, waited for
	rarely  int     // steps from one barrier to the next; 0: 1
	jitter  float64 // of every piece of work, ms
	loud    float64 // … before the first bucket besides
	skew    float64 // of the clocks, ms
	perHost int     // ranks of one host, which is known; 0: hosts are not known
	ring    int     // calls that are kept; 0: all
	delay   float64 // ms
	late    []int   // ranks
	at      int     // bucket before which they lose it; −1: the barrier
	twice   bool    // before the bucket after that, too
	every   int     // steps; 0: 1
	from    int     // the first step in which they do
	grows   bool    // from nothing to twice the delay
	frames  bool
	// profiled: by profilers on the hosts, which know steps and no sizes, of groups
	// whose members wait on their hosts.
	profiled bool
}

// pieces of a step's work, ms.
const (
	beforeFirst = 60
	between     = 20
	afterLast   = 25
)

func (s synthetic) job() *Job {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	now := make([]float64, s.ranks)
	calls := make([][]comms.Call, s.ranks)
	current := int64(0)
	enter := func(r int, name string, n int64, line int) {
		c := comms.UnknownCall(0)
		c.Group, c.Name, c.Op, c.Seq = 0, name, nccl.AllReduce, int64(len(calls[r])+1)
		c.Enter, c.HasEnter, c.State = int64(now[r]*ms), true, comms.Completed
		c.Tensors = &comms.Tensors{InSizes: [][]int64{{n}}}
		if s.frames {
			c.Stack = line
		}
		if s.profiled {
			c.Step, c.Tensors = current, nil
		}
		calls[r] = append(calls[r], c)
	}
	work := func(r int, mean float64) { now[r] += math.Max(0.05, mean+s.jitter*rng.NormFloat64()) }
	wait := func() {
		last := 0.0
		for _, t := range now {
			last = max(last, t)
		}
		for r := range now {
			now[r] = last + 0.2 + 0.05*rng.Float64()
		}
	}
	hit := func(r, step, at int) float64 {
		if (at == s.at || s.twice && at == s.at+1) && step >= s.from && step%max(1, s.every) == max(1, s.every)-1 {
			for _, l := range s.late {
				if l == r && s.grows {
					return 2 * s.delay * float64(step) / float64(s.steps)
				}
				if l == r {
					return s.delay
				}
			}
		}
		return 0
	}
	source := comms.SourceUnknown
	if s.profiled {
		source = comms.SourceKineto
	}
	for step := range s.steps {
		current = int64(step)
		barrier := s.barrier && step%max(1, s.rarely) == max(1, s.rarely)-1
		released := 0.0
		for r := range s.ranks {
			work(r, beforeFirst+s.loud*rng.ExpFloat64())
			for b := range s.buckets {
				if b > 0 {
					work(r, between)
				}
				now[r] += hit(r, step, b)
				enter(r, "gloo:all_reduce", int64(1000+b/2), 0)
			}
			released = max(released, now[r])
			work(r, 2)
		}
		wait()
		for r := range s.ranks {
			work(r, afterLast)
			if barrier {
				now[r] += hit(r, step, -1)
				enter(r, "gloo:barrier", 0, 1)
			}
		}
		if barrier {
			wait()
		}
	}
	j := &Job{}
	for r := range s.ranks {
		host := ""
		if s.perHost > 0 {
			host = fmt.Sprint("node", r/s.perHost)
		}
		skew := int64(0)
		if s.skew > 0 {
			clock := rand.New(rand.NewPCG(s.seed, uint64(1000+r/max(1, s.perHost))))
			skew = int64(s.skew * clock.NormFloat64() * ms)
		}
		kept, lost := calls[r], 0
		if s.ring > 0 && len(kept) > s.ring {
			lost = len(kept) - s.ring
			kept = kept[lost:]
		}
		for i := range kept {
			kept[i].Enter += skew
		}
		members := make([]int, s.ranks)
		for i := range members {
			members[i] = i
		}
		err := j.Add(&comms.Record{
			Sources:   []comms.Source{{Name: fmt.Sprint("rank_", r), Kind: source}},
			Processes: []comms.Process{{Rank: r, Host: host, Lost: int64(lost)}},
			Groups:    []comms.Group{{Name: "0", Desc: "default_pg", Members: members, Size: s.ranks, OnHost: s.profiled, Enqueued: -1, Completed: -1}},
			Calls:     kept,
			Stacks: [][]comms.Frame{
				{{Function: "backward", File: "/x/torch/_tensor.py", Line: 1}, {Function: "work", File: "/job/train.py", Line: 66}},
				{{Function: "barrier", File: "/x/torch/distributed/distributed_c10d.py", Line: 9}, {Function: "work", File: "/job/train.py", Line: 71}},
			},
		})
		if err != nil {
			panic(err)
		}
	}
	return j
}
