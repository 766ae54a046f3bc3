package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// coveredAs returns the status of a trace, and what is seen of its first stage.
func coveredAs(t *testing.T, o *operator.Trace) (answer.Status, answer.Coverage) {
	t.Helper()
	v := operatorVerdict(t, o)
	if len(v.Coverage) == 0 {
		t.Fatal("no coverage")
	}
	return v.Status, v.Coverage[0]
}

// TestOperatorCoverage: stages of which there is one replica are not seen, and where there is one worker or where there are
// fewer than five steps nothing is judged.
func TestOperatorCoverage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pipeline.Spec)
		want   answer.Status
		reason answer.Reason
	}{
		"replicas":    {func(s *pipeline.Spec) {}, answer.NoStraggler, ""},
		"one replica": {func(s *pipeline.Spec) { s.Layout.DP, s.Layout.Microbatches = 1, 4 }, answer.Unseen, answer.NoPeers},
		"one replica, and the others take as long": {func(s *pipeline.Spec) { s.Layout.DP = 1 }, answer.NoStraggler, answer.NoPeers},
		"one worker":   {func(s *pipeline.Spec) { s.Layout.DP, s.Layout.PP = 1, 1 }, answer.TooLittleData, answer.NoPeers},
		"too few":      {func(s *pipeline.Spec) { s.Steps.Count = leastSteps - 1 }, answer.TooLittleData, ""},
		"least enough": {func(s *pipeline.Spec) { s.Steps.Count = leastSteps }, answer.NoStraggler, ""},
	} {
		status, cover := coveredAs(t, made(t, job(c.change)))
		if status != c.want || c.reason != "" && cover.Reason != c.reason || (cover.Reason == answer.NoPeers) != (cover.Hides > 0 && cover.Needs == answer.SourceBaseline) {
			t.Errorf("%s: %v, %+v, want %v", name, status, cover, c.want)
		}
	}
}

// TestNoiseOfOperators: of two replicas in five steps no delay between passes is certain, and what one takes longer bounds what hides.
func TestNoiseOfOperators(t *testing.T) {
	status, cover := coveredAs(t, made(t, job(func(s *pipeline.Spec) { s.Layout.DP, s.Steps.Count = 2, leastSteps })))
	if status != answer.NoStraggler || cover.Seen || cover.Reason != answer.TooNoisy || cover.Needs != answer.SourceMoreSteps || cover.Hides == 0 {
		t.Errorf("%v, %+v", status, cover)
	}
}

// TestCoverageWithoutWorker: the replica of a worker without a record is left out, and the others may have waited for it.
func TestCoverageWithoutWorker(t *testing.T) {
	o := made(t, job(nil))
	var others []int
	for _, r := range o.Ranks[1:] {
		others = append(others, r.ID)
	}
	v := operatorVerdict(t, o.Select(&trace.Selection{Ranks: others}))
	if last := v.Coverage[len(v.Coverage)-1]; v.Status != answer.Unseen || last.Reason != answer.RanksUnknown || last.Needs != answer.SourceAllRanks || last.Hides == 0 {
		t.Errorf("%v, %+v", v.Status, v.Coverage)
	}
}

// TestCoverageBesideFault: what would have been found on the other stages is what would be without the fault.
func TestCoverageBesideFault(t *testing.T) {
	healthy := operatorVerdict(t, made(t, job(nil))).Coverage
	faulty := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(0), PP: at(0)}, Size: pipeline.Size{Factor: 2.5}}}
	}))).Coverage
	for i := 1; i < len(healthy); i++ {
		if ratio := float64(faulty[i].Least) / float64(healthy[i].Least); !faulty[i].Seen || ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%+v, without the fault %+v", faulty[i], healthy[i])
		}
	}
}

// TestLeastOfOperators: a worker slower by 1.3 times the least delay that its stage shows is found and acted on; slower by half
// of it, it is no reason to act.
func TestLeastOfOperators(t *testing.T) {
	for seed := range uint64(3) {
		healthy := made(t, job(func(s *pipeline.Spec) { s.Seed = seed }))
		_, cover := coveredAs(t, healthy)
		if !cover.Seen || cover.Least == 0 {
			t.Fatalf("seed %d: %+v", seed, cover)
		}
		own := int64(0) // compute of the first worker
		for i, r := range healthy.Rank {
			if r == 0 && operator.ParseClass(healthy.Names[healthy.Name[i]]).IsCompute() {
				own += healthy.Dur[i]
			}
		}
		for by, want := range map[float64]answer.Status{1.3: answer.Straggler, 0.5: answer.NoStraggler} {
			factor := 1 + by*float64(cover.Least)*float64(len(healthy.Steps))/float64(own)
			v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
				s.Seed, s.Faults = seed, []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(0), PP: at(0)}, Size: pipeline.Size{Factor: factor}}}
			})))
			if v.Status != want {
				t.Errorf("seed %d: slower by %g × %d ns: %v, want %v", seed, by, cover.Least, v.Status, want)
			}
		}
	}
}
