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
	d, err := DeviceTimes([]*profile.Rank{one, other}, "job")
	if err != nil || d.Run != "job" || len(d.Ranks) != 1 || d.Ranks[0].Rank.ID != 1 || len(d.Ranks[0].Steps) != 1 || len(d.Notes) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if s := d.Ranks[0].Steps[0]; s.Step != 4 || s.Compute != 30*us || s.Idle != 70*us {
		t.Errorf("%+v", s)
	}
	if _, err := DeviceTimes([]*profile.Rank{other}, "job"); err == nil {
		t.Error("no device work, no error")
	}
	if _, err := DeviceTimes(nil, "job"); err == nil {
		t.Error("no ranks, no error")
	}
}
