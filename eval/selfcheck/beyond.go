package selfcheck

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// simulated is one window of the default job with some fault.
func simulated(rng *rand.Rand, faults ...simulate.Fault) (*trace.Window, error) {
	spec := simulate.DefaultSpec()
	spec.Seed, spec.Faults, spec.Schedule.Steps = rng.Uint64(), faults, 60
	g, err := simulate.New(spec)
	if err != nil {
		return nil, err
	}
	return g.Next()
}

func callbackHost(s *sampler) (finding, error) {
	return hostFault(s, simulate.CallbackHost, simulate.StageCallbacks)
}

func optimizerHost(s *sampler) (finding, error) {
	return hostFault(s, simulate.OptimizerHost, simulate.StageOptimizer)
}

// hostFault: 120 ms are lost after the last synchronisation point of the step. Steps cut at
// zero charge backward, where the others wait in the next step; steps cut where
// the ranks synchronise charge the stage that lost them.
func hostFault(s *sampler, family simulate.Family, stage string) (finding, error) {
	type outcome struct{ sync, step bool }
	trials, err := repeat(s, s.Simulated, func(rng *rand.Rand) (o outcome, err error) {
		w, err := simulated(rng, simulate.Fault{Family: family, Delay: 120})
		if err != nil {
			return o, err
		}
		sync, err := analyze(w, cut.Sync)
		if err != nil {
			return o, err
		}
		step, err := analyze(w, cut.Step)
		if err != nil {
			return o, err
		}
		return outcome{leads(sync, stage) && sync.Cut == cut.Sync, leads(step, stage)}, nil
	})
	sync := tally(trials, func(o outcome) bool { return o.sync })
	step := tally(trials, func(o outcome) bool { return o.step })
	return finding{outOf(sync, len(trials)) + ", " + outOf(step, len(trials)), sync == len(trials) && step == 0}, err
}

// leads reports whether the stage has the largest share.
func leads(r *frontier.Result, stage string) bool {
	return r.Leader.Stage >= 0 && r.Stages[r.Leader.Stage].Name == stage
}

// syncPointFound: in the default job ranks synchronise in backward and nowhere else,
// whatever is delayed.
func syncPointFound(s *sampler) (finding, error) {
	families := []simulate.Family{simulate.NoFault, simulate.Data, simulate.ForwardHost, simulate.Backward, simulate.CallbackHost, simulate.OptimizerHost}
	found, err := repeat(s, s.Simulated, func(rng *rand.Rand) (bool, error) {
		w, err := simulated(rng, simulate.Fault{Family: families[rng.IntN(len(families))], Delay: simulate.Millis(20 + 200*rng.Float64())})
		if err != nil {
			return false, err
		}
		r, err := analyze(w, cut.Auto)
		if err != nil {
			return false, err
		}
		for _, st := range r.Stages {
			if st.Syncs != (st.Name == simulate.StageBackward) {
				return false, nil
			}
		}
		return true, nil
	})
	n := tally(found, func(b bool) bool { return b })
	return finding{outOf(n, len(found)), n == len(found)}, err
}

// publishedAlarms is the paper's bound: none of 105 runs, at 95 %.
const publishedAlarms = 0.0281

// falseAlarms bounds how often a healthy window gets a strong label by either
// cut, or a rank is called in the verdict.
func falseAlarms(s *sampler) (finding, error) {
	alarms, err := repeat(s, s.Healthy, func(rng *rand.Rand) (bool, error) {
		w, err := simulated(rng)
		if err != nil {
			return false, err
		}
		paper, err := analyze(w, cut.Step)
		if err != nil {
			return false, err
		}
		session := diagnose.New(diagnose.Options{})
		if err := session.Add(w); err != nil {
			return false, err
		}
		v := session.Verdict()
		called := slices.ContainsFunc(v.Suspects, func(x diagnose.Finding) bool { return x.Confidence >= evidence.Supported })
		return called || paper.Strong() || v.Windows[0].Main.Strong(), nil
	})
	if err != nil {
		return finding{}, err
	}
	x, n := tally(alarms, func(b bool) bool { return b }), len(alarms)
	rate, err := bootstrap.Binomial(x, n, 0.95)
	if err != nil {
		return finding{}, err
	}
	return finding{fmt.Sprintf("%d/%d, at most %.2f %%", x, n, 100*rate.AtMost), rate.AtMost <= publishedAlarms}, nil
}
