package operators

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// profiled is what a profiler records of a data-parallel job: in each of ten
// steps four kernels on one queue, 1 ms each with 1 % noise, then an all-reduce
// of 2 ms that waits for the last rank. The third kernel of a rank takes by so
// much longer in some steps.
func profiled(ranks, slow int, by int64) *operator.Trace {
	o := &operator.Trace{Run: "job", Names: []string{"gemm", "softmax", "ncclAllReduce"}, Resolution: 1, Layout: operator.Layout{DP: ranks, PP: 1, World: ranks}}
	rng := rand.New(rand.NewPCG(3, 3))
	add := func(r, s int, name, seq, group int32, start, dur int64) {
		o.Rank, o.Step, o.Name, o.Seq = append(o.Rank, int32(r)), append(o.Step, int32(s)), append(o.Name, name), append(o.Seq, seq)
		o.Lane, o.Group = append(o.Lane, name/2), append(o.Group, group)
		o.Chunk, o.GlobalChunk, o.Microbatch = append(o.Chunk, -1), append(o.GlobalChunk, -1), append(o.Microbatch, -1)
		o.Start, o.Dur = append(o.Start, start), append(o.Dur, dur)
	}
	for r := range ranks {
		o.Ranks = append(o.Ranks, trace.Rank{ID: r, Role: trace.Role{{Axis: trace.DataParallel, Index: r}, {Axis: trace.PipelineParallel, Index: 0}}})
	}
	for s := range 10 {
		o.Steps = append(o.Steps, int64(s))
		ends, last := make([]int64, ranks), int64(0)
		for r := range ranks {
			at := int64(s) * 20_000_000
			for k := range int32(4) {
				dur := int64(1e6 * (1 + 0.01*rng.NormFloat64()))
				if r == slow && k == 2 {
					dur += by
				}
				add(r, s, k%2, k/2, -1, at, dur)
				at += dur + 2000
			}
			ends[r], last = at, max(last, at)
		}
		for r := range ranks {
			add(r, s, 2, 0, int32(s), ends[r], last+2_000_000-ends[r])
		}
	}
	return o
}

func observe(t *testing.T, o *operator.Trace) *View {
	t.Helper()
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	v, err := Observe(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestObserve: of a trace without a schedule, outliers, completion and blame point
// at the slow kernel of the slow rank; those who wait for it in the collective
// are not blamed.
func TestObserve(t *testing.T) {
	v := observe(t, profiled(6, 4, 700_000))
	if v.Model != nil || v.Workers() != 6 || len(v.Steps()) != 10 {
		t.Fatalf("%d workers, steps %v", v.Workers(), v.Steps())
	}
	r, series, operators := outliersOf(t, v)
	for _, s := range series {
		communicates := operators[s.Op].Name == "ncclAllReduce"
		if waits := s.Quantity == zscore.Wait || s.Quantity == zscore.Transfer; waits != communicates {
			t.Errorf("quantity %d of %s is compared", s.Quantity, operators[s.Op].Name)
		}
	}
	s := v.Suspects(r, series, operators)
	if excess := float64(s[0].Excess); s[0].Worker != 4 || excess < 0.95*7e6 || excess > 1.05*7e6 {
		t.Errorf("most excess is on worker %d, %d ns; 7 ms on worker 4 are hidden", s[0].Worker, s[0].Excess)
	}
	w, err := v.Flags(r, series, operators).Walk([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, blame.Options{Tie: v.Tie()})
	if err != nil {
		t.Fatal(err)
	}
	if c := w.Culprits[0]; c.Kind != blame.LongOp || c.Worker != 4 || c.Op != "gemm" || !slices.Equal(c.Seqs, []int{1}) || len(c.Steps) != 10 {
		t.Errorf("the first culprit is %+v", c)
	}
	completion, err := ks.Analyze(v.Completions(), ks.Options{})
	if err != nil || completion.Ranking[0] != 4 {
		t.Errorf("the completion ranks %v first, %v", completion.Ranking, err)
	}
}

// TestUnmatchedCommunication: of a collective whose other members were not
// found, the time is mostly wait and is not compared.
func TestUnmatchedCommunication(t *testing.T) {
	o := profiled(4, 1, 0)
	for i := range o.Group {
		o.Group[i] = -1
	}
	v := observe(t, o)
	series, operators := v.Series()
	for _, s := range series {
		if operators[s.Op].Name == "ncclAllReduce" && s.Quantity != zscore.Start {
			t.Errorf("quantity %d of it is compared", s.Quantity)
		}
	}
}

// TestReplayNeedsASchedule: it is refused with the reason, and what has nothing
// in common too.
func TestReplayNeedsASchedule(t *testing.T) {
	o := profiled(3, 1, 0)
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := New(o, whatif.Options{}); err == nil || !strings.Contains(err.Error(), "pipeline schedule") {
		t.Errorf("replay of kernels: %v", err)
	}
	for i := range o.Name {
		o.Name[i] = o.Rank[i]
	}
	for i := range o.Seq {
		o.Seq[i] = int32(i)
	}
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Observe(o); err == nil || !strings.Contains(err.Error(), "the same number on all ranks") {
		t.Errorf("nothing in common: %v", err)
	}
}

// FuzzObserve: whatever ran where, in which groups and for how long, the
// engines take the view or it is refused.
func FuzzObserve(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed, uint8(seed), uint8(seed*37))
	}
	f.Fuzz(func(t *testing.T, seed uint64, ranks, harm uint8) {
		rng := rand.New(rand.NewPCG(seed, uint64(harm)))
		o := profiled(1+int(ranks%6), int(seed%6), int64(harm)*10_000)
		for range int(harm) {
			i := rng.IntN(o.Len())
			switch rng.IntN(6) {
			case 0:
				o.Group[i] = int32(rng.IntN(12)) - 1
			case 1:
				o.Start[i] = rng.Int64N(1 << 40)
			case 2:
				o.Dur[i] = rng.Int64N(1 << 40)
			case 3:
				o.Name[i] = int32(rng.IntN(3))
			case 4:
				o.Lane[i] = int32(rng.IntN(5))
			case 5:
				o.Seq[i] = int32(rng.IntN(5))
			}
		}
		if o.Arrange(nil) != nil {
			return // a reader refuses it
		}
		v, err := Observe(o)
		if err != nil {
			return
		}
		series, operators := v.Series()
		r, err := zscore.Analyze(series, zscore.Options{})
		if err != nil {
			return
		}
		v.Suspects(r, series, operators)
		steps := make([]int, len(v.Steps()))
		for i := range steps {
			steps[i] = i
		}
		if _, err := v.Flags(r, series, operators).Walk(steps, blame.Options{Tie: v.Tie()}); err != nil {
			t.Error(err)
		}
		v.Frequency("gemm", 20)
		o2 := ks.Options{Replicates: 19}
		if _, err := ks.Analyze(v.Completions(), o2); err != nil {
			t.Log(err)
		}
	})
}

// TestEveryone: series of an operator on two stages are one, step by step, and one that a stage
// alone has stays as it is.
func TestEveryone(t *testing.T) {
	series := []zscore.Series{
		{Op: 0, Quantity: zscore.Start, Workers: []int{0, 1}, X: []int64{1, 2, 3, 4}},
		{Op: 1, Quantity: zscore.Start, Workers: []int{2, 3}, X: []int64{5, 6, 7, 8}},
		{Op: 2, Quantity: zscore.Duration, Workers: []int{2, 3}, X: []int64{9, 9, 9, 9}},
	}
	ops := []Operator{{Name: "forward", Stage: 0}, {Name: "forward", Stage: 1, Instance: 4}, {Name: "forward", Stage: 1, Seq: 1, Instance: 5}}
	all, of := Everyone(series, ops)
	want := []zscore.Series{
		{Op: 0, Quantity: zscore.Start, Workers: []int{0, 1, 2, 3}, X: []int64{1, 2, 5, 6, 3, 4, 7, 8}},
		{Op: 1, Quantity: zscore.Duration, Workers: []int{2, 3}, X: []int64{9, 9, 9, 9}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]Operator{{Name: "forward", Stage: -1}, {Name: "forward", Stage: -1, Seq: 1, Instance: 5}}, of); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
