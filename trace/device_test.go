package trace

import "testing"

func TestDeviceSelection(t *testing.T) {
	device := &DeviceRun{Run: "job", Ranks: []DeviceRank{{Rank: Rank{ID: 0}, Steps: []DeviceStep{{Step: 5}}}, {Rank: Rank{ID: 3}, Steps: []DeviceStep{{Step: 5}, {Step: 7}}}}}
	if got := device.Select(&Selection{Steps: &StepRange{7, 7}}); len(got.Ranks) != 1 || len(got.Ranks[0].Steps) != 1 || len(device.Ranks[1].Steps) != 2 {
		t.Errorf("%+v", got)
	}
}
