package comm

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// layersOf is how many equal layers the jobs here have, stepsOf how many steps: so many that repetition is seen without steps.
const (
	layersOf = 12
	stepsOf  = 6
	payload  = 8 << 20 // bytes of a layer's message
)

// plan is a job of which only calls are known, on hosts of four ranks.
type plan struct {
	log    comms.Record
	ranks  int
	comms  map[string]int // of the log, by name and rank
	counts map[int]int64
	buffer uint64
}

func newPlan(ranks int) *plan {
	p := &plan{ranks: ranks, comms: map[string]int{}, counts: map[int]int64{}}
	p.log.Sources = []comms.Source{{Name: "job.log", Kind: comms.SourceNCCLLog}}
	for r := range ranks {
		p.log.Processes = append(p.log.Processes, comms.Process{Host: fmt.Sprintf("node%d", r/4), PID: int64(100 + r), Device: -1})
	}
	return p
}

// comm makes a communicator.
func (p *plan) comm(name string, ranks ...int) {
	id := uint64(0xc000 + len(p.comms))
	for i, r := range ranks {
		p.comms[fmt.Sprint(name, r)] = len(p.log.Groups)
		p.log.Groups = append(p.log.Groups, comms.Group{Process: r, ID: id, Rank: i, Size: len(ranks), FromStart: true})
	}
}

// start opens the next launch of a communicator on a rank.
func (p *plan) start(name string, rank int) { p.counts[p.comms[fmt.Sprint(name, rank)]]++ }

// join calls within the launch that was opened last.
func (p *plan) join(name string, rank int, op nccl.Op, bytes int, peer int) {
	comm := p.comms[fmt.Sprint(name, rank)]
	p.buffer += 4096
	c := comms.UnknownCall(rank)
	c.Group, c.Line, c.Op, c.Launch, c.Count, c.Bytes = comm, int64(len(p.log.Calls)+1), op, p.counts[comm], int64(bytes), int64(bytes)
	c.Datatype, c.Peer, c.Send, c.Recv = nccl.Int8, peer, p.buffer, p.buffer
	p.log.Calls = append(p.log.Calls, c)
}

// call is a launch of one collective.
func (p *plan) call(name string, rank int, op nccl.Op, bytes int) {
	p.start(name, rank)
	p.join(name, rank, op, bytes, 0)
}

// send and recv are launches of one message each, pass is one of both.
func (p *plan) send(name string, rank, peer int) {
	p.start(name, rank)
	p.join(name, rank, nccl.Send, payload, peer)
}

func (p *plan) recv(name string, rank, peer int) {
	p.start(name, rank)
	p.join(name, rank, nccl.Recv, payload, peer)
}

func (p *plan) pass(name string, rank, to, from int) {
	p.start(name, rank)
	p.join(name, rank, nccl.Send, payload, to)
	p.join(name, rank, nccl.Recv, payload, from)
}

// each runs a step of every rank, again and again.
func (p *plan) each(step func(rank int)) {
	for range stepsOf {
		for r := range p.ranks {
			step(r)
		}
	}
}

// exports are recordings that have steps alone.
func (p *plan) exports() *comms.Record {
	var x comms.Record
	for r := range p.ranks {
		host := fmt.Sprintf("node%d", r/4)
		if r%4 == 0 {
			x.Sources = append(x.Sources, comms.Source{Name: host + ".sqlite", Kind: comms.SourceNsight})
		}
		x.Processes = append(x.Processes, comms.Process{PID: int64(100 + r), Host: host, Device: int64(r % 4), Rank: -1, Source: r / 4, Clock: r / 4,
			Steps: make([]comms.Span, stepsOf)})
	}
	return &x
}

// sharded is a step with sharded parameters over equal layers.
func (p *plan) sharded(name string, r int) {
	for range layersOf {
		p.call(name, r, nccl.AllGather, payload)
	}
	for range layersOf {
		p.call(name, r, nccl.AllGather, payload)
		p.call(name, r, nccl.ReduceScatter, payload)
	}
}

// splitSequence is a step of tensor parallelism with its sequence split too.
func (p *plan) splitSequence(name string, r int) {
	for range 2 * layersOf {
		p.call(name, r, nccl.AllGather, payload)
		p.call(name, r, nccl.ReduceScatter, payload)
	}
	for range 2 * layersOf {
		p.call(name, r, nccl.AllGather, payload)
		p.call(name, r, nccl.AllGather, payload)
		p.call(name, r, nccl.ReduceScatter, payload)
	}
}

func (p *plan) reduce(name string, r, times int) {
	for range times {
		p.call(name, r, nccl.AllReduce, payload)
	}
}

// inferred are jobs with the kind of each communicator, by its ranks. What could be two kinds must be unknown.
var inferred = []struct {
	name string
	make func() *plan
	want map[string]parallel.Kind
}{
	{"sharded data over equal layers", func() *plan {
		p := newPlan(4)
		p.comm("all", 0, 1, 2, 3)
		p.each(func(r int) { p.sharded("all", r) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.DataParallel}},
	{"sharded within hosts, replicated across", func() *plan {
		p := newPlan(8)
		p.comm("shard", 0, 1, 2, 3)
		p.comm("shard", 4, 5, 6, 7)
		for r := range 4 {
			p.comm("copy", r, r+4)
		}
		p.each(func(r int) { p.sharded("shard", r); p.reduce("copy", r, layersOf) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.DataParallel, "[0 4]": parallel.UnknownKind}},
	{"equal buckets of gradients", func() *plan {
		p := newPlan(4)
		p.comm("all", 0, 1, 2, 3)
		p.each(func(r int) { p.reduce("all", r, layersOf) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.UnknownKind}},
	{"equal buckets of two jobs in one folder", func() *plan {
		p := newPlan(8)
		p.comm("job", 0, 1, 2, 3)
		p.comm("job", 4, 5, 6, 7)
		p.each(func(r int) { p.reduce("job", r, layersOf) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.UnknownKind, "[4 5 6 7]": parallel.UnknownKind}},
	{"tensor within hosts, data across", func() *plan {
		p := newPlan(8)
		p.comm("tensor", 0, 1, 2, 3)
		p.comm("tensor", 4, 5, 6, 7)
		for r := range 4 {
			p.comm("data", r, r+4)
		}
		p.each(func(r int) { p.reduce("tensor", r, 4*layersOf); p.call("data", r, nccl.AllReduce, 3*payload) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.TensorParallel, "[1 5]": parallel.DataParallel}},
	{"tensor of split sequences", func() *plan {
		p := newPlan(4)
		p.comm("all", 0, 1, 2, 3)
		p.each(func(r int) { p.splitSequence("all", r) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.TensorParallel}},
	{"tensor within hosts, sharded data across", func() *plan {
		p := newPlan(8)
		p.comm("tensor", 0, 1, 2, 3)
		p.comm("tensor", 4, 5, 6, 7)
		for r := range 4 {
			p.comm("data", r, r+4)
		}
		p.each(func(r int) { p.splitSequence("tensor", r); p.sharded("data", r) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.TensorParallel, "[2 6]": parallel.DataParallel}},
	{"pipeline across hosts, equal buckets within", func() *plan {
		p := newPlan(8)
		p.comm("data", 0, 1, 2, 3)
		p.comm("data", 4, 5, 6, 7)
		pipes(p)
		p.each(func(r int) { oneByOne(p, r, func() {}); p.reduce("data", r, layersOf) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.UnknownKind, "[0 4]": parallel.PipelineParallel}},
	{"pipeline across hosts, tensor within", func() *plan {
		p := newPlan(8)
		p.comm("tensor", 0, 1, 2, 3)
		p.comm("tensor", 4, 5, 6, 7)
		pipes(p)
		p.each(func(r int) { oneByOne(p, r, func() { p.reduce("tensor", r, 2*layersOf) }) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.TensorParallel, "[0 4]": parallel.PipelineParallel}},
	{"ring of a split sequence", func() *plan {
		p := newPlan(4)
		p.comm("all", 0, 1, 2, 3)
		p.each(func(r int) { p.pass("all", r, (r+1)%4, (r+3)%4) })
		return p
	}, map[string]parallel.Kind{"[0 1 2 3]": parallel.UnknownKind}},
	{"ring of two", func() *plan {
		p := newPlan(2)
		p.comm("all", 0, 1)
		p.each(func(r int) { p.pass("all", r, 1-r, 1-r) })
		return p
	}, map[string]parallel.Kind{"[0 1]": parallel.UnknownKind}},
	{"sequence split by heads", func() *plan { return allToAll(func(int) int { return payload }) }, map[string]parallel.Kind{"[0 1 2 3]": parallel.UnknownKind}},
	{"experts", func() *plan { return allToAll(func(to int) int { return payload + to<<10 }) }, map[string]parallel.Kind{"[0 1 2 3]": parallel.ExpertParallel}},
}

// pipes makes a pipeline of two stages for each of four ranks.
func pipes(p *plan) {
	for r := range 4 {
		p.comm("pipe", r, r+4)
	}
}

// oneByOne is a step of a pipeline of two stages: some microbatches forth, then back.
func oneByOne(p *plan, r int, compute func()) {
	for _, forth := range []bool{true, true, true, true, false, false, false, false} {
		switch first := r < 4; {
		case first && forth:
			compute()
			p.send("pipe", r, 1)
		case first:
			p.recv("pipe", r, 1)
			compute()
		case forth:
			p.recv("pipe", r, 0)
			compute()
		default:
			compute()
			p.send("pipe", r, 0)
		}
	}
}

func allToAll(size func(to int) int) *plan {
	p := newPlan(4)
	p.comm("all", 0, 1, 2, 3)
	p.each(func(r int) {
		p.start("all", r)
		for k := range 4 {
			p.join("all", r, nccl.Send, size(k), k)
			p.join("all", r, nccl.Recv, size(r), k)
		}
	})
	return p
}

// Neither with steps nor without is a kind claimed that another layout would have left the same calls of.
func TestInference(t *testing.T) {
	for _, c := range inferred {
		for _, stepped := range []bool{false, true} {
			p := c.make()
			in := &p.log
			if stepped {
				in = comms.Join(in, p.exports())
			}
			r := analyze(t, in, Options{})
			seen := 0
			for i := range r.Communicators {
				g := &r.Communicators[i]
				want, ok := c.want[fmt.Sprint(g.Ranks)]
				if !ok {
					continue
				}
				seen++
				if g.Kind != want {
					t.Errorf("%s, steps %v: %v is %v, want %v: %+v", c.name, stepped, g.Ranks, g.Kind, want, g.Evidence)
				}
			}
			if seen != len(c.want) {
				t.Errorf("%s: %d communicators of %d", c.name, seen, len(c.want))
			}
		}
	}
}
