package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/internal/draws"
	"github.com/sfstat/sfstat/trace/stagename"
)

// latentJob returns a job of four replicas of four pipeline stages in 40 steps of 7 s, of which 1 % is 71 ms.
func latentJob(seed uint64, faults ...pipeline.Fault) pipeline.Spec {
	return job(func(s *pipeline.Spec) { s.Seed, s.Steps.Count, s.Faults = seed, 40, faults })
}

// worker6 is on the second stage.
var worker6 = pipeline.Where{DP: at(2), PP: at(1)}

// heardOf returns the workers that are heard of in a verdict.
func heardOf(v *Verdict) []answer.Difference {
	if v.Runs[0].Latent == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Runs[0].Latent.Differences), func(d answer.Difference) bool { return !d.IsReported() })
}

// meanStep returns the mean step of a trace, ns.
func meanStep(v *Verdict) float64 { return v.Runs[0].Operators.Replay.Recorded.Mean }

// TestOperatorLatent: a worker that is 4 % slower, or starts late by more than 1 % of a step, is heard, in its own operators,
// and costs about what its healthy twin says. It decides nothing. One that is 1 % slower, or starts late by less than 1 %,
// is not heard.
func TestOperatorLatent(t *testing.T) {
	for name, c := range map[string]struct {
		fault pipeline.Fault
		op    string // kind of operators; "": nobody is heard
		level [2]float64
	}{
		"4 % slower": {pipeline.Fault{Kind: pipeline.SlowWorker, Where: worker6, Size: pipeline.Size{Factor: 1.04}}, "backward-compute", [2]float64{95, 150}},
		"1 % slower": {pipeline.Fault{Kind: pipeline.SlowWorker, Where: worker6, Size: pipeline.Size{Factor: 1.01}}, "", [2]float64{}},
		"80 ms late": {pipeline.Fault{Kind: pipeline.LateStart, Where: worker6, Size: pipeline.Size{Delay: 80}}, "forward-compute", [2]float64{79, 81}},
		"60 ms late": {pipeline.Fault{Kind: pipeline.LateStart, Where: worker6, Size: pipeline.Size{Delay: 60}}, "", [2]float64{}},
	} {
		for seed := range uint64(draws.Of(t, 1, 20)) {
			twin := operatorVerdict(t, made(t, latentJob(seed)))
			v := operatorVerdict(t, made(t, latentJob(seed, c.fault)))
			if len(heardOf(twin)) > 0 || v.Status != twin.Status || v.Status != answer.NoStraggler || slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.IsFlagged() }) {
				t.Errorf("%s, seed %d: %v, its twin %v with %+v", name, seed, v.Status, twin.Status, heardOf(twin))
			}
			heard := heardOf(v)
			if c.op == "" || len(heard) != 1 {
				if len(heard) > 0 || c.op != "" {
					t.Errorf("%s, seed %d: %+v", name, seed, heard)
				}
				continue
			}
			d := heard[0]
			costs := (meanStep(v) - meanStep(twin)) / meanStep(v)
			if d.Rank != 6 || !slices.Equal(d.StandsFor, []int{24, 25, 26, 27}) || !d.Slower() || d.Sum || d.Stages[0].Stage != c.op || d.Stages[0].Late != (c.fault.Kind == pipeline.LateStart) ||
				float64(d.Level) < c.level[0]*1e6 || float64(d.Level) > c.level[1]*1e6 || 3*d.Walks < d.Symptoms || math.Abs(d.Saves-costs) > 0.003 {
				t.Errorf("%s, seed %d: costs %.4f of a step, %+v", name, seed, costs, d)
			}
		}
	}
}

// TestOperatorLatentRefused: of 19 steps nothing is tested and that is said; of 20 it is; of two replicas the other is named;
// of one there is nothing to test.
func TestOperatorLatentRefused(t *testing.T) {
	slow := pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(1)}, Size: pipeline.Size{Factor: 1.06}}
	tested := func(dp, steps int) *answer.Latent {
		s := latentJob(2, slow)
		s.Layout.DP, s.Steps.Count = dp, steps
		if dp == 1 {
			s.Faults = nil
		}
		return operatorVerdict(t, made(t, s)).Runs[0].Latent
	}
	if l := tested(4, 19); l == nil || l.Refused != answer.TooFewSteps || len(l.Differences) > 0 {
		t.Errorf("19 steps: %+v", l)
	}
	if l := tested(4, 20); l == nil || l.Refused == answer.TooFewSteps {
		t.Errorf("20 steps: %+v", l)
	}
	if l := tested(2, 40); l == nil || len(l.Differences) != 1 || l.Differences[0].Peer == nil || *l.Differences[0].Peer != 2 || l.Differences[0].Rank != 3 {
		t.Errorf("two replicas: %+v", l)
	}
	if l := tested(1, 40); l != nil {
		t.Errorf("one replica: %+v", l)
	}
}

// TestOperatorLatentBesideFinding: a finding of operators on another worker, in all steps, is at most supported beside one that
// is strongly latent; one of some steps, and one beside a weaker difference, stay as they are. A finding on the same worker
// has it as evidence.
func TestOperatorLatentBesideFinding(t *testing.T) {
	for _, c := range []struct {
		rank, differs int
		confidence    evidence.Confidence
		pattern       Pattern
		want          evidence.Confidence
		evidence      bool
	}{
		{1, 2, evidence.Strong, PatternConstant, evidence.Supported, false},
		{1, 2, evidence.Supported, PatternConstant, evidence.Strong, false},
		{1, 2, evidence.Strong, PatternIntermittent, evidence.Strong, false},
		{2, 2, evidence.Strong, PatternConstant, evidence.Strong, true},
		{2, 2, evidence.Ambiguous, PatternConstant, evidence.Strong, false},
	} {
		f := Finding{Kind: KindRank, Cause: CauseCompute, Place: Place{Rank: &c.rank}, Confidence: evidence.Strong, source: evidence.FromOperators}
		f.Struck.Pattern = c.pattern
		l := &answer.Latent{Walked: true, Differences: []answer.Difference{{Rank: c.differs, Difference: claim.Difference{Level: 1}, Confidence: c.confidence, Stages: []answer.Excess{{Stage: "backward-compute"}}, Walks: 9, Symptoms: 10}}}
		j := &judge{run: &run{operators: &RunVerdict{Latent: l}}}
		got := j.heedLatent([]Finding{f})[0]
		e, says := evidence.Find[evidence.Distribution](got.Evidence)
		if got.Confidence != c.want || says != c.evidence || says && (e.Walks != 9 || e.Stage != "backward-compute") {
			t.Errorf("%+v: %v, %+v", c, got.Confidence, got.Evidence)
		}
	}
}

// TestShortTogether: kinds of work that never take a margin are one, and lose nothing.
func TestShortTogether(t *testing.T) {
	pieces := []piece{{op: "a", work: []int{0}, own: []int64{5, 20}}, {op: "b", work: []int{1}, own: []int64{9, 3}}, {op: "c", late: true, starts: []int{2}, own: []int64{1, 9}}}
	got := shortTogether(pieces, 10)
	if len(got) != 2 || got[0].op != "a" || got[1].op != "" || !slices.Equal(got[1].own, []int64{10, 12}) || !slices.Equal(got[1].work, []int{1}) || !slices.Equal(got[1].starts, []int{2}) {
		t.Errorf("%+v", got)
	}
	if got := shortTogether(pieces, 9); len(got) != 3 {
		t.Errorf("%+v: what reaches the margin stays alone, and so does the only one that does not", got)
	}
}

// TestOperatorAccounts: the frontier over the replicas of a stage says where they synchronise, that a slow worker is latest in
// what it takes longer in, and what workers do by themselves: the same as the second stage is given.
func TestOperatorAccounts(t *testing.T) {
	o := made(t, latentJob(1, pipeline.Fault{Kind: pipeline.SlowWorker, Where: worker6, Size: pipeline.Size{Factor: 1.5}}))
	j, err := examine(o)
	if err != nil {
		t.Fatal(err)
	}
	j.prepare()
	v := operatorVerdict(t, o).Runs[0]
	for stage, a := range v.Operators.Accounts {
		sum := int64(0)
		for _, s := range a.Stages {
			sum += s.Advance
		}
		if sum != a.Makespan || a.Group != j.stageName(stage) || len(a.Ranks) != 4 || a.SyncPoint.Name != "wait.optimizer-clip-main-grad" {
			t.Errorf("stage %d: %d of %d ns, %+v", stage, sum, a.Makespan, a.SyncPoint)
		}
	}
	if a := v.Operators.Accounts[1]; a.Leader.Rank == nil || *a.Leader.Rank != 6 || a.Stages[a.Leader.Stage].Name != "backward-compute" || !slices.Contains(a.Labels, labels.SyncWaitDependent) {
		t.Errorf("%+v, %v", a.Leader, a.Labels)
	}
	windows, err := operators.Windows(j.v.Trace, j.v.Grid)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range j.workerPieces() {
		if p.late {
			continue
		}
		for at, own := range p.own {
			step, worker := at/len(j.Workers), at%len(j.Workers)
			w, sum := windows[j.v.Stage(worker)], int64(0)
			for k, name := range w.Schema.Stages {
				if base, _ := stagename.Split(name); base == p.op {
					sum += w.Step(step)[k*len(w.Ranks)+j.v.Replica(worker)]
				}
			}
			if sum != own {
				t.Fatalf("%s, step %d, worker %d: %d by itself, %d in the account", p.op, step, worker, own, sum)
			}
		}
	}
}

// unequal returns workers that are up to a part slower, each by as much as it comes.
func unequal(rng *rand.Rand, l pipeline.Layout, by float64) (out []pipeline.Fault) {
	for dp := range l.DP {
		for pp := range l.PP {
			out = append(out, pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(dp), PP: at(pp)}, Size: pipeline.Size{Factor: 1 + by*rng.Float64()}})
		}
	}
	return out
}

// TestHealthyOperators: nobody is heard in healthy traces of many shapes, with workers that differ by up to 1 %, one at the
// margin, and microbatches of unequal length.
func TestHealthyOperators(t *testing.T) {
	n := draws.Of(t, 5, 400)
	type tally struct{ jobs, judged, heard, alone int }
	kinds := [...]string{"workers alike", "one at 1 %", "workers up to 1 % apart", "uneven microbatches", "uneven steps"}
	var counts [len(kinds)]tally
	for i := range n {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		pick := func(x ...int) int { return x[rng.IntN(len(x))] }
		s := pipeline.DefaultSpec()
		s.Seed, s.SpeedSD = 1000+uint64(i), 0
		s.Layout.DP, s.Layout.PP, s.Layout.TP = pick(2, 3, 4, 8, 16), pick(1, 2, 4), 1
		s.Layout.Microbatches = pick(4, 8, 16)
		s.Steps.Count = pick(20, 30, 40, 60)
		k := i % len(kinds)
		switch k {
		case 1:
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Size: pipeline.Size{Factor: 1.01}}}
		case 2:
			s.Faults = unequal(rng, s.Layout, 0.01)
		case 3, 4:
			s.Faults = append(unequal(rng, s.Layout, 0.005), pipeline.Fault{Kind: pipeline.Workload, Shared: 0.5 * float64(k-3), Size: pipeline.Size{Factor: 1.3}})
		}
		v := operatorVerdict(t, made(t, s))
		c := &counts[k]
		if c.jobs++; v.Runs[0].Latent.Refused == "" {
			c.judged++
		}
		if heard := heardOf(v); len(heard) > 0 {
			c.heard++
			t.Logf("job %d, %s: %+v", i, kinds[k], heard)
		}
		if len(v.Runs[0].Latent.Differences) > 0 {
			c.alone++
		}
	}
	heard := 0
	for k, c := range counts {
		heard += c.heard
		t.Logf("%s: %d jobs, %d judged, K-S finds somebody in %d, somebody is heard in %d", kinds[k], c.jobs, c.judged, c.alone, c.heard)
	}
	// Of as many at 0.05/6 more than this has a probability below 1e-3.
	if most := 2 + n/60; heard > most {
		t.Errorf("somebody is heard in %d of %d healthy jobs, want at most %d", heard, n, most)
	}
}

// TestOperatorPower measures from which size on a slower worker is heard.
func TestOperatorPower(t *testing.T) {
	n, layouts, factors := draws.Of(t, 1, 20), [][2]int{{4, 2}, {4, 4}, {8, 4}, {16, 4}}, []float64{1.06, 1.04, 1.03, 1.02, 1.01}
	if n == 1 {
		layouts, factors = layouts[:1], factors[:1]
	}
	for _, l := range layouts {
		for _, factor := range factors {
			right, alone, wrong := 0, 0, 0
			for seed := range n {
				s := latentJob(uint64(seed))
				s.Layout.DP, s.Layout.PP = l[0], l[1]
				s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Size: pipeline.Size{Factor: factor}}}
				o, truth, err := pipeline.Make(s)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range operatorVerdict(t, o).Runs[0].Latent.Differences {
					switch {
					case d.Rank != truth.Faults[0].Workers[0].Rank && d.IsReported():
						wrong++
					case d.IsReported():
						right++
					default:
						alone++
					}
				}
			}
			t.Logf("dp %d × pp %d, %.0f %% slower: heard in %d of %d, by K-S alone in %d more, another worker in %d", l[0], l[1], 100*(factor-1), right, n, alone, wrong)
			if wrong > 0 || factor >= 1.06 && right < n {
				t.Errorf("dp %d × pp %d, %v: right %d, wrong %d of %d", l[0], l[1], factor, right, wrong, n)
			}
		}
	}
}
