package frontier

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/delay"
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
		if d := v.summarize(c, stages); most == nil || d.Excess > most.Excess {
			most = d
		}
	}
	if most != nil && makespan > 0 {
		most.Share = most.Time * float64(v.steps) / float64(makespan)
	}
	return most
}

func (v *view) summarize(c trace.SideChannel, stages []int) *Device {
	w := v.w
	R := len(w.Ranks)
	d := &Device{Channel: c.Name}
	for i, at := range v.order {
		if g := v.group[i]; slices.Contains(stages, at.stage) && !slices.Contains(d.Stages, g) {
			d.Stages, d.Names = append(d.Stages, g), append(d.Names, v.groups[g])
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
		step := w.Step(w.RowOf(s.Step))
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
	var others, hosts []int64
	for r := range R {
		if r != longest && n[r] > 0 {
			others, hosts = append(others, int64(device[r])), append(hosts, int64(host[r]))
		}
	}
	d.Peers, d.PeerWall = float64(robust.MedianTime(others)), float64(robust.MedianTime(hosts))
	if len(others) > 0 {
		d.Excess = d.Time - d.Peers
	}
	e := excessOf(c.Samples, longest, R)
	d.P = e.chance(R)
	d.PerStep = max(0, d.Excess+e.correction(w, longest))
	return d
}

// sampledExcess is what a rank exceeds the median of the others by in the steps that were
// sampled, and by how much the longest sample of each step does, whosever it is.
type sampledExcess struct {
	steps   []int64 // as recorded
	over    []float64
	longest [][]float64 // of each step
	charged float64     // of longest, where it is the rank's
}

// excessOf sums up the samples of a channel for a rank. O(samples).
func excessOf(samples []trace.Sample, rank, ranks int) sampledExcess {
	bySteps := func(a, b trace.Sample) int { return cmp.Compare(a.Step, b.Step) }
	if !slices.IsSortedFunc(samples, bySteps) {
		samples = slices.Clone(samples)
		slices.SortStableFunc(samples, bySteps)
	}
	var e sampledExcess
	times, scratch := make([]int64, 0, ranks), make([]int64, ranks)
	for from := 0; from < len(samples); {
		step, own, most := samples[from].Step, int64(-1), int64(-1)
		for times = times[:0]; from < len(samples) && samples[from].Step == step; from++ {
			if s := &samples[from]; s.Ready && len(times) < ranks {
				x := int64(s.Value * 1e6)
				times, most = append(times, x), max(most, x)
				if s.Rank == rank {
					own = x
				}
			}
		}
		if len(times) < 2 {
			continue
		}
		middle := robust.MiddleOf(times, scratch)
		excess := float64(most - middle.MedianWithout(most))
		if excess >= 1 {
			e.longest = append(e.longest, []float64{excess})
		}
		if own == most && excess >= 1 {
			e.charged += excess
		}
		if own >= 0 {
			e.steps, e.over = append(e.steps, step), append(e.over, float64(own-middle.MedianWithout(own)))
		}
	}
	return e
}

// chance bounds the chance of the excess if all of so many ranks were alike: the smaller
// of two, doubled for having two; 1 with fewer than three samples. The t-test finds what
// is longer in most samples; a single long sample, which any rank may have, gives a t of 1
// however long it is. What is long now and then shows by its size: in every step the
// longest sample may be any rank's.
func (e *sampledExcess) chance(ranks int) float64 {
	if len(e.over) < 3 {
		return 1
	}
	return min(1, 2*float64(ranks)*min(chanceOfMean(e.over), delay.Chance(e.longest, ranks, e.charged)))
}

// leastRegressed is how many samples show how the excess goes with the length of a step.
const leastRegressed = 8

// correction returns the difference of the mean excess of all steps from the mean of the sampled ones, ns. Samples of every
// fourth step catch a fault in every tenth more or less often than it strikes; the lengths of all steps are known, and tell:
// the regression estimator of a mean (Cochran, Sampling Techniques, 1977, section 7.1). A device that is slower by some time
// lengthens the step by no more, so that the slope is between 0 and 1.
func (e *sampledExcess) correction(w *trace.Window, rank int) float64 {
	if len(e.over) < leastRegressed {
		return 0
	}
	lengths := make([]float64, w.Steps())
	for t := range lengths {
		step := w.Step(t)
		for i := rank; i < len(step); i += len(w.Ranks) {
			lengths[t] += float64(step[i])
		}
	}
	sampled := make([]float64, len(e.steps))
	for i, step := range e.steps {
		sampled[i] = lengths[w.RowOf(step)]
	}
	_, slope := stat.LinearRegression(sampled, e.over, nil, false)
	if math.IsNaN(slope) { // all of one length
		return 0
	}
	return min(max(0, slope), 1) * (stat.Mean(lengths, nil) - stat.Mean(sampled, nil))
}

// chanceOfMean returns the one-sided chance of a mean so far above zero by Student's t.
func chanceOfMean(x []float64) float64 {
	n := float64(len(x))
	mean, sd := stat.MeanStdDev(x, nil)
	switch {
	case mean <= 0:
		return 1
	case sd == 0:
		return 0
	}
	return student.TwoSided(mean/sd*math.Sqrt(n), n-1) / 2
}
