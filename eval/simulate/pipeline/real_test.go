package pipeline

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/operator"
)

// production opens a public production trace.
func production(t *testing.T, name string) *operator.Trace {
	t.Helper()
	o, err := optrace.Open(largedata.Need(t, "data/optrace/trace-"+name+".parquet"), ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// slowWorker is the job of trace AR: one worker was slowed down on purpose,
// and with it the collectives of its stage.
func slowWorker() Spec {
	s := DefaultSpec()
	s.Steps = Steps{Count: 44, First: 16, Every: 1}
	s.StageWork = []float64{1, 1, 1, 1.05}
	at := Where{DP: new(0), PP: new(0)}
	slow := func(op string, factor float64) Fault {
		return Fault{Kind: SlowWorker, Where: Where{DP: at.DP, PP: at.PP, Op: op}, Size: Size{Factor: factor}}
	}
	group := func(op string, factor float64) Fault {
		return Fault{Kind: SlowGroup, Where: Where{PP: new(0), Op: op}, Size: Size{Factor: factor}}
	}
	s.Faults = []Fault{slow("forward-compute", 2.5), slow("backward-compute", 2.3), slow("optimizer", 2.3),
		group("params-all-gather", 2.1), group("grads-reduce-scatter", 2.2)}
	return s
}

// unevenLengths is the job of trace SE: microbatches of uneven length, and a
// last stage with half again the work.
func unevenLengths() Spec {
	op := func(mean Millis, jitter float64, launch Millis) Op { return Op{Dist{mean, jitter}, Dist{launch, 0.5}} }
	s := DefaultSpec()
	s.Layout = Layout{DP: 32, PP: 2, TP: 1, Chunks: 1, Microbatches: 8, Buckets: 1}
	s.Steps = Steps{Count: 43, First: 16, Every: 1}
	s.StageWork = []float64{1, 1.5}
	s.Ops = Ops{
		Forward: op(130, 0.02, 0.005), Backward: op(262, 0.02, 0.005), ForwardTransfer: op(8, 0.13, 0.005), BackwardTransfer: op(8, 0.13, 0.005),
		Gather: op(15.3, 0.025, 0.2), Reduce: op(24.5, 0.19, 4.8), SeparateReduce: op(5, 0.1, 0.02), Layernorm: op(0.042, 0.2, 2.3),
		Embedding: op(81, 0.04, 0.02), Clip: op(2.3, 4, 0.007), Optimizer: op(0.568, 0.06, 0.001), Collect: op(0.0001, 0.3, 0.001),
	}
	s.Faults = []Fault{{Kind: Workload, Size: Size{Factor: 1.2}}}
	return s
}

// TestLikeProduction: simulated twins of two production traces have their
// program, the durations of their operators, and what the replay makes of
// them: the slowdown S and who is to blame for it.
func TestLikeProduction(t *testing.T) {
	for _, test := range []struct {
		name   string
		spec   Spec
		slack  float64 // of medians over 15 ms, relative
		s      float64 // of S, relative
		mw, ms float64 // of M_W and M_S, absolute
	}{
		{"AR", slowWorker(), 0.12, 0.03, 0.03, 0.03},
		{"SE", unevenLengths(), 0.18, 0.06, 0.05, 0.15},
	} {
		t.Run(test.name, func(t *testing.T) {
			real, simulated := production(t, test.name), simulated(t, test.spec)
			a, b := medians(real), medians(simulated)
			for key, want := range a {
				got, ok := b[key]
				if !ok || got.n != want.n {
					t.Errorf("%s: there are %d, want %d", key, got.n, want.n)
				}
				if want.median > 15 && math.Abs(got.median/want.median-1) > test.slack {
					t.Errorf("%s: median of %.3f ms, want %.3f", key, got.median, want.median)
				}
			}
			if len(a) != len(b) {
				t.Errorf("%d kinds of operators on stages, want %d", len(b), len(a))
			}
			x, y := model(t, real).Analyze(), model(t, simulated).Analyze()
			t.Logf("S %.3f, M_W %.3f, M_S %.3f, step %.2f s; simulated %.3f, %.3f, %.3f, %.2f s", x.Slowdown.Overall, x.TopWorkers.Share, x.LastStage.Share,
				x.Recorded.Mean/1e9, y.Slowdown.Overall, y.TopWorkers.Share, y.LastStage.Share, y.Recorded.Mean/1e9)
			if math.Abs(y.Slowdown.Overall/x.Slowdown.Overall-1) > test.s || math.Abs(y.TopWorkers.Share-x.TopWorkers.Share) > test.mw ||
				math.Abs(y.LastStage.Share-x.LastStage.Share) > test.ms {
				t.Error("the replay blames others than in production")
			}
			for i, stage := range x.ByStage {
				if y.ByStage[i].Index != stage.Index && math.Abs(y.ByStage[i].Overall-stage.Overall) > 0.02 {
					t.Errorf("stage %d is number %d among the slow ones, want stage %d", y.ByStage[i].Index, i, stage.Index)
				}
			}
			if test.name == "AR" && !slices.Equal(y.TopRanks, x.TopRanks) {
				t.Errorf("the worst worker is rank %v, want %v", y.TopRanks, x.TopRanks)
			}
		})
	}
}

// typical is the median of an operator's duration or transfer, milliseconds.
type typical struct {
	n      int
	median float64
}

func medians(o *operator.Trace) map[string]typical {
	_, transfer := o.Waits()
	_, pp := o.Coordinates()
	values := make(map[string][]int64)
	for i, d := range transfer {
		key := fmt.Sprintf("%s of stage %d", o.Names[o.Name[i]], pp[o.Rank[i]])
		values[key] = append(values[key], d)
	}
	out := make(map[string]typical)
	for key, list := range values {
		slices.Sort(list)
		out[key] = typical{len(list), float64(list[len(list)/2]) / nsPerMilli}
	}
	return out
}
