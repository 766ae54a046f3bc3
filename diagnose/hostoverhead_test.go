package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

// TestHostOverheadIsEverybodys: one rank whose host is late in the forward pass of one window among ten is no
// overhead of all hosts, though the stage of that window is long beside the device's time.
func TestHostOverheadIsEverybodys(t *testing.T) {
	healthy := spec(16, 60, 5)
	healthy.Schedule.Windows = 10
	ws := windows(t, healthy)
	late := windows(t, spec(16, 60, 6, simulate.Fault{Family: simulate.ForwardHost, Delay: 60, Ranks: []int{3}}))[0]
	late.Run, late.Index, late.FirstStep = ws[4].Run, ws[4].Index, ws[4].FirstStep
	for i := range late.Side {
		for k := range late.Side[i].Samples {
			late.Side[i].Samples[k].Step += ws[4].FirstStep - ws[0].FirstStep
		}
	}
	ws[4] = late
	v := verdictOn(t, ws...)
	if slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Cause == CauseHost }) {
		t.Errorf("%+v", v.Findings)
	}
}
