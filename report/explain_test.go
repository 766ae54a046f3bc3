package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// TestExplain: 8 ranks lose a quarter of two hours: 4 of 16 GPU hours, 2 in every hour. Each certainty has its own advice, and where
// nobody was found nothing is lost.
func TestExplain(t *testing.T) {
	rank := 3
	window := diagnose.Window{Main: &frontier.Result{Ranks: make([]int, 8), Steps: 100, Makespan: 2 * 3.6e12}}
	for _, c := range []struct {
		confidence evidence.Confidence
		gain       float64
		says       []string
		not        string
	}{
		{evidence.Strong, 0.25, []string{"Rank 3 delays everyone in data", "While that lasts, 2 of every 8 GPU hours are lost (25 %)", "4 GPU hours.", "act on it."}, "suspicion"},
		{evidence.Supported, 0.0001, []string{"Rank 3 probably delays", "5.8 GPU seconds.", "look before acting."}, "act on it"},
		{evidence.Ambiguous, 0.5, []string{"Rank 3 may delay", "4 of every 8 GPU hours", "a suspicion"}, "act on it"},
	} {
		v := diagnose.RunVerdict{Run: "job", MinGain: 0.00001, Status: answer.Straggler, Confidence: c.confidence, Windows: []diagnose.Window{window}, Findings: []diagnose.Finding{{
			Place: diagnose.Place{Rank: &rank, Stage: "data"}, Cost: diagnose.Cost{Gain: c.gain, RunGain: c.gain, RunAtMost: c.gain}, Confidence: c.confidence, Cause: diagnose.CauseLate}}}
		text := Explain(&v)
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q lacks %q", c.confidence, text, want)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%v: %q has %q", c.confidence, text, c.not)
		}
	}
}

// TestGitHub: the headline stands in a box of its certainty, what has a heading is folded, and every fold is closed.
func TestGitHub(t *testing.T) {
	d := document{headline{"Rank 3 <delays> everyone.", evidence.Strong, "strong"}, headline{text: "Fixing it saves."}, bullets{"why"},
		heading("Evidence"), bullets{"one"}, heading("Next"), prose("two"), hint("-v")}
	var out bytes.Buffer
	writeGitHub(&out, d)
	const want = "> [!CAUTION]\n> **Rank 3 &#60;delays&#62; everyone.** `strong`\n> Fixing it saves.\n\n- why\n\n<details><summary>Evidence</summary>\n\n- one\n\n</details>\n\n<details><summary>Next</summary>\n\ntwo\n\n</details>\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	out.Reset()
	writeGitHub(&out, document{headline{text: "Nobody is late."}})
	if got := out.String(); got != "> [!NOTE]\n> **Nobody is late.**\n" {
		t.Errorf("got %q", got)
	}
}
