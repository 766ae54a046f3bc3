package report

import (
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/publish"
)

// TestEvidenceHasWords: every kind of evidence and every reason has a sentence
// and a name of its own.
func TestEvidenceHasWords(t *testing.T) {
	seen := map[evidence.Kind]bool{}
	for _, e := range publish.Observations() {
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
	for _, name := range evidence.Reason("").Names() {
		rank := 3
		for _, l := range []evidence.Lack{{}, {N: 1}, {P: 0.01}, {Rank: &rank}} {
			l.Reason = evidence.Reason(name)
			if text := lackWords(l); text == "" || strings.HasSuffix(text, ".") || strings.ContainsAny(text, "{}") {
				t.Errorf("%s is %q, want a sentence without a full stop", name, text)
			}
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
