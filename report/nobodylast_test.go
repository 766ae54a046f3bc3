package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestNobodyLastIsTested: that nobody is last more often than chance is said of healthy jobs, and not where one rank of eight
// is a few per cent slower in all stages outside backward, whatever is worth acting on. How often it is last is counted here.
func TestNobodyLastIsTested(t *testing.T) {
	const nobody = "nobody last more often than chance"
	for _, factor := range []float64{1, 1.02, 1.03, 1.05, 1.07} {
		for seed := range uint64(3) {
			s := simulate.DefaultSpec()
			s.Seed = seed
			s.Work = []simulate.WorkFactor{{Ranks: []int{3}, Factor: factor,
				Stages: []string{simulate.StageData, simulate.StageForward, simulate.StageCallbacks, simulate.StageOptimizer}}}
			w := oneWindow(t, s)
			session := diagnose.New(diagnose.Options{MinGain: 0.01})
			if err := session.Add(w); err != nil {
				t.Fatal(err)
			}
			why := answerTo(&session.Verdict().Runs[0]).why
			says := fmt.Sprintf("rank 3 is last at %d of 119 synchronisation points", lastOutsideBackward(w, 3))
			if factor == 1 {
				says = nobody
			}
			if !strings.Contains(why, says) || factor > 1 && strings.Contains(why, nobody) {
				t.Errorf("factor %g, seed %d: %q, want %q", factor, seed, why, says)
			}
		}
	}
}

// oneWindow returns the window that a simulation records.
func oneWindow(t *testing.T, s simulate.Spec) *trace.Window {
	t.Helper()
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Next(); err != io.EOF {
		t.Fatalf("%v, want one window", err)
	}
	return w
}

// lastOutsideBackward counts how often a rank takes longest from the end of backward to that of the next step's forward:
// callbacks, optimizer, what no stage covers, data, forward.
func lastOutsideBackward(w *trace.Window, rank int) (n int) {
	R, S := len(w.Ranks), len(w.Schema.Stages)
	for t := 1; t < len(w.Durations)/(R*S); t++ {
		longest, who := int64(-1), -1
		for r := range R {
			at := func(step, stage int) int64 { return w.Durations[(step*S+stage)*R+r] }
			before := w.Wall[(t-1)*R+r] - at(t-1, 0) - at(t-1, 1) - at(t-1, 2)
			if x := before + at(t, 0) + at(t, 1); x > longest {
				longest, who = x, r
			}
		}
		if who == rank {
			n++
		}
	}
	return n
}
