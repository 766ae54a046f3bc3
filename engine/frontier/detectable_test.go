package frontier

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

// TestDetectableIsNamed: delays of the size that a healthy window gives are named
// in other windows of the job, and those a fifth smaller are not.
func TestDetectableIsNamed(t *testing.T) {
	const minGain, seeds = 0.1, 20
	stages := map[simulate.Family]string{simulate.Data: simulate.StageData, simulate.ForwardHost: simulate.StageForward, simulate.OptimizerHost: simulate.StageOptimizer}
	for _, ranks := range []int{2, 4, 32} {
		for _, steps := range []int{12, 60} {
			for family, stage := range stages {
				t.Run(fmt.Sprintf("%d ranks/%d steps/%v", ranks, steps, family), func(t *testing.T) {
					healthy := mustAnalyze(t, simulated(t, func(s *simulate.Spec) { s.Ranks, s.Schedule.Steps = ranks, steps }), Options{}).Main
					var delay int64
					for _, d := range healthy.Detectable(minGain) {
						if hidden := healthy.Stages[d.Stage].Name == simulate.StageBackward; d.Hidden != hidden || hidden != (d.Delay == 0) {
							t.Errorf("stage %s: %+v", healthy.Stages[d.Stage].Name, d)
						}
						if healthy.Stages[d.Stage].Name == stage {
							delay = d.Delay
						}
					}
					for _, c := range []struct {
						part        float64
						least, most int
					}{{1, seeds * 8 / 10, seeds}, {0.8, 0, seeds / 20}} {
						found := 0
						for seed := range uint64(seeds) {
							slow := int(seed) % ranks
							w := simulated(t, func(s *simulate.Spec) {
								s.Seed, s.Ranks, s.Schedule.Steps = 100+seed, ranks, steps
								s.Faults = []simulate.Fault{{Family: family, Delay: simulate.Millis(c.part * float64(delay) / 1e6), Ranks: []int{slow}}}
							})
							if rank, in, ok := named(mustAnalyze(t, w, Options{}).Main); ok && rank == slow && in == stage {
								found++
							}
						}
						if found < c.least || found > c.most {
							t.Errorf("%.2f of %d ns: named in %d of %d", c.part, delay, found, seeds)
						}
					}
				})
			}
		}
	}
}

// TestNothingDetectable: one rank, and too few steps to rule out chance.
func TestNothingDetectable(t *testing.T) {
	one := mustAnalyze(t, simulated(t, func(s *simulate.Spec) { s.Ranks = 1 }), Options{}).Main
	if d := one.Detectable(0.1); d != nil {
		t.Errorf("one rank: %+v", d)
	}
	few := mustAnalyze(t, simulated(t, func(s *simulate.Spec) { s.Ranks, s.Schedule.Steps = 2, 4 }), Options{}).Main
	for _, d := range few.Detectable(0.1) {
		if d.Delay != 0 {
			t.Errorf("four steps of two ranks: %+v", d)
		}
	}
}
