package campaign

import (
	"strings"
	"testing"
)

func alike(t *testing.T) *Spec { return specOf(t, "../../fixtures/campaign/arrivals.yaml") }

// TestArmsArePlanned: each run comes without arrivals, as if nobody had asked,
// and with them.
func TestArmsArePlanned(t *testing.T) {
	s := alike(t)
	both, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	s.Groups[0].Arrivals = nil
	alone, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(alone) != 7 || len(both) != 14 {
		t.Fatalf("%d runs, and %d in arms, expected 7 and 14", len(alone), len(both))
	}
	for i, was := range alone {
		without, with := both[2*i], both[2*i+1]
		if without.ID != was.ID || without.Hash != was.Hash || without.Spec.Arrivals {
			t.Errorf("%s without arrivals is %s with hash %s, expected %s", was.ID, without.ID, without.Hash, was.Hash)
		}
		if with.ID != was.ID+"-arrivals" || with.Spec.Run != with.ID || with.Hash == was.Hash || !with.Spec.Arrivals {
			t.Errorf("%s with arrivals is %+v", was.ID, with)
		}
	}
	s.Groups[0].Arrivals, s.Runner = []bool{true}, Local
	if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "arrivals is for runner simulator") {
		t.Errorf("runner local: %v", err)
	}
	s.Groups[0].Arrivals, s.Runner = []bool{true, true}, Simulator
	if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "stands twice") {
		t.Errorf("an arm twice: %v", err)
	}
}
