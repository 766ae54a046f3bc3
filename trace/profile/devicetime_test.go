package profile

import (
	"github.com/sfstat/sfstat/trace"
	"testing"
)

func TestDeviceSelection(t *testing.T) {
	device := &DeviceTimes{Run: "job", Ranks: []DeviceRank{{Rank: trace.Rank{ID: 0}, Steps: []DeviceStep{{Step: 5}}}, {Rank: trace.Rank{ID: 3}, Steps: []DeviceStep{{Step: 5}, {Step: 7}}}}}
	if got := device.Select(&trace.Selection{Steps: &trace.StepRange{First: 7, Last: 7}}); len(got.Ranks) != 1 || len(got.Ranks[0].Steps) != 1 || len(device.Ranks[1].Steps) != 2 {
		t.Errorf("%+v", got)
	}
}
