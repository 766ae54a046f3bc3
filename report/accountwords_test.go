package report

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
)

// TestAccountHasWords: every reason for a cut and for a model fit has a sentence of its own.
func TestAccountHasWords(t *testing.T) {
	seen := map[string]bool{}
	check := func(text string) {
		t.Helper()
		if text == "" || seen[text] || strings.HasSuffix(text, ".") || strings.Contains(text, "%!") || strings.ContainsAny(text, "{}") {
			t.Errorf("%q, want a sentence of its own without a full stop", text)
		}
		seen[text] = true
	}
	wall := frontier.Quality{Wall: true}
	for _, r := range kindsIn(t, "../engine/frontier/cut.go", "CutReason") {
		check(cutReason(&frontier.Result{Cut: frontier.CutStep, CutReason: frontier.CutReason(r), Quality: wall}))
	}
	check(cutReason(&frontier.Result{Cut: frontier.CutCarried, CutReason: frontier.CutAsked, Quality: wall}))
	for _, r := range kindsIn(t, "../engine/frontier/fit.go", "FitReason") {
		check(fitReason(frontier.Fit{Why: frontier.FitReason(r), Stage: "a", Gain: 0.25}))
	}
}

// A cut that runs over steps says what it takes for granted without wall time.
func TestCutWithoutWallTime(t *testing.T) {
	const granted = "; without wall time, steps are taken to follow each other without a gap"
	for name, c := range map[string]struct {
		cut  frontier.Cut
		wall bool
		want bool
	}{
		"carried":        {frontier.CutCarried, false, true},
		"carried, wall":  {frontier.CutCarried, true, false},
		"sync":           {frontier.CutSync, false, true},
		"each by itself": {frontier.CutStep, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &frontier.Result{Cut: c.cut, CutReason: frontier.CutAsked, Quality: frontier.Quality{Wall: c.wall}}
			if got := strings.HasSuffix(cutReason(r), granted); got != c.want {
				t.Errorf("%q", cutReason(r))
			}
		})
	}
}
