package stages

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// DeviceTimes is how the devices of one run spent its steps, one profile for
// each rank. Of the steps those are left out that Windows leaves out, with a
// note; ranks without device work are left out too. Clocks need not agree.
func DeviceTimes(ranks []*profile.Rank, run string) (*profile.DeviceTimes, error) {
	c, err := prepare(ranks, Options{Run: run, Timeline: OnDevice})
	if err != nil {
		return nil, err
	}
	out := &profile.DeviceTimes{Run: run}
	for i, r := range c.ranks {
		if d := deviceTimesOf(r, c.steps[i]); len(d.Steps) > 0 {
			out.Ranks = append(out.Ranks, d)
		}
		for _, n := range r.Notes {
			c.note(n.Kind, "rank %d: %s", r.ID, n.Text)
		}
	}
	out.Notes = c.notes
	if len(out.Ranks) == 0 {
		return nil, input.At(input.Pos{File: ranks[0].Source}, input.Bad(input.ErrMissing,
			"no work on a device was recorded: let the profiler record it too (ProfilerActivity.CUDA, nsys profile --trace=cuda,nvtx)"))
	}
	return out, nil
}

// deviceTimesOf are those of some steps of a rank.
func deviceTimesOf(r *profile.Rank, steps []int) profile.DeviceRank {
	d := profile.DeviceRank{Rank: trace.Rank{ID: r.ID, Host: r.Host, LocalRank: r.LocalRank, Role: r.Role}}
	for _, at := range steps {
		s := &r.Steps[at]
		if c := s.Time; c != nil {
			d.Steps = append(d.Steps, profile.DeviceStep{Step: s.Index, Categories: *c})
		}
	}
	return d
}
