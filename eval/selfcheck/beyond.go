package selfcheck

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// simulated is one window of the default job with some fault.
func simulated(rng *rand.Rand, faults ...simulate.Fault) *trace.Window {
	spec := simulate.DefaultSpec()
	spec.Seed, spec.Faults, spec.Schedule.Steps = rng.Uint64(), faults, 60
	return must(must(simulate.New(spec)).Next())
}

// hostFault: 120 ms are lost after the last synchronisation point of the step. Steps cut at
// zero charge backward, where the others wait in the next step; steps cut where
// the ranks synchronise charge the stage that lost them.
func hostFault(family simulate.Family, stage string) func(*sampler) finding {
	return func(s *sampler) finding {
		type outcome struct{ sync, step bool }
		trials := repeat(s, s.Simulated, func(rng *rand.Rand) outcome {
			w := simulated(rng, simulate.Fault{Family: family, Delay: 120})
			sync := analyze(w, frontier.CutSync)
			return outcome{leads(sync, stage) && sync.Cut == frontier.CutSync, leads(analyze(w, frontier.CutStep), stage)}
		})
		sync := tally(trials, func(o outcome) bool { return o.sync })
		step := tally(trials, func(o outcome) bool { return o.step })
		return finding{outOf(sync, len(trials)) + ", " + outOf(step, len(trials)), sync == len(trials) && step == 0}
	}
}

// leads reports whether the stage has the largest share.
func leads(r *frontier.Result, stage string) bool {
	return r.Leader.Stage >= 0 && r.Stages[r.Leader.Stage].Name == stage
}

// syncPointFound: in the default job ranks synchronise in backward and nowhere else,
// whatever is delayed.
func syncPointFound(s *sampler) finding {
	families := []simulate.Family{simulate.NoFault, simulate.Data, simulate.ForwardHost, simulate.Backward, simulate.CallbackHost, simulate.OptimizerHost}
	found := repeat(s, s.Simulated, func(rng *rand.Rand) bool {
		w := simulated(rng, simulate.Fault{Family: families[rng.IntN(len(families))], Delay: simulate.Millis(20 + 200*rng.Float64())})
		r := analyze(w, frontier.CutAuto)
		for _, st := range r.Stages {
			if st.Syncs != (st.Name == simulate.StageBackward) {
				return false
			}
		}
		return true
	})
	return every(found)
}

// verdict is that on one window.
func verdict(w *trace.Window) *diagnose.Verdict {
	s := diagnose.New(diagnose.Options{})
	if err := s.Add(w); err != nil {
		panic(impossible{err})
	}
	return s.Verdict()
}

// publishedAlarms is the paper's bound: none of 105 runs, at 95 %.
const publishedAlarms = 0.0281

// falseAlarms bounds how often a healthy window gets a strong label by either
// cut, or a rank is called in the verdict.
func falseAlarms(s *sampler) finding {
	alarms := repeat(s, s.Healthy, func(rng *rand.Rand) bool {
		w := simulated(rng)
		paper := analyze(w, frontier.CutStep)
		v := verdict(w)
		called := slices.ContainsFunc(v.Findings, func(x diagnose.Finding) bool { return x.Confidence >= evidence.Supported })
		return called || paper.Strong() || v.Windows[0].Main.Strong()
	})
	x, n := held(alarms), len(alarms)
	rate := must(bootstrap.Binomial(x, n, 0.95))
	return finding{fmt.Sprintf("%d/%d, at most %.2f %%", x, n, 100*rate.AtMost), rate.AtMost <= publishedAlarms}
}
