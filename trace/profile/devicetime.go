package profile

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// DeviceTimes is how the accelerators of one run spent its steps, as profilers
// recorded them.
type DeviceTimes struct {
	Run   string
	Ranks []DeviceRank // ascending by ID
	Notes []input.Note // what is incomplete
}

// DeviceRank is the device time of one rank. The times of consecutive steps
// touch; between recordings, and where steps are left out, there are gaps.
type DeviceRank struct {
	Rank  trace.Rank
	Steps []DeviceStep // by time
}

// DeviceStep is one step of one rank on its device.
type DeviceStep struct {
	Step int64
	Categories
	Idling IdleTimes
}

// RunName implements [trace.Recording].
func (d *DeviceTimes) RunName() string { return d.Run }

// Select returns the selection, or nil.
func (d *DeviceTimes) Select(s *trace.Selection) *DeviceTimes {
	if d == nil || !s.Run(d.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return d
	}
	out := *d
	out.Ranks = nil
	for _, r := range d.Ranks {
		if !s.Rank(r.Rank) {
			continue
		}
		r.Steps = slices.DeleteFunc(slices.Clone(r.Steps), func(x DeviceStep) bool { return !s.Steps.Has(x.Step) })
		if len(r.Steps) > 0 {
			out.Ranks = append(out.Ranks, r)
		}
	}
	if len(out.Ranks) == 0 {
		return nil
	}
	return &out
}
