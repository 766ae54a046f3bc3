package report

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/engine/frontier/fit"
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
	for r := cut.Unexplained + 1; r <= cut.TooLong; r++ {
		check(cutReason(&frontier.Result{Cut: cut.Step, CutReason: r, Quality: wall}))
	}
	check(cutReason(&frontier.Result{Cut: cut.Carried, CutReason: cut.Asked, Quality: wall}))
	for r := fit.Unexplained + 1; r <= fit.Induced; r++ {
		check(fitReason(fit.Fit{Why: r, Stage: "a", Gain: 0.25}))
	}
}

// A cut that runs over steps says what it takes for granted without wall time.
func TestCutWithoutWallTime(t *testing.T) {
	const granted = "; without wall time, steps are taken to follow each other without a gap"
	for name, c := range map[string]struct {
		cut  cut.Cut
		wall bool
		want bool
	}{
		"carried":        {cut.Carried, false, true},
		"carried, wall":  {cut.Carried, true, false},
		"sync":           {cut.Sync, false, true},
		"each by itself": {cut.Step, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &frontier.Result{Cut: c.cut, CutReason: cut.Asked, Quality: frontier.Quality{Wall: c.wall}}
			if got := strings.HasSuffix(cutReason(r), granted); got != c.want {
				t.Errorf("%q", cutReason(r))
			}
		})
	}
}
