package pipeline

import (
	"slices"

	"github.com/sfstat/sfstat/trace/operator"
)

// node is one operator of the program of a replica.
type node struct {
	class        operator.Class
	stage        int
	seq          int
	chunk, micro int     // −1 where meaningless
	after        []int32 // nodes that end before this one starts
	group        int32   // −1, or the group that it communicates in
}

// group is nodes that communicate. Its transfer is drawn once, by the stage of
// its first member.
type group struct {
	members []int32
	across  bool  // all replicas take part together
	first   int32 // number in the trace, of replica 0 where replicas have groups of their own
}

// program is what every replica does in every step.
type program struct {
	layout  Layout
	nodes   []node
	stages  [][]int32 // nodes of each stage, in the order in which the host queues them
	groups  []group
	numbers int32   // of groups, in a step
	order   []group // each after what it waits for; who communicates with nobody is alone
	last    []int32 // [stage] the optimizer

	sends, receives map[wire]int32
}

func compile(l Layout) *program {
	p := &program{layout: l, sends: map[wire]int32{}, receives: map[wire]int32{}}
	for stage := range l.PP {
		b := &builder{p: p, stage: stage}
		b.build()
		p.last = append(p.last, int32(len(p.nodes)-1))
	}
	p.connect()
	p.collect()
	p.sort()
	return p
}

// wire is a transfer from a chunk of some depth in the model.
type wire struct {
	forward      bool
	depth, micro int
}

// builder queues the work of one stage.
type builder struct {
	p     *program
	stage int
	count [operator.GarbageCollection + 1]int // sequence numbers used so far
	queue [operator.GarbageCollection + 1]int32
	pass  [2]int32 // the last of each direction, or −1: backward, forward
}

// add appends a node that starts after others, −1 being nobody.
func (b *builder) add(class operator.Class, chunk, micro int, after ...int32) int32 {
	n := node{class: class, stage: b.stage, seq: b.count[class], chunk: chunk, micro: micro, group: -1}
	for _, u := range after {
		if u >= 0 && !slices.Contains(n.after, u) {
			n.after = append(n.after, u)
		}
	}
	b.count[class]++
	at := int32(len(b.p.nodes))
	b.p.nodes = append(b.p.nodes, n)
	b.p.stages[b.stage] = append(b.p.stages[b.stage], at)
	b.queue[class] = at
	return at
}

// build queues a step: gathering of parameters, passes with their transfers,
// reduction of gradients, the optimizer.
func (b *builder) build() {
	l := b.p.layout
	b.p.stages = append(b.p.stages, nil)
	b.pass = [2]int32{-1, -1}
	for c := range b.queue {
		b.queue[c] = -1
	}
	gathered := slices.Repeat([]int32{-1}, l.Chunks)
	stream := int32(-1)
	if l.DP > 1 {
		for chunk := range l.Chunks {
			for range l.Buckets {
				stream = b.add(operator.ParamsAllGather, chunk, -1, stream)
			}
			gathered[chunk] = stream
		}
	}
	passes := l.passes(b.stage)
	before, beforeThat := int32(-1), int32(-1)
	lastBackward := make([]int32, l.Chunks)
	for _, p := range passes {
		at := b.compute(p, before, beforeThat, gathered[p.chunk])
		if p.forward {
			gathered[p.chunk] = -1 // the first pass of the chunk has waited for it
		} else {
			lastBackward[p.chunk] = at
		}
		before, beforeThat = at, before
	}
	b.tail(before, stream, lastBackward)
}

// compute queues a pass between its receive and its send. before and
// beforeThat are the passes queued last.
func (b *builder) compute(p pass, before, beforeThat, gathered int32) int32 {
	l := b.p.layout
	depth := l.depth(b.stage, p.chunk)
	class, recv, send := operator.BackwardCompute, operator.BackwardRecv, operator.BackwardSend
	from, to, dir, sender := depth < l.PP*l.Chunks-1, depth > 0, 0, depth+1
	if p.forward {
		class, recv, send = operator.ForwardCompute, operator.ForwardRecv, operator.ForwardSend
		from, to, dir, sender = to, from, 1, depth-1
	}
	got := int32(-1)
	if from || l.Chunks > 1 {
		posted := b.pass[dir] // the pass before it in this direction
		if !p.forward && p.seq == 0 {
			posted = beforeThat // posted ahead, while the pipeline fills
		}
		got = b.add(recv, -1, -1, posted, b.queue[recv])
		if from {
			b.p.receives[wire{p.forward, sender, p.micro}] = got
		}
	}
	v := b.add(class, p.chunk, p.micro, before, got, gathered)
	b.pass[dir] = v
	if to || l.Chunks > 1 {
		sent := b.add(send, -1, -1, v, b.queue[send])
		if to {
			b.p.sends[wire{p.forward, depth, p.micro}] = sent
		}
	}
	return v
}

// tail queues what follows the last pass. stream is the last collective over
// the replicas so far.
func (b *builder) tail(last, stream int32, lastBackward []int32) {
	l := b.p.layout
	reduce := func(chunk int, after int32) {
		for range l.Buckets {
			stream = b.add(operator.GradsReduceScatter, chunk, -1, stream, after)
			after = -1
		}
	}
	early := l.DP > 1 && l.EarlyReduce
	if early {
		for chunk := l.Chunks - 1; chunk >= 0; chunk-- {
			reduce(chunk, lastBackward[chunk])
		}
	}
	at := b.add(operator.GarbageCollection, -1, -1, last)
	if early {
		at = b.add(operator.LayernormGradsAllReduce, -1, -1, at, stream)
	} else {
		at = b.add(operator.LayernormGradsAllReduce, -1, -1, at)
	}
	if b.stage == 0 || b.stage == l.PP-1 {
		at = b.add(operator.EmbeddingGradsAllReduce, -1, -1, at)
	}
	switch {
	case early:
		at = b.add(operator.SeparateGradsAllReduce, -1, -1, at)
	case l.DP > 1:
		for chunk := l.Chunks - 1; chunk >= 0; chunk-- {
			reduce(chunk, at)
			at = stream
		}
	}
	b.add(operator.Optimizer, -1, -1, b.add(operator.OptimizerClip, -1, -1, at))
}

// sync makes a group, unless its only member would wait for nobody.
func (p *program) sync(g group) {
	if len(g.members) == 1 && !(g.across && p.layout.DP > 1) {
		return
	}
	for _, v := range g.members {
		p.nodes[v].group = int32(len(p.groups))
	}
	g.first = p.numbers
	if p.numbers++; !g.across {
		p.numbers = g.first + int32(p.layout.DP)
	}
	p.groups = append(p.groups, g)
}

// number returns the number of a group in a step of the trace.
func (p *program) number(at int32, step, dp int) int32 {
	g := &p.groups[at]
	if g.across {
		dp = 0
	}
	return int32(step)*p.numbers + g.first + int32(dp)
}

// connect pairs sends with receives.
func (p *program) connect() {
	for _, forward := range []bool{true, false} {
		for depth := range p.layout.PP * p.layout.Chunks {
			for micro := range p.layout.Microbatches {
				at := wire{forward, depth, micro}
				if send, ok := p.sends[at]; ok {
					p.sync(group{members: []int32{send, p.receives[at]}})
				}
			}
		}
	}
}

// collect makes the groups of collectives.
func (p *program) collect() {
	var embedding, clip []int32
	for i := range p.nodes {
		v := int32(i)
		switch c := p.nodes[i].class; {
		case c == operator.EmbeddingGradsAllReduce:
			embedding = append(embedding, v)
		case c == operator.OptimizerClip:
			clip = append(clip, v)
		case c.AcrossReplicas():
			p.sync(group{members: []int32{v}, across: true})
		}
	}
	p.sync(group{members: embedding})
	p.sync(group{members: clip, across: true})
}

// sort orders groups, and the nodes that are in none, so that each comes after what its
// members wait for.
func (p *program) sort() {
	sets, of := slices.Clone(p.groups), make([]int, len(p.nodes))
	for v := range p.nodes {
		if of[v] = int(p.nodes[v].group); of[v] < 0 {
			of[v] = len(sets)
			sets = append(sets, group{members: []int32{int32(v)}})
		}
	}
	waits, next := make([]int, len(sets)), make([][]int, len(sets))
	for v := range p.nodes {
		for _, u := range p.nodes[v].after {
			waits[of[v]]++
			next[of[u]] = append(next[of[u]], of[v])
		}
	}
	var ready []int
	for i, n := range waits {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		p.order = append(p.order, sets[i])
		for _, j := range next[i] {
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	if len(p.order) < len(sets) {
		panic("pipeline: the schedule deadlocks")
	}
}
