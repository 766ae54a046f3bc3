package report

import (
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// TestEvidenceHasWords: every kind of evidence and every reason has a sentence
// and a name of its own.
func TestEvidenceHasWords(t *testing.T) {
	seen := map[evidence.Kind]bool{}
	for _, e := range evidenceKinds {
		if seen[e.Kind()] || e.Kind() == "" {
			t.Errorf("two kinds of evidence are %q", e.Kind())
		}
		seen[e.Kind()] = true
		switch e.(type) {
		case evidence.Lack:
			continue
		}
		if text := evidenceWords(e); text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "%!") {
			t.Errorf("%s is %q, want a sentence without a full stop", e.Kind(), text)
		}
	}
	reasons := map[evidence.Reason]bool{}
	for _, r := range evidenceReasons {
		if reasons[r] || r == "" {
			t.Errorf("two reasons are %q", r)
		}
		reasons[r] = true
		if text := lackWords(evidence.Lack{Reason: r}); text == "" || strings.HasSuffix(text, ".") || strings.ContainsAny(text, "{}") {
			t.Errorf("%s is %q, want a sentence without a full stop", r, text)
		}
	}
}

// TestSyncPointWithoutSlope: windows that are too short for a slope, and show together where
// ranks synchronise, have no figures.
func TestSyncPointWithoutSlope(t *testing.T) {
	nan := math.NaN()
	if text := evidenceWords(evidence.SyncPoint{Stage: "model.backward_cpu_wall", By: "slope", Slope: nan, Low: nan, High: nan}); strings.Contains(text, "–") || strings.Contains(text, "[") {
		t.Errorf("%q has figures", text)
	}
}
