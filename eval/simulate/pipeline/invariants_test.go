package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/operator"
)

// busy uses everything that draws a random number, on one clock.
func busy(l Layout) Spec {
	s := DefaultSpec()
	s.Layout, s.Seed = l, 5
	s.Steps = Steps{Count: 6, First: 3, Every: 2}
	s.SpeedSD, s.Between = 0.05, Dist{2, 1}
	s.Ops.Forward.Jitter, s.Ops.Backward.Jitter, s.Ops.ForwardTransfer.Jitter = 0.3, 0.3, 2
	s.Faults = []Fault{
		{Kind: SlowWorker, Size: Size{Factor: 1.7}, When: When{Probability: 0.5}},
		{Kind: SlowOp, Size: Size{Sigma: 4}},
		{Kind: SlowStage, Size: Size{Factor: 1.2}, When: When{From: 2}},
		{Kind: Workload, Size: Size{Factor: 1.3}, Shared: 0.4},
		{Kind: LateStart, Size: Size{Delay: 50}, When: When{Every: 3}},
	}
	if l.PP > 1 {
		s.Faults = append(s.Faults, Fault{Kind: SlowEdge, Size: Size{Delay: 20}})
	}
	if l.DP > 1 {
		s.Faults = append(s.Faults, Fault{Kind: SlowGroup, Size: Size{Factor: 3}, When: When{Until: 4}})
	}
	return s
}

// layouts are of every kind.
func layouts() map[string]Layout {
	list := make(map[string]Layout)
	for _, l := range []Layout{
		{DP: 1, PP: 1, TP: 1, Chunks: 1, Microbatches: 1, Buckets: 1},
		{DP: 4, PP: 1, TP: 2, Chunks: 1, Microbatches: 3, Buckets: 2},
		{DP: 1, PP: 4, TP: 1, Chunks: 1, Microbatches: 6, Buckets: 1},
		{DP: 3, PP: 4, TP: 8, Chunks: 1, Microbatches: 9, Buckets: 1},
		{DP: 2, PP: 3, TP: 1, Chunks: 1, Microbatches: 2, Buckets: 3, EarlyReduce: true},
		{DP: 2, PP: 2, TP: 1, Chunks: 3, Microbatches: 6, Buckets: 2},
		{DP: 3, PP: 4, TP: 1, Chunks: 2, Microbatches: 4, Buckets: 2, EarlyReduce: true},
		{DP: 160, PP: 2, TP: 1, Chunks: 1, Microbatches: 2, Buckets: 1},
	} {
		list[fmt.Sprintf("dp=%d/pp=%d/vpp=%d/early=%v", l.DP, l.PP, l.Chunks, l.EarlyReduce)] = l
	}
	return list
}

// TestArranged: a trace is as Arrange and Join would leave it, but for the
// numbers of groups.
func TestArranged(t *testing.T) {
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			s := busy(l)
			s.Clock = Clock{Clock: simulate.Clock{SkewSD: 3, DriftPPM: 2e4}} // so that rows of one instant collapse
			o := simulated(t, s)
			again := *o
			for _, c := range []*[]int32{&again.Rank, &again.Step, &again.Name, &again.Lane, &again.Seq, &again.Chunk, &again.GlobalChunk, &again.Microbatch, &again.Group} {
				*c = slices.Clone(*c)
			}
			again.Start, again.Dur = slices.Clone(o.Start), slices.Clone(o.Dur)
			if err := again.Arrange(nil); err != nil {
				t.Fatal(err)
			}
			if column := differ(o, &again); column != "" {
				t.Fatalf("arranging changes the %s", column)
			}
			g, err := o.Grid()
			if err != nil {
				t.Fatal(err)
			}
			w, err := o.Wire(g)
			if err != nil {
				t.Fatal(err)
			}
			if len(g.Steps) != len(o.Steps) || len(g.Notes) > 0 {
				t.Errorf("%d of %d steps run the program, notes %v", len(g.Steps), len(o.Steps), g.Notes)
			}
			again.Join(g, w)
			if !samePartition(o.Group, again.Group) {
				t.Error("groups differ from those that Join finds")
			}
		})
	}
}

// differ names a column in which two traces differ, "" for none.
func differ(a, b *operator.Trace) string {
	for _, c := range []struct {
		name string
		same bool
	}{
		{"ranks", slices.Equal(a.Rank, b.Rank)}, {"steps", slices.Equal(a.Step, b.Step) && slices.Equal(a.Steps, b.Steps)},
		{"names", slices.Equal(a.Name, b.Name) && slices.Equal(a.Names, b.Names)}, {"lanes", slices.Equal(a.Lane, b.Lane)},
		{"numbers", slices.Equal(a.Seq, b.Seq)}, {"starts", slices.Equal(a.Start, b.Start)}, {"durations", slices.Equal(a.Dur, b.Dur)},
		{"chunks", slices.Equal(a.Chunk, b.Chunk) && slices.Equal(a.GlobalChunk, b.GlobalChunk)},
		{"microbatches", slices.Equal(a.Microbatch, b.Microbatch)}, {"groups", slices.Equal(a.Group, b.Group)},
	} {
		if !c.same {
			return c.name
		}
	}
	return ""
}

// samePartition reports whether two columns put the same rows together.
func samePartition(a, b []int32) bool {
	there, back := map[int32]int32{-1: -1}, map[int32]int32{-1: -1}
	for i := range a {
		x, seen := there[a[i]]
		y, seenBack := back[b[i]]
		if seen != seenBack || seen && (x != b[i] || y != a[i]) {
			return false
		}
		there[a[i]], back[b[i]] = b[i], a[i]
	}
	return len(a) == len(b)
}

// TestInvariants: members of a group end together and none before the last has
// started; operators of a lane do not overlap; durations are not negative.
func TestInvariants(t *testing.T) {
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			o := simulated(t, busy(l))
			if want := 6 * len(compile(l).nodes) * l.DP; o.Len() != want {
				t.Errorf("%d operators, want %d", o.Len(), want)
			}
			wait, transfer := o.Waits()
			ends := make(map[int32]int64)
			type lane struct{ rank, step, lane int32 }
			free := make(map[lane]int64)
			for i := range o.Start {
				what := fmt.Sprintf("%s %d of rank %d in step %d", o.Names[o.Name[i]], o.Seq[i], o.Rank[i], o.Step[i])
				end := o.Start[i] + o.Dur[i]
				if o.Dur[i] < 0 || wait[i] < 0 || transfer[i] < 0 {
					t.Fatalf("%s lasts %d, of which it waits %d", what, o.Dur[i], wait[i])
				}
				if first, ok := ends[o.Group[i]]; ok && o.Group[i] >= 0 && first != end {
					t.Fatalf("%s ends at %d, another of its group at %d", what, end, first)
				}
				ends[o.Group[i]] = end
				k := lane{o.Rank[i], o.Step[i], o.Lane[i]}
				if o.Start[i] < free[k] {
					t.Fatalf("%s starts at %d, its lane is taken until %d", what, o.Start[i], free[k])
				}
				free[k] = end
			}
		})
	}
}

// TestDependencies: who waits for whom, told again from what a training step
// does, on the rows alone.
func TestDependencies(t *testing.T) {
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			d := index(simulated(t, busy(l)))
			for k, i := range d.row {
				d.checkWorker(t, l, k, i)
				d.checkModel(t, l, k, i)
			}
			if d.checked < len(d.row) {
				t.Errorf("only %d pairs were found among %d operators", d.checked, len(d.row))
			}
		})
	}
}

// instance is an operator by name, passage one by place in the model.
type instance struct {
	rank, step int32
	class      operator.Class
	seq        int
}

type passage struct {
	dp, step, depth, micro int32
	forward                bool
}

// indexed finds the rows of a trace.
type indexed struct {
	o       *operator.Trace
	row     map[instance]int
	passes  map[passage]int
	checked int
}

func index(o *operator.Trace) *indexed {
	d := &indexed{o: o, row: make(map[instance]int), passes: make(map[passage]int)}
	dp, _ := o.Coordinates()
	for i, r := range o.Rank {
		k := instance{r, o.Step[i], operator.ParseClass(o.Names[o.Name[i]]), int(o.Seq[i])}
		d.row[k] = i
		if k.class.IsCompute() {
			d.passes[passage{int32(dp[r]), k.step, o.GlobalChunk[i], o.Microbatch[i], k.class == operator.ForwardCompute}] = i
		}
	}
	return d
}

// after checks that v starts when u has ended, where both exist.
func (d *indexed) after(t *testing.T, u, v instance) {
	t.Helper()
	i, ok := d.row[u]
	j, ok2 := d.row[v]
	if ok && ok2 {
		d.checked++
		if d.o.Start[j] < d.o.Start[i]+d.o.Dur[i] {
			t.Fatalf("%v %d starts before %v %d has ended, on rank %d", v.class, v.seq, u.class, u.seq, u.rank)
		}
	}
}

// checkWorker: what one worker's operators wait for on the worker.
func (d *indexed) checkWorker(t *testing.T, l Layout, k instance, i int) {
	is := func(c operator.Class, seq int) instance { return instance{k.rank, k.step, c, seq} }
	chunk := int(d.o.Chunk[i])
	switch k.class {
	case operator.ForwardCompute:
		d.after(t, is(operator.ForwardRecv, k.seq), k)
		d.after(t, k, is(operator.ForwardSend, k.seq))
		for b := range l.Buckets {
			d.after(t, is(operator.ParamsAllGather, chunk*l.Buckets+b), k)
		}
	case operator.BackwardCompute:
		d.after(t, is(operator.BackwardRecv, k.seq), k)
		d.after(t, k, is(operator.BackwardSend, k.seq))
		d.after(t, k, is(operator.GarbageCollection, 0))
		for b := range l.Buckets {
			d.after(t, k, is(operator.GradsReduceScatter, (l.Chunks-1-chunk)*l.Buckets+b))
		}
	case operator.LayernormGradsAllReduce:
		d.after(t, is(operator.GarbageCollection, 0), k)
		d.after(t, k, is(operator.EmbeddingGradsAllReduce, 0))
	case operator.EmbeddingGradsAllReduce, operator.SeparateGradsAllReduce:
		d.after(t, is(operator.LayernormGradsAllReduce, 0), k)
		d.after(t, k, is(operator.OptimizerClip, 0))
	case operator.GradsReduceScatter:
		if l.EarlyReduce {
			d.after(t, k, is(operator.LayernormGradsAllReduce, 0))
			break
		}
		d.after(t, is(operator.LayernormGradsAllReduce, 0), k)
		d.after(t, is(operator.EmbeddingGradsAllReduce, 0), k)
		d.after(t, k, is(operator.OptimizerClip, 0))
	case operator.Optimizer:
		d.after(t, is(operator.OptimizerClip, 0), k)
	}
}

// checkModel: a microbatch passes forward through the depths of the model, and
// then back.
func (d *indexed) checkModel(t *testing.T, l Layout, k instance, i int) {
	if !k.class.IsCompute() {
		return
	}
	p := passage{k.rank % int32(l.DP), k.step, d.o.GlobalChunk[i], d.o.Microbatch[i], k.class == operator.ForwardCompute}
	before := p
	switch {
	case p.forward && p.depth == 0:
		return
	case p.forward:
		before.depth--
	case int(p.depth) == l.PP*l.Chunks-1:
		before.forward = true
	default:
		before.depth++
	}
	j, ok := d.passes[before]
	if !ok {
		t.Fatalf("%+v has nothing before it", p)
	}
	d.checked++
	if d.o.Start[i] < d.o.Start[j]+d.o.Dur[j] {
		t.Fatalf("%+v starts before %+v has ended", p, before)
	}
}

// TestEarlyReduction: the last chunk is through first, and its gradients are
// reduced while the backward passes of the others go on.
func TestEarlyReduction(t *testing.T) {
	l := Layout{DP: 2, PP: 2, TP: 1, Chunks: 3, Microbatches: 4, Buckets: 2, EarlyReduce: true}
	d := index(simulated(t, quiet(l)))
	for rank := range int32(4) {
		for seq := range 6 {
			i := d.row[instance{rank, 0, operator.GradsReduceScatter, seq}]
			if want := int32(2 - seq/2); d.o.Chunk[i] != want {
				t.Errorf("rank %d: reduction %d is of chunk %d, want %d", rank, seq, d.o.Chunk[i], want)
			}
			last := int64(0) // end of the chunk's backward passes on the worker
			for k, j := range d.row {
				if k.rank == rank && k.class == operator.BackwardCompute && d.o.Chunk[j] == d.o.Chunk[i] {
					last = max(last, d.o.Start[j]+d.o.Dur[j])
				}
			}
			if seq%2 == 0 && d.o.Start[i] != last {
				t.Errorf("rank %d: reduction %d starts at %d, the chunk is through at %d", rank, seq, d.o.Start[i], last)
			}
		}
	}
}

// TestDeterminism: the same trace to the bit.
func TestDeterminism(t *testing.T) {
	s := busy(Layout{DP: 64, PP: 2, TP: 2, Chunks: 2, Microbatches: 2, Buckets: 1})
	s.Clock = Clock{simulate.Clock{SkewSD: 1, DriftPPM: 10}, true}
	if column := differ(simulated(t, s), simulated(t, s)); column != "" {
		t.Errorf("the %s differ", column)
	}
}
