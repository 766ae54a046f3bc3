package tables

import (
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
)

// run is a data fault of some delay that was answered in one window.
func run(delay simulate.Millis, share float64, v verdict, r routing) *scoredRun {
	return &scoredRun{runCase: runCase{Family: simulate.Data, Ranks: 8, Delay: delay, Hidden: []hiddenRank{{3, "data"}}},
		Verdict: v, Windows: []scoredWindow{{Fault: true, Routing: r, Share: &share}}}
}

func TestCurves(t *testing.T) {
	missed := verdict{Confidence: "insufficient", StageRight: true, Answer: rankRight}
	right := verdict{Called: true, Confidence: "supported", StageRight: true, Answer: rankRight, Named: true}
	s := &Score{Runs: []*scoredRun{
		run(60, 0.4, right, routing{Place: 1, Hit: true}),
		run(12, 0.1, missed, routing{Place: 4}),
		run(60, 0.3, verdict{Called: true, Confidence: "strong", Answer: rankWrong}, routing{Place: 2, Hit: true}),
		run(12, 0.2, missed, routing{Place: 3, Hit: true}),
		{runCase: runCase{Ranks: 8}, Windows: []scoredWindow{{}}},
	}}
	curves := s.curves()
	if len(curves) != 1 || len(curves[0].Points) != 2 {
		t.Fatalf("%+v, expected one curve through two delays", curves)
	}
	low, high := curves[0].Points[0], curves[0].Points[1]
	for _, c := range []struct {
		what finding
		low  int
		high int
	}{{foundTop1, 0, 1}, {foundTop2, 0, 2}, {foundCandidate, 1, 2}, {foundStage, 2, 1}, {foundRank, 2, 1}, {foundBoth, 0, 1}, {misrouted, 0, 1}} {
		if low.Rates[c.what].K != c.low || high.Rates[c.what].K != c.high {
			t.Errorf("%v: %d and %d of 2, expected %d and %d", c.what, low.Rates[c.what].K, high.Rates[c.what].K, c.low, c.high)
		}
	}
	// R: binom.test(1, 2)$conf.int is 0.01257912 0.98742088.
	if r := low.Rates[foundCandidate]; math.Abs(r.Lower-0.01257912) > 1e-8 || math.Abs(r.Upper-0.98742088) > 1e-8 {
		t.Errorf("interval %v to %v", r.Lower, r.Upper)
	}
	// R: t.test(c(.3, .4))$conf.int is −0.2853102 to 0.9853102, cut at 0.
	if m := high.Share; math.Abs(m.Mean-0.35) > 1e-12 || m.Lower != 0 || math.Abs(m.Upper-0.9853102) > 1e-7 {
		t.Errorf("share %+v", m)
	}
	if one := meanShare(s.Runs[:1]); one.Mean != 0.4 || !math.IsNaN(one.Lower) {
		t.Errorf("of one run %+v, expected no interval", one)
	}
	made := s.detectabilityTable()
	if got := strings.Join(made.Records()[1][:6], " "); got != "data 8 60 2 1/2 [0.01, 0.99] 2/2 [0.16, 1.00]" {
		t.Errorf("row %q", got)
	}
	if !strings.Contains(made.Notes[0], "1/4 runs") {
		t.Errorf("note %q, expected 1 of 4 runs misrouted", made.Notes[0])
	}
}

// TestThreshold: the rate passes a part between two delays; the interval ends at
// delays whose exact intervals leave the part. Rates that fall are pooled.
func TestThreshold(t *testing.T) {
	c := &curve{Points: make([]curvePoint, 4)}
	for i, k := range []int{10, 0, 60, 100} { // of 100; 10 and 0 pool to 0.05
		c.Points[i].Delay = simulate.Millis(int(10) << i)
		c.Points[i].Rates[foundBoth], _ = bootstrap.Binomial(k, 100, curveConfidence)
	}
	if got := c.monotone(foundBoth); got[0] != 0.05 || got[1] != 0.05 || got[2] != 0.6 || got[3] != 1 {
		t.Errorf("rates %v", got)
	}
	half, most := c.threshold(foundBoth, 0.5), c.threshold(foundBoth, 0.9)
	// 20·2^(0.45/0.55); of 60 in 100 the interval is 0.497 to 0.697.
	if math.Abs(half.Delay-35.26) > 0.01 || half.Lower != 20 || half.Upper != 80 {
		t.Errorf("half at %+v", half)
	}
	if math.Abs(most.Delay-67.27) > 0.01 || most.Lower != 40 || most.Upper != 80 {
		t.Errorf("90 %% at %+v", most)
	}
	if none := c.threshold(foundTop1, 0.5); none.String() != "– [–, –]" {
		t.Errorf("of nothing %s", none)
	}
}

// TestSmallDelaysAreMissed is the goal of small delays on simulated runs: what
// is too small to be seen is not called, and never sends anybody astray.
func TestSmallDelaysAreMissed(t *testing.T) {
	s := &campaign.Spec{Name: "curve", Groups: []campaign.Group{{Name: "curve", Families: []simulate.Family{simulate.Data, simulate.CallbackHost},
		Ranks: []int{8}, Seeds: []uint64{0, 1, 2}, Delays: []simulate.Millis{12, 120}}}}
	dir := t.TempDir()
	execute(t, dir, s)
	artifacts, err := tablesIn(dir)
	if err != nil || len(artifacts) != 3 || artifacts[1].Name != "detectability-curve" || len(artifacts[1].Inputs) != 12 {
		t.Fatalf("%+v, %v, expected the groups and the curve of 12 runs", artifacts, err)
	}
	for _, row := range artifacts[1].Table.Records() {
		called, misrouted := row[9], row[10]
		want := map[string]string{"12": "0/3", "120": "3/3"}[row[2]]
		if !strings.HasPrefix(called, want) || !strings.HasPrefix(misrouted, "0/3") {
			t.Errorf("%v: called %s, misrouted %s, expected %s and none", row[:3], called, misrouted, want)
		}
	}
}
