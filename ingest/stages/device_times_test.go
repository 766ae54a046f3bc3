package stages

import (
	"testing"

	"github.com/sfstat/sfstat/trace/profile"
)

// TestDeviceTimes: of two ranks one has no device work and is left out.
func TestDeviceTimes(t *testing.T) {
	one := newFeed().on(1, "ProfilerStep#4", 0, 100).on(1, "forward", 10, 30).kernel("A", 1, 12, 20, 50).finish()
	other := newFeed().on(1, "ProfilerStep#4", 0, 100).on(1, "forward", 10, 30).finish()
	one.ID, other.ID = 1, 0
	for name, timeline := range map[string]Timeline{"auto": Auto, "on the host": OnHost} {
		divided, err := Divide([]*profile.Rank{one, other}, Options{Run: "job", Timeline: timeline})
		d := divided.Devices
		if err != nil || d.Run != "job" || len(d.Ranks) != 1 || d.Ranks[0].Rank.ID != 1 || len(d.Ranks[0].Steps) != 1 || len(d.Notes) != 1 {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
		if s := d.Ranks[0].Steps[0]; s.Step != 4 || s.Compute != 30*us || s.Idle != 70*us {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if d, err := Divide([]*profile.Rank{other}, Options{Run: "job"}); err != nil || d.Devices != nil {
		t.Errorf("%+v, %v, expected no device times where no device was recorded", d.Devices, err)
	}
}

// TestOperatorsByHost: operators behind stages on the device go by the names of the host's stages where that is asked for, and count the same.
func TestOperatorsByHost(t *testing.T) {
	r := newFeed().on(1, "ProfilerStep#4", 0, 100).on(1, "forward", 10, 30).kernel("A", 1, 12, 20, 50).finish()
	r.ID = 0
	for timeline, want := range map[Timeline]string{Auto: "model.fwd_loss_device", OnHost: "model.fwd_loss_cpu_wall"} {
		d, err := Divide([]*profile.Rank{r}, Options{Run: "job", Operators: timeline})
		if err != nil || d.Launched == nil || len(d.Launched.Rows) != 1 {
			t.Fatalf("%+v, %v", d.Launched, err)
		}
		if row := d.Launched.Rows[0]; d.Launched.Stages[row.Stage] != want || row.Dur != 30*us {
			t.Errorf("%s %+v, expected %s", d.Launched.Stages[row.Stage], row, want)
		}
	}
}
