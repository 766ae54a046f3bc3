package selfcheck

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

const millisecond = 1_000_000

// newWindow returns a window of zero durations. Its ranks are declared peers.
func newWindow(steps, ranks int, stages ...string) *trace.Window {
	w := &trace.Window{Run: "selfcheck", WorldSize: ranks, Accumulation: 1, Schema: trace.Schema{Stages: stages},
		Durations: make([]int64, steps*ranks*len(stages))}
	for r := range ranks {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Role: trace.Role{{Axis: trace.DataParallel, Index: r}}})
	}
	return w
}

// randomWindow returns a window with ties, zeros, and durations of eight orders of magnitude. Wall time, where there is any, is
// a little more or less than the stages.
func randomWindow(rng *rand.Rand) *trace.Window {
	steps, ranks := 1+rng.IntN(24), 1+rng.IntN(12)
	stages := make([]string, 1+rng.IntN(7))
	for s := range stages {
		stages[s] = fmt.Sprintf("stage%d", s)
	}
	w := newWindow(steps, ranks, stages...)
	for i := range w.Durations {
		w.Durations[i] = randomDuration(rng)
	}
	if rng.IntN(4) == 0 {
		return w
	}
	w.Wall = make([]int64, steps*ranks)
	for t := range steps {
		for r := range ranks {
			total := int64(rng.IntN(2*millisecond)) - millisecond/2
			for s := range stages {
				total += w.Durations[(t*len(stages)+s)*ranks+r]
			}
			w.Wall[t*ranks+r] = max(0, total)
		}
	}
	return w
}

func randomDuration(rng *rand.Rand) int64 {
	switch rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return int64(rng.IntN(4)) * millisecond
	}
	return int64(math.Exp(20 * rng.Float64()))
}

// randomStep returns a random window of one step without wall time: its stages are all there is, and its makespan is F[S].
func randomStep(rng *rand.Rand) *trace.Window {
	w := randomWindow(rng)
	w.Wall = nil
	w.Durations = w.Step(0)
	return w
}

// analyze returns the account of a window without model fit, which cannot fail for a window made here.
func analyze(w *trace.Window, o frontier.Options) *frontier.Result {
	o.ModelFit = frontier.FitNone
	a, err := frontier.Analyze(w, o)
	if err = cmp.Or(w.Validate(), err); err != nil {
		panic(err)
	}
	return a.Main
}

// analyzeStep returns the account that the paper's statements are about.
func analyzeStep(w *trace.Window) *frontier.Result {
	return analyze(w, frontier.Options{Cut: frontier.CutStep})
}

// sums are what the bounds of one step are about, worked out from its durations alone.
type sums struct{ maxima, all int64 } // Σ_s max_r d and Σ_s Σ_r d

func sumsOf(w *trace.Window) (s sums) {
	R := len(w.Ranks)
	for i := range w.Schema.Stages {
		row := w.Step(0)[i*R : (i+1)*R]
		s.maxima += slices.Max(row)
		for _, d := range row {
			s.all += d
		}
	}
	return s
}
