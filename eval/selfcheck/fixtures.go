package selfcheck

import (
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace"
)

// The stages of the fixtures, and their healthy lengths in milliseconds.
var (
	fixtureStages  = []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall"}
	fixtureLengths = []float64{20, 60, 70, 15}
)

const (
	dataStage, backwardStage, lastStage = 0, 2, 3

	fixtureSteps = 20
	fixtureDelay = 140 // milliseconds
)

// fixture returns a job of 4 to 16 ranks whose stages vary by 2 %.
func fixture(rng *rand.Rand) *trace.Window {
	w := newWindow(fixtureSteps, 4+rng.IntN(13), fixtureStages...)
	R, S := len(w.Ranks), len(fixtureStages)
	for i := range w.Durations {
		w.Durations[i] = int64(fixtureLengths[i/R%S] * (1 + 0.02*rng.NormFloat64()) * millisecond)
	}
	return w
}

// delay adds to one rank's stage in every step; all others wait as long in the
// stage waits (−1: nobody waits).
func delay(rng *rand.Rand, w *trace.Window, stage, waits int) {
	R, slow := len(w.Ranks), rng.IntN(len(w.Ranks))
	for t := range w.Steps() {
		step := w.Step(t)
		step[stage*R+slow] += fixtureDelay * millisecond
		for r := range R {
			if waits >= 0 && r != slow {
				step[waits*R+r] += fixtureDelay * millisecond
			}
		}
	}
}

// first reports whether a ranking begins with the stage.
func first(ranking []int, stage int) bool { return len(ranking) > 0 && ranking[0] == stage }

// syncWait returns a job in which one rank's data arrives late, and the others wait in backward. The frontier charges data;
// maximum and average are taken in by the wait.
func syncWait(s *sampler) finding {
	type outcome struct{ frontier, maximum, average bool }
	trials := repeat(s, func(rng *rand.Rand) outcome {
		w := fixture(rng)
		delay(rng, w, dataStage, backwardStage)
		r := analyzeStep(w)
		return outcome{first(r.Routing, dataStage), first(r.Baselines[frontier.StageMax].Ranking, dataStage),
			first(r.Baselines[frontier.StageMean].Ranking, dataStage)}
	})
	n := len(trials)
	f := tally(trials, func(o outcome) bool { return o.frontier })
	maximum := tally(trials, func(o outcome) bool { return o.maximum })
	average := tally(trials, func(o outcome) bool { return o.average })
	return finding{formatCount(f, n) + ", " + formatCount(maximum, n) + ", " + formatCount(average, n), f == n && maximum == 0 && average == 0}
}

// exposedDelay returns a job in which one rank is late at the end of the step and nobody
// waits for it in a recorded stage: the plainest case there is.
func exposedDelay(rng *rand.Rand) *trace.Window {
	w := fixture(rng)
	delay(rng, w, lastStage, -1)
	return w
}

func directExposure(s *sampler) finding {
	return checkTrials(s, func(rng *rand.Rand) bool {
		r := analyzeStep(exposedDelay(rng))
		return slices.Contains(r.Labels, labels.DirectExposure) && r.Leader.Stage == lastStage
	})
}

// The downgrades take from a window what a strong label needs.

func gainIsLow(rng *rand.Rand) *trace.Window {
	w := fixture(rng)
	delay(rng, w, dataStage, backwardStage)
	return w
}

// sharesTie returns a job with half of the delay in one stage, half in another.
func sharesTie(rng *rand.Rand) *trace.Window {
	w := fixture(rng)
	R, slow := len(w.Ranks), rng.IntN(len(w.Ranks))
	for t := range w.Steps() {
		step := w.Step(t)
		step[backwardStage*R+slow] += fixtureDelay / 2 * millisecond
		step[lastStage*R+slow] = step[backwardStage*R+slow]
	}
	return w
}

func rolesDiffer(rng *rand.Rand) *trace.Window {
	w := exposedDelay(rng)
	R := len(w.Ranks)
	for r := range w.Ranks {
		w.Ranks[r].Role = trace.Role{{Axis: trace.DataParallel, Index: r / 2}, {Axis: "pp", Index: r % 2}}
	}
	for i := range w.Durations {
		if i%R%2 == 1 {
			w.Durations[i] += w.Durations[i] / 2
		}
	}
	return w
}

func rankIsMissing(rng *rand.Rand) *trace.Window {
	w := exposedDelay(rng)
	w.WorldSize++
	return w
}

func microstepsSummed(rng *rand.Rand) *trace.Window {
	w := exposedDelay(rng)
	w.Accumulation = 4
	return w
}

// downgrade passes when every window has the label and none a strong one.
func downgrade(l labels.Label, window func(*rand.Rand) *trace.Window) func(*sampler) finding {
	return func(s *sampler) finding {
		return checkTrials(s, func(rng *rand.Rand) bool {
			r := analyzeStep(window(rng))
			return slices.Contains(r.Labels, l) && !r.Strong()
		})
	}
}
