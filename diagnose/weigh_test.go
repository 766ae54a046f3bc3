package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
)

// TestEnginesAgreeOnWindows: K-S, outliers and blame confirm the rank that the
// frontier names; of healthy windows they are not asked.
func TestEnginesAgreeOnWindows(t *testing.T) {
	for seed := range uint64(20) {
		for _, w := range windows(t, spec(8, 60, seed)) {
			if v := verdictOn(t, w); v.Windows[0].Signs != nil {
				t.Errorf("seed %d: a healthy window was looked at again: %v", seed, v.Status)
			}
		}
	}
	for _, family := range []simulate.Family{simulate.Data, simulate.ForwardHost, simulate.CallbackHost, simulate.OptimizerHost} {
		v := verdictOn(t, windows(t, spec(8, 60, 3, simulate.Fault{Family: family, Delay: 40, Ranks: []int{5}}))...)
		f := v.Findings[0]
		_, departs := evidence.Find[evidence.CompletionTimes](f.Evidence)
		_, long := evidence.Find[evidence.Outliers](f.Evidence)
		walks, blamed := evidence.Find[evidence.BlameWalks](f.Evidence)
		if *f.Rank != 5 || f.Confidence != evidence.Strong || !departs || !long || !blamed || 2*walks.End < walks.Symptoms {
			t.Errorf("%v: %s, %+v", family, show(f), f.Evidence)
		}
	}
}

// TestEnginesDisagreeOnWindows: where the others find another rank, and nothing of
// this one, it is not strong.
func TestEnginesDisagreeOnWindows(t *testing.T) {
	const cost = 1e9
	signs := func(rank int) *operators.Signs {
		return &operators.Signs{Symptoms: 30, Ranks: []operators.RankSigns{{Rank: rank, Departs: true, Later: 20e6, Steps: 30, Excess: cost, Walks: 30, Op: "data"}}}
	}
	for _, c := range []struct {
		name  string
		signs *operators.Signs
		want  evidence.Confidence
	}{{"of it", signs(2), evidence.Strong}, {"of another", signs(4), evidence.Supported}, {"of one that is late with it", signs(3), evidence.Strong}, {"of nobody", &operators.Signs{}, evidence.Strong}} {
		t.Run(c.name, func(t *testing.T) {
			rank := 2
			f := &finding{Finding: Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank}, Confidence: evidence.Strong}, bestNs: cost, together: []int{2, 3}}
			j := &judge{run: &run{windows: []Window{{Main: &frontier.Result{}, Signs: c.signs}}}, found: []*finding{f}}
			j.weigh()
			lack, disagree := evidence.Find[evidence.Lack](f.Evidence)
			if f.Confidence != c.want || disagree != (c.want == evidence.Supported) || disagree && (lack.Reason != evidence.SourcesDisagree || lack.AtMost != evidence.Supported || *lack.Rank != 4) {
				t.Errorf("%v, %+v", f.Confidence, f.Evidence)
			}
		})
	}
}
