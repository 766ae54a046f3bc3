package pipeline

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/trace/operator"
)

// drawn are the draws of one step of a spec, before it runs.
func drawn(t *testing.T, s Spec, step int) *generator {
	t.Helper()
	g, err := newGenerator(s)
	if err != nil {
		t.Fatal(err)
	}
	g.step = step
	g.draw()
	return g
}

// change is one draw that a fault changes: "late" for a launch delay.
type change struct {
	Op     string
	Seq    int
	PP, DP int
	Late   bool
}

// changes are the draws in which a spec differs from its healthy twin, and by
// how much.
func changes(t *testing.T, s Spec, step int) map[change]int64 {
	t.Helper()
	sick, well := drawn(t, s, step), drawn(t, s.Healthy(), step)
	list := make(map[change]int64)
	for v := range sick.program.nodes {
		n := &sick.program.nodes[v]
		for dp := range s.Layout.DP {
			at := v*s.Layout.DP + dp
			if d := sick.start[at] - well.start[at]; d != 0 {
				list[change{n.class.String(), n.seq, n.stage, dp, true}] = d
			}
			if d := sick.end[at] - well.end[at]; d != 0 {
				list[change{n.class.String(), n.seq, n.stage, dp, false}] = d
			}
		}
	}
	return list
}

// TestPlacement: a fault changes the draws of its place, by its size, and no
// other number: a run and its healthy twin share all noise. The transfer of a
// collective is drawn once, and stands with replica 0.
func TestPlacement(t *testing.T) {
	l := Layout{DP: 3, PP: 3, TP: 2, Chunks: 1, Microbatches: 3, Buckets: 2}
	each := func(op string, pp, dp, n int, late bool) (list []change) {
		for seq := range n {
			list = append(list, change{op, seq, pp, dp, late})
		}
		return list
	}
	fc, bc := "forward-compute", "backward-compute"
	tests := []struct {
		fault Fault
		want  []change
		delay int64 // 0: not the same for all
	}{
		{Fault{Kind: SlowWorker, Where: Where{DP: new(2), PP: new(1)}, Size: Size{Delay: 5}},
			append(each(fc, 1, 2, 3, false), each(bc, 1, 2, 3, false)...), 5 * ms},
		{Fault{Kind: SlowWorker, Where: Where{DP: new(0), PP: new(2), Op: fc}, Size: Size{Factor: 1.5}}, each(fc, 2, 0, 3, false), 0},
		{Fault{Kind: SlowWorker, Where: Where{DP: new(0), PP: new(2), Op: "gc"}, Size: Size{Delay: 300}}, each("gc", 2, 0, 1, false), 300 * ms},
		{Fault{Kind: SlowWorker, Where: Where{DP: new(1), PP: new(0), Op: "layernorm-grads-all-reduce"}, Size: Size{Delay: 7}},
			each("layernorm-grads-all-reduce", 0, 1, 1, false), 7 * ms},
		// 3 deviations of 2.4 % of 382 ms
		{Fault{Kind: SlowOp, Where: Where{DP: new(1), PP: new(1), Seq: new(2)}, Size: Size{Sigma: 3}}, []change{{bc, 2, 1, 1, false}}, 27_504_000},
		{Fault{Kind: SlowStage, Where: Where{PP: new(2), Op: bc}, Size: Size{Delay: 1}},
			slices.Concat(each(bc, 2, 0, 3, false), each(bc, 2, 1, 3, false), each(bc, 2, 2, 3, false)), ms},
		{Fault{Kind: SlowEdge, Where: Where{DP: new(1), PP: new(0)}, Size: Size{Delay: 9}}, each("forward-send", 0, 1, 3, false), 9 * ms},
		{Fault{Kind: SlowEdge, Where: Where{DP: new(1), PP: new(2), Op: "backward-send", Seq: new(1)}, Size: Size{Delay: 9}}, []change{{"backward-send", 1, 2, 1, false}}, 9 * ms},
		{Fault{Kind: SlowGroup, Where: Where{PP: new(1)}, Size: Size{Delay: 9}}, each("grads-reduce-scatter", 1, 0, 2, false), 9 * ms},
		{Fault{Kind: SlowGroup, Where: Where{PP: new(0), Op: "params-all-gather", Seq: new(1)}, Size: Size{Delay: 9}}, []change{{"params-all-gather", 1, 0, 0, false}}, 9 * ms},
		{Fault{Kind: LateStart, Where: Where{DP: new(2), PP: new(1), Seq: new(0)}, Size: Size{Delay: 80}}, []change{{fc, 0, 1, 2, true}}, 80 * ms},
		{Fault{Kind: LateStart, Where: Where{DP: new(2), PP: new(1), Op: "forward-recv", Seq: new(2)}, Size: Size{Delay: 80}}, []change{{"forward-recv", 2, 1, 2, true}}, 80 * ms},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.fault.Kind, " ", test.fault.Op), func(t *testing.T) {
			s := DefaultSpec()
			s.Layout, s.Seed = l, 11
			s.Faults = []Fault{test.fault}
			got := changes(t, s, 4)
			for _, c := range test.want {
				d, ok := got[c]
				if !ok {
					t.Errorf("%+v is as in the healthy twin", c)
				}
				if test.delay > 0 && d != test.delay {
					t.Errorf("%+v takes %d ns longer, want %d", c, d, test.delay)
				}
				delete(got, c)
			}
			if len(got) > 0 {
				t.Errorf("other draws differ from the healthy twin: %v", got)
			}
		})
	}
}

// TestFactor: a factor multiplies what the healthy twin draws.
func TestFactor(t *testing.T) {
	s := DefaultSpec()
	s.Faults = []Fault{{Kind: SlowStage, Where: Where{PP: new(1)}, Size: Size{Factor: 1.25}}}
	sick, well := drawn(t, s, 0), drawn(t, s.Healthy(), 0)
	n := 0
	for v := range sick.program.nodes {
		for dp := range s.Layout.DP {
			a, b := sick.end[v*s.Layout.DP+dp], well.end[v*s.Layout.DP+dp]
			if a == b {
				continue
			}
			n++
			if math.Abs(float64(a)-1.25*float64(b)) > 1 {
				t.Fatalf("%d ns became %d, want × 1.25", b, a)
			}
		}
	}
	if want := 2 * 32 * 4; n != want {
		t.Errorf("%d passes are slower, want %d", n, want)
	}
}

// TestWorkload: both passes of a microbatch are longer by the same factor on
// all stages of its replica. Its mean over many is the fault's; it has a heavy
// tail; what microbatches of a replica share makes them alike.
func TestWorkload(t *testing.T) {
	for _, shared := range []float64{0, 0.5, 1} {
		s := DefaultSpec()
		s.Layout = Layout{DP: 500, PP: 2, TP: 1, Chunks: 1, Microbatches: 64, Buckets: 1}
		s.Faults = []Fault{{Kind: Workload, Size: Size{Factor: 1.5}, Shared: shared}}
		sick, well := drawn(t, s, 0), drawn(t, s.Healthy(), 0)
		type key struct{ dp, micro int }
		length := make(map[key]float64)
		for v := range sick.program.nodes {
			n := &sick.program.nodes[v]
			for dp := range s.Layout.DP {
				f := float64(sick.end[v*s.Layout.DP+dp]) / float64(well.end[v*s.Layout.DP+dp])
				k := key{dp, n.micro}
				switch other, ok := length[k]; {
				case !n.class.IsCompute() && f != 1 && sick.end[v*s.Layout.DP+dp] != well.end[v*s.Layout.DP+dp]:
					t.Fatalf("%v is %v times as long", n.class, f)
				case n.class.IsCompute() && ok && math.Abs(f-other) > 1e-7:
					t.Fatalf("passes of microbatch %d of replica %d are %v and %v times as long", n.micro, dp, f, other)
				case n.class.IsCompute():
					length[k] = f
				}
			}
		}
		var sum, tail, between float64
		for dp := range s.Layout.DP {
			one := 0.0
			for m := range s.Layout.Microbatches {
				extra := (length[key{dp, m}] - 1) / 0.5
				one += extra / 64
				if extra > 8 {
					tail++
				}
			}
			sum += one / 500
			between += (one - 1) * (one - 1) / 500
		}
		// Cut at 20 the variable has E y² = ∫ 2y (1+y/2)^−3 dy = 3.306 and mean
		// 120/121, so at mean 1 the variance 2.36. That of the mean of n
		// independent ones is 1/n of it.
		independent := shared*shared + (1-shared)*(1-shared)/64
		if math.Abs(sum-1) > 5*math.Sqrt(2.36*independent/500) {
			t.Errorf("shared %v: mean extra length is %.4f of the fault's", shared, sum)
		}
		if got, want := between/independent, 2.36; got < want/2 || got > want*2 {
			t.Errorf("shared %v: variance of replicas is %.3f, want %.3f", shared, between, want*independent)
		}
		// P(y > 8) = (1 + 4)^−3 = 0.8 %
		if share := tail / (500 * 64); shared == 0 && (share < 0.006 || share > 0.010) {
			t.Errorf("%.2f %% of the microbatches are over 8 times the mean extra length, want 0.80", 100*share)
		}
	}
}

// TestWhen: constant, from a step on, in one step, every third, by chance.
func TestWhen(t *testing.T) {
	tests := []struct {
		when         When
		want         []StepRange
		intermittent bool
	}{
		{When{}, []StepRange{{10, 28, 10}}, false},
		{When{From: 6}, []StepRange{{22, 28, 4}}, false},
		{When{From: 3, Until: 4}, []StepRange{{16, 16, 1}}, false},
		{When{From: 1, Every: 3}, []StepRange{{12, 12, 1}, {18, 18, 1}, {24, 24, 1}}, true},
		{When{From: 10}, []StepRange{}, false},
	}
	for _, test := range tests {
		s := quiet(layout(2, 2, 2))
		s.Steps = Steps{Count: 10, First: 10, Every: 2}
		s.Faults = []Fault{{Kind: SlowOp, Size: Size{Delay: 3}, When: test.when}}
		_, truth, err := Make(s)
		if err != nil {
			t.Fatal(err)
		}
		f := truth.Faults[0]
		if diff := cmp.Diff(test.want, f.Steps); diff != "" || f.Intermittent != test.intermittent {
			t.Errorf("%+v: intermittent %v, steps (-want +got):\n%s", test.when, f.Intermittent, diff)
		}
		for step := range 10 {
			struck := slices.ContainsFunc(test.want, func(r StepRange) bool { return r.First <= s.Steps.index(step) && s.Steps.index(step) <= r.Last })
			if got := len(changes(t, s, step)); got > 1 || (got == 1) != struck {
				t.Errorf("%+v: %d draws changed in step %d, want one: %v", test.when, got, step, struck)
			}
		}
	}
	s := quiet(layout(2, 2, 2))
	s.Steps.Count = 4000
	s.Faults = []Fault{{Kind: SlowOp, Size: Size{Delay: 3}, When: When{Probability: 0.3}}}
	g, err := newGenerator(s)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range g.spec.truth(g.program).Faults[0].Steps {
		n += r.Count
	}
	if n < 1100 || n > 1300 { // Binomial(4000, 0.3): 1200 ± 29
		t.Errorf("%d strikes in 4000 steps, want about 1200", n)
	}
}

// TestHidden: what the spec leaves open is chosen by the seed, everywhere that
// is possible, and does not move when another coordinate is given.
func TestHidden(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(400) {
		s := quiet(layout(3, 4, 2))
		s.Seed = seed
		s.Faults = []Fault{{Kind: SlowEdge, Size: Size{Delay: 1}}, {Kind: SlowOp, Size: Size{Delay: 1}}}
		g, err := newGenerator(s)
		if err != nil {
			t.Fatal(err)
		}
		edge, op := g.spec.Faults[0], g.spec.Faults[1]
		seen[fmt.Sprint("edge ", *edge.DP, *edge.PP)]++
		seen[fmt.Sprint("op ", *op.DP, *op.PP, *op.Seq)]++
		s.Faults[1].PP = new(2)
		g, err = newGenerator(s)
		if err != nil {
			t.Fatal(err)
		}
		if again := g.spec.Faults[1]; *again.DP != *op.DP || *again.PP != 2 || *again.Seq != *op.Seq {
			t.Errorf("seed %d: dp %d, seq %d became %d, %d", seed, *op.DP, *op.Seq, *again.DP, *again.Seq)
		}
		if s.Faults[0].DP != nil {
			t.Fatal("New changed the caller's faults")
		}
	}
	if want := 3*3 + 3*4*2; len(seen) != want { // the last stage sends nothing forward
		t.Errorf("%d places in 400 seeds, want %d: %v", len(seen), want, seen)
	}
}

// TestStreamsAreIndependent: draws of neighbouring workers, steps and kinds do
// not resemble each other. Correlation of n pairs of independent values has
// deviation 1/√n.
func TestStreamsAreIndependent(t *testing.T) {
	s := DefaultSpec()
	s.Layout = layout(64, 8, 4)
	s.Layout.Microbatches = 4
	s.SpeedSD = 0
	row := func(g *generator, class operator.Class, stage int, late bool) []float64 {
		for v := range g.program.nodes {
			if n := &g.program.nodes[v]; n.class == class && n.stage == stage && n.seq == 0 {
				array := g.end
				if late {
					array = g.start
				}
				var list []float64
				for _, x := range g.row(array, int32(v)) {
					list = append(list, math.Log(float64(x)))
				}
				return list
			}
		}
		t.Fatal("no such operator")
		return nil
	}
	var here, nextReplica, nextStage, later, backward, launch, transfer []float64
	for step := range 40 {
		g, after := drawn(t, s, step), drawn(t, s, step+1)
		for stage := range 7 {
			x := row(g, operator.ForwardCompute, stage, false)
			here, nextReplica = append(here, x...), append(append(nextReplica, x[1:]...), x[0])
			nextStage = append(nextStage, row(g, operator.ForwardCompute, stage+1, false)...)
			later = append(later, row(after, operator.ForwardCompute, stage, false)...)
			backward = append(backward, row(g, operator.BackwardCompute, stage, false)...)
			launch = append(launch, row(g, operator.ForwardCompute, stage, true)...)
			transfer = append(transfer, row(g, operator.ForwardSend, stage, false)...)
		}
	}
	limit := 5 / math.Sqrt(float64(len(here)))
	for name, other := range map[string][]float64{"next replica": nextReplica, "next stage": nextStage, "next step": later,
		"backward pass": backward, "launch delay": launch, "transfer": transfer} {
		if c := stat.Correlation(here, other, nil); !(math.Abs(c) < limit) {
			t.Errorf("correlation with the %s is %.4f, want under %.4f", name, c, limit)
		}
	}
}
