package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
)

// beside is the verdict on a run next to a healthy one of the same job.
func beside(t testing.TB, healthy, now simulate.Spec) *Verdict {
	t.Helper()
	var sample frontier.Sample
	for _, w := range windows(t, healthy) {
		if err := sample.Add(w, []string{simulate.StageBackward}); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Baseline: &sample})
	for _, w := range windows(t, now) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return s.Verdict()
}

// longerThanBaseline is what the verdict says of stages that take longer than in the baseline.
func longerThanBaseline(v *Verdict) (out []evidence.Slower) {
	for _, f := range v.Findings {
		for _, e := range f.Evidence {
			if s, ok := e.(evidence.Slower); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// TestSlowOnAllRanks: a stage that has become longer on all ranks is found, with
// by how much; a rank that others wait for is not.
func TestSlowOnAllRanks(t *testing.T) {
	held := 0
	const seeds, truth = 20, 0.5 * 60.85e6 // forward takes 60.85 ms in the default specification
	for seed := range uint64(seeds) {
		healthy := spec(8, 60, seed)
		longer := spec(8, 60, 100+seed)
		longer.Stages[1].Work.Mean *= 1.5
		got := longerThanBaseline(beside(t, healthy, longer))
		if len(got) != 1 || got[0].Stage != simulate.StageForward || math.Abs(float64(got[0].Time-got[0].BaseTime)-30e6) > 2e6 || got[0].BaseN != 60 {
			t.Errorf("seed %d: forward 30 ms longer is %+v", seed, got)
			continue
		}
		if got[0].Low <= truth && got[0].High >= truth {
			held++
		}
		late := spec(8, 60, 100+seed, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: []int{2}})
		if got := longerThanBaseline(beside(t, healthy, late)); len(got) > 0 {
			t.Errorf("seed %d: one rank late by 60 ms is %+v", seed, got)
		}
		if got := longerThanBaseline(beside(t, healthy, spec(8, 60, 100+seed))); len(got) > 0 {
			t.Errorf("seed %d: another healthy run is %+v", seed, got)
		}
	}
	if held < seeds-2 {
		t.Errorf("%d of %d intervals hold %v ns", held, seeds, truth)
	}
}

// TestShortBaseline: what has fewer than sixteen steps is not compared, which is a problem.
func TestShortBaseline(t *testing.T) {
	for steps, compared := range map[int]bool{13: false, 15: false, 16: true, 18: true} {
		v := beside(t, spec(8, steps, 1), spec(8, 60, 2))
		i := slices.IndexFunc(v.Problems, func(p answer.Problem) bool { return p.Problem == answer.BaselineTooShort })
		if (i < 0) != compared || i >= 0 && (v.Problems[i].N != steps || v.Problems[i].Of != 16) {
			t.Errorf("%d steps: problems %+v, want it compared: %v", steps, v.Problems, compared)
		}
	}
}

// TestOtherBaseline: a baseline with other stages is refused.
func TestOtherBaseline(t *testing.T) {
	ws := windows(t, spec(8, 60, 1))
	other := *ws[0]
	other.Schema.Stages = append([]string{"loader"}, other.Schema.Stages[1:]...)
	var sample frontier.Sample
	if err := sample.Add(&other, nil); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Baseline: &sample})
	if err := s.Add(ws[0]); err == nil {
		t.Error("no error")
	}
	if v := s.Verdict(); len(longerThanBaseline(v)) > 0 {
		t.Errorf("%+v", v.Findings)
	}
}
