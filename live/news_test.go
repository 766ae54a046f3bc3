package live

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// windowsOf are windows of a number and first step, the last without some ranks.
func windowsOf(missing int, numbers ...int64) (out []diagnose.Window) {
	for i, n := range numbers {
		m := &frontier.Result{Window: n, FirstStep: 100 * n}
		if i == len(numbers)-1 {
			m.Quality.Missing = (&trace.Window{WorldSize: missing}).Missing()
		}
		out = append(out, diagnose.Window{Main: m})
	}
	return out
}

// TestNews: a window is told once, when it is complete or another follows it; a
// screen comes with another status, suspect or certainty, and with no other number.
func TestNews(t *testing.T) {
	rank := func(id int, gain float64) []diagnose.Finding {
		return []diagnose.Finding{{Confidence: evidence.Strong, Place: diagnose.Place{Rank: &id, Stage: "data"}, Cost: diagnose.Cost{Gain: gain}}}
	}
	seen := Told{}
	for _, step := range []struct {
		what    string
		run     diagnose.RunVerdict
		windows []int
		changed bool
	}{
		{"the first window", diagnose.RunVerdict{Status: answer.NoStraggler, Windows: windowsOf(0, 0)}, []int{0}, true},
		{"nothing new", diagnose.RunVerdict{Status: answer.NoStraggler, Windows: windowsOf(0, 0)}, nil, false},
		{"one that some ranks have not written", diagnose.RunVerdict{Status: answer.NoStraggler, Windows: windowsOf(3, 0, 1)}, nil, false},
		{"and now all have", diagnose.RunVerdict{Status: answer.NoStraggler, Windows: windowsOf(0, 0, 1)}, []int{1}, false},
		{"a straggler", diagnose.RunVerdict{Status: answer.Straggler, Findings: rank(3, 0.2), Windows: windowsOf(0, 0, 1, 2)}, []int{2}, true},
		{"that costs more", diagnose.RunVerdict{Status: answer.Straggler, Findings: rank(3, 0.3), Windows: windowsOf(0, 0, 1, 2)}, nil, false},
		{"another rank", diagnose.RunVerdict{Status: answer.Straggler, Findings: rank(4, 0.3), Windows: windowsOf(0, 0, 1, 2)}, nil, true},
		{"files that were replaced", diagnose.RunVerdict{Status: answer.Straggler, Findings: rank(4, 0.3), Windows: windowsOf(0, 3)}, []int{0}, false},
	} {
		var windows []int
		changed := false
		for _, n := range seen.News(&diagnose.Verdict{Runs: []diagnose.RunVerdict{step.run}}) {
			windows, changed = n.Windows, n.Changed
		}
		if !slices.Equal(windows, step.windows) || changed != step.changed {
			t.Errorf("%s: windows %v, changed %v; want %v, %v", step.what, windows, changed, step.windows, step.changed)
		}
	}
}
