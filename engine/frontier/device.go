package frontier

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
	"github.com/sfstat/sfstat/trace"
)

// deviceOf summarises the channel that times a stage on the device; of several
// the one in which a rank exceeds its peers by most. The rank that it judges is
// the one with the longest stage, on the device or on the host: the others are
// healthy by construction, and their mean would hide it.
func deviceOf(v *view, makespan int64) *Device {
	var most *Device
	for _, c := range v.w.Side {
		stages := c.Times(v.w.Schema)
		if len(stages) == 0 {
			continue
		}
		if d := summarize(v, c, stages, makespan); most == nil || d.Excess > most.Excess {
			most = d
		}
	}
	return most
}

func summarize(v *view, c trace.SideChannel, stages []int, makespan int64) *Device {
	w, R := v.w, v.ranks()
	d := &Device{Channel: c.Name}
	for i, at := range v.order {
		if slices.Contains(stages, at.stage) && !slices.Contains(d.Stages, v.group[i]) {
			d.Stages = append(d.Stages, v.group[i])
		}
	}
	device, host, n := make([]float64, R), make([]float64, R), make([]float64, R)
	for _, s := range c.Samples {
		d.Sampled++
		if !s.Ready {
			continue
		}
		d.Ready++
		n[s.Rank]++
		device[s.Rank] += s.Value * 1e6
		step := w.Step(int(s.Step - w.FirstStep))
		for _, stage := range stages {
			host[s.Rank] += float64(step[stage*R+s.Rank])
		}
	}
	longest := -1
	for r := range R {
		if n[r] == 0 {
			continue
		}
		device[r] /= n[r]
		host[r] /= n[r]
		if longest < 0 || max(device[r], host[r]) > max(device[longest], host[longest]) {
			longest = r
		}
	}
	if longest < 0 {
		return d
	}
	d.Rank, d.Time, d.Wall = w.Ranks[longest].ID, device[longest], host[longest]
	if d.Wall > 0 {
		d.OverWall = d.Time / d.Wall
	}
	if makespan > 0 {
		d.Share = d.Time * float64(v.steps) / float64(makespan)
	}
	var others []int64
	for r := range R {
		if r != longest && n[r] > 0 {
			others = append(others, int64(device[r]))
		}
	}
	d.Peers = float64(robust.MedianTime(others))
	if len(others) > 0 {
		d.Excess = d.Time - d.Peers
	}
	d.P = chanceOfExcess(c.Samples, longest, R)
	return d
}

// chanceOfExcess is the chance of what a rank exceeds the median of the others by,
// step by step, if all of so many ranks were alike: a single long sample, which
// any rank may have, gives a t of 1 however long it is. O(samples).
func chanceOfExcess(samples []trace.Sample, rank, ranks int) float64 {
	bySteps := func(a, b trace.Sample) int { return cmp.Compare(a.Step, b.Step) }
	if !slices.IsSortedFunc(samples, bySteps) {
		samples = slices.Clone(samples)
		slices.SortStableFunc(samples, bySteps)
	}
	var over []float64
	others := make([]int64, 0, ranks)
	for from := 0; from < len(samples); {
		own, has, to := int64(0), false, from
		others = others[:0]
		for ; to < len(samples) && samples[to].Step == samples[from].Step; to++ {
			switch s := &samples[to]; {
			case !s.Ready:
			case s.Rank == rank:
				own, has = int64(s.Value*1e6), true
			default:
				others = append(others, int64(s.Value*1e6))
			}
		}
		if from = to; has && len(others) > 0 {
			over = append(over, float64(own-robust.MedianTime(others)))
		}
	}
	n := float64(len(over))
	if n < 3 {
		return 1
	}
	mean, sd := student.MeanSD(over)
	switch {
	case mean <= 0:
		return 1
	case sd == 0:
		return 0
	}
	return min(1, float64(ranks)*student.TwoSided(mean/sd*math.Sqrt(n), n-1)/2)
}
