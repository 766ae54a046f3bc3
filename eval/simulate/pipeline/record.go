package pipeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// table is what the rows of a node have in common in all steps, and where its
// rows stand in a trace.
type table struct {
	names  []string
	rows   []fixed // [node]
	groups int     // in a step; those within a replica count once per replica
}

// fixed are the constant columns of a node. sort is its place among nodes of
// its stage that start together: by name, then number. group is −1, or the
// number of its group in a step, of replica 0 where perReplica is 1.
type fixed struct {
	name, lane, seq, chunk, depth, micro int32
	sort                                 int32
	group, perReplica                    int32
}

func newTable(p *program) table {
	t := table{rows: make([]fixed, len(p.nodes))}
	var names [operator.GarbageCollection + 1]int32
	for c := range names {
		names[c] = -1
	}
	for v := range p.nodes {
		n := &p.nodes[v]
		if names[n.class] < 0 {
			names[n.class] = int32(len(t.names))
			t.names = append(t.names, n.class.String())
		}
		depth := -1
		if n.class.IsCompute() {
			depth = p.layout.depth(n.stage, n.chunk)
		}
		t.rows[v] = fixed{name: names[n.class], lane: n.class.Lane(), seq: int32(n.seq), chunk: int32(n.chunk), depth: int32(depth), micro: int32(n.micro), group: -1}
	}
	for _, nodes := range p.stages {
		order := slices.SortedFunc(slices.Values(nodes), func(x, y int32) int {
			return cmp.Or(cmp.Compare(p.nodes[x].class.String(), p.nodes[y].class.String()), cmp.Compare(p.nodes[x].seq, p.nodes[y].seq))
		})
		for i, v := range order {
			t.rows[v].sort = int32(i)
		}
	}
	for i := range p.groups {
		size, perReplica := p.layout.DP, int32(1)
		if p.groups[i].across {
			size, perReplica = 1, 0
		}
		for _, v := range p.groups[i].members {
			t.rows[v].group, t.rows[v].perReplica = int32(t.groups), perReplica
		}
		t.groups += size
	}
	return t
}

// trace makes an empty trace of n steps.
func (t *table) trace(s *Spec, n int) *operator.Trace {
	l := s.Layout
	ops := len(t.rows) * l.DP * n
	o := &operator.Trace{Run: s.Run, Names: slices.Clone(t.names), StepClock: !s.Clock.Running, Resolution: 1, Units: "nanoseconds (simulated)",
		Layout: operator.Layout{DP: l.DP, PP: l.PP, TP: l.TP, DSP: 1, VPP: l.Chunks, World: l.Workers() * l.TP},
		Start:  make([]int64, ops), Dur: make([]int64, ops)}
	for _, column := range []*[]int32{&o.Rank, &o.Step, &o.Name, &o.Lane, &o.Seq, &o.Chunk, &o.GlobalChunk, &o.Microbatch, &o.Group} {
		*column = make([]int32, ops)
	}
	for rank := range l.Workers() {
		o.Ranks = append(o.Ranks, trace.Rank{ID: rank, LocalRank: -1, Role: trace.Role{
			{Axis: trace.DataParallel, Index: rank % l.DP}, {Axis: trace.PipelineParallel, Index: rank / l.DP}}})
	}
	return o
}

// record writes the step that has run as step i of a trace, in the order of an
// arranged trace.
func (g *Generator) record(t *operator.Trace, i int) {
	l := g.spec.Layout
	n := t.Len() / len(g.start) // steps
	zero := int64(0)
	if t.StepClock {
		zero = g.firstReading()
	}
	t.Steps = append(t.Steps, g.spec.Steps.index(g.step))
	g.each(func(w *share) {
		before := 0 // rows of the stages before this one
		for pp, nodes := range g.program.stages {
			for dp := w.from; dp < w.to; dp++ {
				g.arrange(w.order[pp], dp, g.clocks[l.rank(dp, pp)])
				at := before + (dp*n+i)*len(nodes)
				g.write(part{t, i, at, zero}, w.order[pp], dp, pp)
			}
			before += len(nodes) * n * l.DP
		}
	})
}

// firstReading is what the clocks showed when the first operator started.
func (g *Generator) firstReading() int64 {
	first := int64(math.MaxInt64)
	for _, t := range g.program.order {
		n := &g.program.nodes[t.node]
		if len(n.after) > 0 {
			continue // it starts after another of its worker
		}
		for dp, start := range g.row(g.start, t.node) {
			first = min(first, g.clocks[g.spec.Layout.rank(dp, n.stage)].read(start))
		}
	}
	return first
}

// arrange sorts a stage's nodes by start on one replica. The order hardly
// differs between replicas and steps, so an insertion sort that begins with
// the order found last is quick; where it is not, another takes over.
func (g *Generator) arrange(order []int32, dp int, c clock) {
	n := g.spec.Layout.DP
	moves := 0
	for i := 1; i < len(order); i++ {
		v := order[i]
		start, at := c.read(g.start[int(v)*n+dp]), i
		for ; at > 0; at-- {
			u := order[at-1]
			if s := c.read(g.start[int(u)*n+dp]); s < start || s == start && g.table.rows[u].sort < g.table.rows[v].sort {
				break
			}
			order[at] = u
		}
		order[at] = v
		if moves += i - at; moves > maxMoves*len(order) {
			slices.SortFunc(order, func(u, v int32) int {
				return cmp.Or(cmp.Compare(c.read(g.start[int(u)*n+dp]), c.read(g.start[int(v)*n+dp])),
					cmp.Compare(g.table.rows[u].sort, g.table.rows[v].sort))
			})
			return
		}
	}
}

// maxMoves is how many places a node may move, on average, for an insertion
// sort to be worth it.
const maxMoves = 32

// part is where the rows of one worker in one step go.
type part struct {
	t    *operator.Trace
	step int
	at   int   // first row
	zero int64 // of the trace's clock
}

// write writes the rows of one worker.
func (g *Generator) write(p part, order []int32, dp, pp int) {
	t, l, n := p.t, g.spec.Layout, len(order)
	rank := l.rank(dp, pp)
	c := g.clocks[rank]
	g.writeTimes(t.Start[p.at:][:n], t.Dur[p.at:][:n], order, reading{c, dp, p.zero})
	ranks, steps, groups := t.Rank[p.at:][:n], t.Step[p.at:][:n], t.Group[p.at:][:n]
	names, lanes, seqs := t.Name[p.at:][:n], t.Lane[p.at:][:n], t.Seq[p.at:][:n]
	chunks, depths, micros := t.Chunk[p.at:][:n], t.GlobalChunk[p.at:][:n], t.Microbatch[p.at:][:n]
	firstGroup := int32(p.step * g.table.groups)
	for k, v := range order {
		f := &g.table.rows[v]
		ranks[k], steps[k], groups[k] = int32(rank), int32(p.step), -1
		names[k], lanes[k], seqs[k] = f.name, f.lane, f.seq
		chunks[k], depths[k], micros[k] = f.chunk, f.depth, f.micro
		if f.group >= 0 {
			groups[k] = firstGroup + f.group + f.perReplica*int32(dp)
		}
	}
}

// reading is how a worker's times are read: its clock, its replica, and the
// zero of the trace.
type reading struct {
	clock
	dp   int
	zero int64
}

func (g *Generator) writeTimes(start, dur []int64, order []int32, r reading) {
	n := g.spec.Layout.DP
	for k, v := range order {
		from, to := r.read(g.start[int(v)*n+r.dp]), r.read(g.end[int(v)*n+r.dp])
		start[k], dur[k] = from-r.zero, to-from
	}
}
