package ddp

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

func TestCheckRefusesByName(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"data_wait: preceding", "data_wait: found preceding"},
		{"schedule: {windows: 1, steps: 100001}", "schedule.steps"},
		{"side: {every: 4, unready: 0.5}", "side.unready"},
		{"noise: {speed_sd: 0.2}", "noise"},
		{"clock: {drift_ppm: 50}", "clock"},
		{"other: {mean_ms: 3}", "other"},
		{"stages: [{name: a, work: {mean_ms: 1}}]", "stages: found [a]"},
		{"stages: [{name: model.backward_cpu_wall}, {name: model.fwd_loss_cpu_wall}, {name: optim.step_cpu_wall}]", "in this order"},
		{"accumulation: 2\nstages: [{name: model.fwd_loss_cpu_wall, per_microstep: true}, {name: model.backward_cpu_wall}, {name: optim.step_cpu_wall}]", "per_microstep"},
		{"accumulation: 2\nstages: [{name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall}, {name: optim.step_cpu_wall}]", "per_microstep"},
		{"stages: [{name: data.next_wait, loader: {depth: 2, load: {mean_ms: 4}}}, {name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall}, {name: optim.step_cpu_wall}]", "loader"},
		{"stages: [{name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall, meetings: [{}, {}]}, {name: optim.step_cpu_wall}]", "meetings"},
		{"stages: [{name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall, meetings: [{overlap: 0.5}]}, {name: optim.step_cpu_wall}]", "meetings"},
		{"layout: [{axis: tp, size: 2}, {axis: dp, size: 4}]\nstages: [{name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall, meetings: [{across: [tp]}]}, {name: optim.step_cpu_wall}]", "across"},
		{"faults: [{family: data, delay_ms: 5, probability: 0.5}]", "probability"},
		{"ranks: 0", "0 ranks"},
	} {
		s, err := simulate.ParseSpec("spec.yaml", []byte(c.yaml))
		if err == nil {
			_, err = Check(s)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n\terror is %v, expected %q in it", c.yaml, err, c.want)
		}
	}
}

func TestCheckTakesWhatTheCampaignMakes(t *testing.T) {
	for f := simulate.NoFault; f <= simulate.OptimizerHost; f++ {
		s := simulate.DefaultSpec()
		s.Faults = []simulate.Fault{{Family: f, Delay: 120}}
		r, err := Check(s)
		if err != nil {
			t.Errorf("%v: %v", f, err)
			continue
		}
		if f != simulate.NoFault && len(r.Faults[0].Ranks) != 1 {
			t.Errorf("%v hides on %v, expected a rank by the seed", f, r.Faults[0].Ranks)
		}
	}
	for name, yaml := range map[string]string{
		"own meetings":   "stages: [{name: model.fwd_loss_cpu_wall}, {name: model.backward_cpu_wall, meetings: [{}]}, {name: eval, meetings: [{}]}, {name: optim.step_cpu_wall}]",
		"no noise":       "noise: {speed_sd: 0, spikes: {probability: 0, mean_ms: 0, share: 0}}\nclock: {skew_sd_ms: 0, drift_ppm: 0}\nother: {mean_ms: 0, sd_ms: 0, shape: constant}",
		"certain faults": "faults: [{family: data, delay_ms: 5, probability: 1}]",
		"roles":          "layout: [{axis: dp, size: 4}, {axis: pp, size: 2}]\nwork: [{where: {pp: 1}, factor: 1.4}]",
	} {
		s, err := simulate.ParseSpec(name, []byte(yaml))
		if err == nil {
			_, err = Check(s)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
