package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// pipeline builds the graph of a hybrid-parallel training step from the
// template of a grid, by the rules of the page docs/method-operators.md.
type pipeline struct {
	t      *operator.Trace
	g      *operator.Grid
	w      *operator.Wiring
	rows   []int32
	after  [][]int32
	placed []bool
	stages []stage
	groups []Group
	ends   []bool // by instance: the step is done when these are
	lacks  []string
	lax    Missing
	dp     bool // collectives over replicas are in the schedule
	early  bool // gradients are reduced while backward runs
}

// stage is the instances of one stage, in order of start.
type stage struct {
	number int
	all    []int32
	of     map[operator.Class][]int32
	passes []int32 // forward and backward
}

// schedule is the graph of a trace and the instance of every node.
type schedule struct {
	graph    graph
	instance []int32
	notes    []input.Note
}

func newSchedule(t *operator.Trace, g *operator.Grid, lax Missing) (*schedule, error) {
	if t.Serial {
		return newSerialSchedule(t, g), nil
	}
	w, err := t.Wire(g)
	if err != nil {
		return nil, err
	}
	n := len(g.Instances)
	b := &pipeline{t: t, g: g, w: w, rows: g.Template(), after: make([][]int32, n), placed: make([]bool, n),
		ends: make([]bool, n), lax: lax}
	b.sort()
	for _, s := range b.stages {
		b.streams(s)
		b.serve(s)
		b.firstBackward(s)
		if b.dp {
			b.replicaStream(s)
		}
		if err := b.tail(s); err != nil {
			return nil, err
		}
	}
	b.join()
	return b.schedule(), nil
}

// sort lists the instances of each stage by start, then number, then name.
func (b *pipeline) sort() {
	b.stages = make([]stage, b.g.Stages)
	b.dp = b.g.Replicas > 1 || b.t.Layout.DSP > 1
	for i, in := range b.g.Instances {
		s := &b.stages[in.Stage]
		s.all = append(s.all, int32(i))
		b.early = b.early || in.Class == operator.SeparateGradsAllReduce
		b.dp = b.dp || in.Class.AcrossReplicas() && in.Class != operator.OptimizerClip
	}
	for k := range b.stages {
		s := &b.stages[k]
		s.number = k
		slices.SortFunc(s.all, func(x, y int32) int {
			a, c := b.g.Instances[x], b.g.Instances[y]
			return cmp.Or(cmp.Compare(b.start(x), b.start(y)), cmp.Compare(a.Seq, c.Seq), cmp.Compare(b.t.Names[a.Name], b.t.Names[c.Name]))
		})
		s.of = make(map[operator.Class][]int32)
		for _, i := range s.all {
			class := b.g.Instances[i].Class
			s.of[class] = append(s.of[class], i)
			if class.IsCompute() {
				s.passes = append(s.passes, i)
			}
		}
	}
}

func (b *pipeline) start(i int32) int64 { return b.t.Start[b.rows[i]] }
func (b *pipeline) end(i int32) int64   { return b.t.Start[b.rows[i]] + b.t.Dur[b.rows[i]] }
func (b *pipeline) chunk(i int32) int32 { return b.t.Chunk[b.rows[i]] }

// edge adds the constraint that v starts no earlier than u ends.
func (b *pipeline) edge(u, v int32) {
	if !slices.Contains(b.after[v], u) {
		b.after[v] = append(b.after[v], u)
	}
	b.placed[u], b.placed[v] = true, true
}

// chain makes each instance wait for the one before it.
func (b *pipeline) chain(list []int32) {
	for i, v := range list {
		if b.placed[v] = true; i > 0 {
			b.edge(list[i-1], v)
		}
	}
}

// streams orders the streams of a rank: passes run one after the other, and so do the transfers of a kind.
func (b *pipeline) streams(s stage) {
	b.chain(s.passes)
	for _, class := range []operator.Class{operator.ForwardSend, operator.ForwardRecv, operator.BackwardSend, operator.BackwardRecv} {
		b.chain(s.of[class])
	}
}

// serve joins transfers with passes: a send waits for its pass; a pass waits for its receive, which is
// posted after the pass before it in the same direction.
func (b *pipeline) serve(s stage) {
	for _, i := range s.all {
		class, pass := b.g.Instances[i].Class, b.w.Serves[i]
		if !class.IsTransfer() || pass < 0 {
			continue
		}
		if !class.IsReceive() {
			b.edge(pass, i)
			continue
		}
		b.edge(i, pass)
		if before := b.instance(s, class.Serves(), b.g.Instances[pass].Seq-1); before >= 0 {
			b.edge(before, i)
		}
	}
}

// instance returns the instance of a class with a sequence number, or −1.
func (b *pipeline) instance(s stage, class operator.Class, seq int32) int32 {
	for _, i := range s.of[class] {
		if b.g.Instances[i].Seq == seq {
			return i
		}
	}
	return -1
}

// firstBackward delays backward: the first transfers of backward wait for the pass two places
// before the first backward pass, when the pipeline has filled that far.
func (b *pipeline) firstBackward(s stage) {
	first := slices.IndexFunc(s.passes, func(i int32) bool { return b.g.Instances[i].Class == operator.BackwardCompute })
	if first < 2 {
		return
	}
	for _, class := range []operator.Class{operator.BackwardRecv, operator.BackwardSend} {
		if i := b.instance(s, class, 0); i >= 0 {
			b.edge(s.passes[first-2], i)
		}
	}
}

// replicaStream orders collectives: those over replicas run one after the other; the last
// gathering of a chunk's parameters comes before the chunk's first forward
// pass, and, where gradients are reduced early, the first reduction of a
// chunk's gradients comes after its last backward pass.
func (b *pipeline) replicaStream(s stage) {
	var stream []int32
	for _, i := range s.all {
		if c := b.g.Instances[i].Class; c == operator.ParamsAllGather || c == operator.GradsReduceScatter {
			stream = append(stream, i)
		}
	}
	b.chain(stream)
	gathers := b.sortBySeq(s.of[operator.ParamsAllGather])
	slices.Reverse(gathers)
	for _, gather := range b.firstOfChunks(gathers) {
		if forward := b.instancesOf(s.of[operator.ForwardCompute], b.chunk(gather)); len(forward) > 0 {
			b.edge(gather, slices.MinFunc(forward, func(x, y int32) int { return cmp.Compare(b.start(x), b.start(y)) }))
		}
	}
	if !b.early {
		return
	}
	for _, reduce := range b.firstOfChunks(b.sortBySeq(s.of[operator.GradsReduceScatter])) {
		if backward := b.instancesOf(s.of[operator.BackwardCompute], b.chunk(reduce)); len(backward) > 0 {
			b.edge(slices.MaxFunc(backward, func(x, y int32) int { return cmp.Compare(b.end(x), b.end(y)) }), reduce)
		}
	}
}

// sortBySeq returns a copy of the instances of a class, sorted by sequence number.
func (b *pipeline) sortBySeq(list []int32) []int32 {
	return slices.SortedFunc(slices.Values(list), func(x, y int32) int { return cmp.Compare(b.g.Instances[x].Seq, b.g.Instances[y].Seq) })
}

// firstOfChunks keeps the first instance of each model chunk.
func (b *pipeline) firstOfChunks(list []int32) []int32 {
	seen := make(map[int32]bool)
	return slices.DeleteFunc(list, func(i int32) bool {
		again := seen[b.chunk(i)]
		seen[b.chunk(i)] = true
		return again
	})
}

// instancesOf returns the instances of a model chunk among some.
func (b *pipeline) instancesOf(list []int32, chunk int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(i int32) bool { return b.chunk(i) != chunk })
}

// tail adds what follows the last pass of a stage.
func (b *pipeline) tail(s stage) error {
	var missing []string
	for _, class := range []operator.Class{operator.ForwardCompute, operator.BackwardCompute} {
		if len(s.of[class]) == 0 {
			missing = append(missing, class.String())
		}
	}
	noPasses := len(missing) > 0
	only := func(class operator.Class) []int32 {
		i := b.instance(s, class, 0)
		if i < 0 {
			missing = append(missing, class.String())
			return nil
		}
		return []int32{i}
	}
	collect, norm := only(operator.GarbageCollection), only(operator.LayernormGradsAllReduce)
	chain := slices.Concat(collect, norm)
	if s.number == 0 || s.number == len(b.stages)-1 {
		chain = append(chain, only(operator.EmbeddingGradsAllReduce)...)
	}
	reduce := b.sortBySeq(s.of[operator.GradsReduceScatter])
	if b.early {
		chain = append(chain, only(operator.SeparateGradsAllReduce)...)
	} else {
		chain = append(chain, reduce...)
	}
	chain = slices.Concat(chain, only(operator.OptimizerClip), only(operator.Optimizer))
	if len(missing) > 0 && (b.lax == RefuseMissing || noPasses) {
		return input.Bad(input.ErrMissing, "stage %d has no %s in step %d, which a training step has",
			s.number, strings.Join(missing, ", no "), b.t.Steps[b.g.Steps[0]])
	}
	for _, m := range missing {
		if !slices.Contains(b.lacks, m) {
			b.lacks = append(b.lacks, m)
		}
	}
	last := slices.MaxFunc(s.passes, func(x, y int32) int { return cmp.Compare(b.end(x), b.end(y)) })
	if len(chain) == 0 {
		b.ends[last] = true
		return nil
	}
	b.edge(last, chain[0])
	b.chain(chain)
	b.ends[chain[len(chain)-1]] = true
	if b.early && len(reduce) > 0 {
		if after := slices.DeleteFunc(slices.Clone(chain), func(i int32) bool { return slices.Contains(collect, i) }); len(after) > 0 {
			b.edge(reduce[len(reduce)-1], after[0])
		}
	}
	return nil
}

// join makes the groups.
func (b *pipeline) join() {
	var clip, embedding []int32
	for i, in := range b.g.Instances {
		v := int32(i)
		switch c := in.Class; {
		case !b.placed[i]:
		case c.IsTransfer() && b.w.Peer[i] > v:
			b.groups = append(b.groups, Group{Members: []int32{v, b.w.Peer[i]}})
		case c == operator.EmbeddingGradsAllReduce:
			embedding = append(embedding, v)
		case c == operator.OptimizerClip:
			clip = append(clip, v)
		case c.AcrossReplicas():
			b.groups = append(b.groups, Group{Members: []int32{v}, AcrossReplicas: true})
		}
	}
	b.groups = append(b.groups, Group{Members: embedding}, Group{Members: clip, AcrossReplicas: true})
}

// schedule numbers the nodes: the instances that have a place.
func (b *pipeline) schedule() *schedule {
	s := &schedule{}
	node := make([]int32, len(b.placed))
	aside := make(map[string]int)
	for i, in := range b.g.Instances {
		if !b.placed[i] {
			aside[b.t.Names[in.Name]]++
			continue
		}
		node[i] = int32(len(s.instance))
		s.instance = append(s.instance, int32(i))
	}
	renumber := func(list []int32) []int32 {
		out := make([]int32, len(list))
		for k, i := range list {
			out[k] = node[i]
		}
		return out
	}
	for _, i := range s.instance {
		in := b.g.Instances[i]
		s.graph.Nodes = append(s.graph.Nodes, Node{Op: b.t.Names[in.Name], Seq: int(in.Seq), Stage: int(in.Stage), After: renumber(b.after[i]),
			Communication: in.Class.IsCommunication(), Final: b.ends[i]})
	}
	for _, g := range b.groups {
		s.graph.Groups = append(s.graph.Groups, Group{renumber(g.Members), g.AcrossReplicas})
	}
	if len(b.lacks) > 0 {
		s.notes = append(s.notes, input.Note{Kind: input.NoteUnknown, Text: "not in the trace, and left out of the replay: " + strings.Join(b.lacks, ", ")})
	}
	if len(aside) > 0 {
		var words []string
		for name, n := range aside {
			words = append(words, fmt.Sprintf("%d %s", n, name))
		}
		slices.Sort(words)
		s.notes = append(s.notes, input.Note{Kind: input.NoteUnjoined, Text: "operators without a place in the schedule are left out, their time counts as launch delay of what follows: " +
			strings.Join(words, ", ")})
	}
	return s
}
