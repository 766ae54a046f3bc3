package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
)

// TestEvidenceOfAHost: what is said of the ranks of a host is of them: who is last, and what fixing all of them saves.
func TestEvidenceOfAHost(t *testing.T) {
	s := spec(8, 100, 3, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: []int{4, 5}})
	s.RanksPerHost = 2
	f := verdictOn(t, windows(t, s)...).Runs[0].Findings[0]
	last, _ := evidence.Find[evidence.LastToArrive](f.Evidence)
	together, _ := evidence.Find[evidence.LateTogether](f.Evidence)
	if f.Kind != KindHost || !slices.Equal(last.Ranks, []int{4, 5}) || !slices.Contains(last.Ranks, last.Rank) {
		t.Errorf("%v: last is %+v, want one of ranks 4 and 5", f.Kind, last)
	}
	// 60 ms of a step of 200 ms and these 60 ms.
	if math.Abs(together.RunGain-60.0/260) > 0.03 || together.RunGain != f.RunGain || f.Saving().Kind != SavesEveryStep {
		t.Errorf("%+v and %v, want about 23 %% of the run, as the finding has", together, f.Saving())
	}
}
