package stages

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// deviceTimes returns how the devices of the run spent its steps, one profile for each rank; nil where no work on a device was
// recorded. Of the steps those are left out that windows on the device leave out, with a note; ranks without device work are left out
// too. Clocks need not agree.
func (c *converter) deviceTimes(ranks []*profile.Rank) *profile.DeviceTimes {
	if c.o.Timeline != OnDevice {
		var err error
		if c, err = prepare(ranks, Options{Run: c.o.Run, Timeline: OnDevice}); err != nil {
			return nil
		}
	}
	out := &profile.DeviceTimes{Run: c.o.Run, Notes: slices.Clone(c.notes)}
	for i, r := range c.ranks {
		if d := deviceTimesOf(r, c.steps[i]); len(d.Steps) > 0 {
			out.Ranks = append(out.Ranks, d)
		}
		for _, n := range r.Notes {
			out.Notes = append(out.Notes, input.Note{Kind: n.Kind, Text: fmt.Sprintf("rank %d: %s", r.ID, n.Text)})
		}
	}
	if len(out.Ranks) == 0 {
		return nil
	}
	return out
}

// deviceTimesOf returns the device times of some steps of a rank.
func deviceTimesOf(r *profile.Rank, steps []int) profile.DeviceRank {
	d := profile.DeviceRank{Rank: trace.Rank{ID: r.ID, Host: r.Host, LocalRank: r.LocalRank, Role: r.Role}}
	for _, at := range steps {
		s := &r.Steps[at]
		if c := s.Time; c != nil {
			d.Steps = append(d.Steps, profile.DeviceStep{Step: s.Index, Categories: *c, Idling: s.Idling})
		}
	}
	return d
}
