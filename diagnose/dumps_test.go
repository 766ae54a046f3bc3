package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// dumps are what the ranks of a job enter, made by hand. Times are milliseconds; every piece of work varies by one.
type dumps struct {
	rng     *rand.Rand
	now     []float64
	records []*comms.Record
	counted bool // sends and receives are counted and not recorded
}

// Stacks of the calls of dumps.
var stacks = [][]comms.Frame{
	{{Function: "all_reduce", File: "/x/torch/distributed/distributed_c10d.py", Line: 9}, {Function: "work", File: "/job/train.py", Line: 66}},
	{{Function: "backward", File: "/x/torch/_tensor.py", Line: 1}, {Function: "work", File: "/job/train.py", Line: 70}},
	{{Function: "fetch", File: "/job/data.py", Line: 25}, {Function: "work", File: "/job/train.py", Line: 60}},
	{{Function: "clip_grad_norm_", File: "/x/torch/nn/utils/clip_grad.py", Line: 5}, {Function: "work", File: "/job/train.py", Line: 72}},
	{{Function: "forward", File: "/job/model.py", Line: 12}, {Function: "work", File: "/job/train.py", Line: 64}},
}

// Indices of stacks.
const (
	atTrain = iota
	atBackward
	atData
	atClip
	atForward
)

// newDumps returns those of a job in which group 0 has all ranks.
func newDumps(ranks int) *dumps {
	d := &dumps{rng: rand.New(rand.NewPCG(1, 5)), now: make([]float64, ranks)}
	for r := range ranks {
		d.records = append(d.records, &comms.Record{Run: "job", Sources: []comms.Source{{Name: fmt.Sprint("rank_", r)}}, Stacks: stacks,
			Processes: []comms.Process{{Rank: r, Host: "node0", LocalRank: r, Device: -1}}})
	}
	all := make([]int, ranks)
	for r := range all {
		all[r] = r
	}
	d.group("0", all...)
	return d
}

// group makes one of some ranks, which all of them count as the next.
func (d *dumps) group(name string, members ...int) {
	for _, r := range members {
		c := d.records[r]
		c.Groups = append(c.Groups, comms.Group{Name: name, Desc: "undefined", Members: members, Size: len(members), Rank: slices.Index(members, r), Enqueued: -1, Completed: -1})
	}
}

// work takes a rank some time.
func (d *dumps) work(r int, time float64) { d.now[r] += time + d.rng.Float64() }

// enter records a call that a rank enters now.
func (d *dumps) enter(r, group, stack int, op nccl.Op, name string, peer int) {
	in, c := &d.records[r].Groups[group], comms.UnknownCall(0)
	if op == nccl.Send || op == nccl.Recv {
		if in.Silent = d.counted; d.counted {
			return
		}
	}
	c.Group, c.Op, c.Name, c.Stack, c.Peer = group, op, name, stack, peer
	c.Enter, c.HasEnter, c.State = 1767225600e9+int64(d.now[r]*1e6), true, comms.Completed
	d.records[r].Calls = append(d.records[r].Calls, c)
}

// reduce is an all-reduce in which the members of a group wait for each other.
func (d *dumps) reduce(group, stack int, members ...int) {
	last := 0.0
	for _, r := range members {
		d.enter(r, group, stack, nccl.AllReduce, "gloo:all_reduce", -1)
		last = max(last, d.now[r])
	}
	for _, r := range members {
		d.now[r] = last + 0.2*d.rng.Float64()
	}
}

// left returns the records but for those of some ranks.
func (d *dumps) left(without ...int) (out []trace.Recording) {
	for r, c := range d.records {
		if !slices.Contains(without, r) {
			out = append(out, c)
		}
	}
	return out
}

// replicas returns the dumps of ranks that compute 60 ms, reduce gradients, and compute 25 ms; late is how much longer
// a rank computes before it enters the call, from a line of the program.
func replicas(ranks, steps, stack int, late func(r, step int) float64) *dumps {
	d := newDumps(ranks)
	all := d.records[0].Groups[0].Members
	for step := range steps {
		for r := range ranks {
			d.work(r, 60+late(r, step))
		}
		d.reduce(0, stack, all...)
		for r := range ranks {
			d.work(r, 25)
		}
	}
	return d
}

// always returns a delay of one rank in all steps.
func always(rank int, ms float64) func(r, step int) float64 {
	return func(r, _ int) float64 {
		if r == rank {
			return ms
		}
		return 0
	}
}

// chain returns the dumps of a pipeline: each rank receives, computes for 10 ms, or 50 where it is slow, and sends on; all
// enter one collective at the end of the step, unless there is none.
func chain(ranks, slow int, collective, counted bool) *dumps {
	d := newDumps(ranks)
	d.counted = counted
	for range 40 {
		for r := range ranks {
			d.work(r, 2)
			if r > 0 {
				d.enter(r, 0, atTrain, nccl.Recv, fmt.Sprintf("nccl:recv %d<-%d", r, r-1), r-1)
				d.now[r] = max(d.now[r], d.now[r-1])
			}
			if d.work(r, 10); r == slow {
				d.work(r, 40)
			}
			if r < ranks-1 {
				d.enter(r, 0, atTrain, nccl.Send, fmt.Sprintf("nccl:send %d->%d", r, r+1), r+1)
			}
			d.work(r, 5)
		}
		if collective {
			d.reduce(0, atTrain, d.records[0].Groups[0].Members...)
		}
	}
	return d
}
