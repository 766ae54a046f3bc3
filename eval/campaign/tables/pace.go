package tables

import (
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/sfstat/sfstat/trace"
)

// pace is how long the steps of a window take, in ns: a step lasts as long as
// its slowest rank.
type pace struct {
	mean, sd, median float64 // of the steps
	// Of the seeded stage over all steps and ranks; 0 in a healthy run.
	stageMedian, stageMax float64
}

func paceOf(c *runCase, w *trace.Window) pace {
	R := len(w.Ranks)
	var steps, stage []float64
	names, group := w.Schema.Groups()
	for t := range w.Steps() {
		total, seeded := make([]int64, R), make([]int64, R)
		for i, d := range w.Step(t) {
			total[i%R] += d
			if c.seeded(names[group[i/R]]) {
				seeded[i%R] += d
			}
		}
		if w.Wall != nil {
			copy(total, w.WallOf(t))
		}
		steps = append(steps, float64(slices.Max(total)))
		for _, d := range seeded {
			stage = append(stage, float64(d))
		}
	}
	p := pace{mean: summary(stats.Mean, steps), median: summary(stats.Median, steps), stageMedian: summary(stats.Median, stage), stageMax: slices.Max(stage)}
	if len(steps) > 1 {
		p.sd = summary(stats.StandardDeviationSample, steps)
	}
	return p
}

// summary is a statistic of values, of which there is one at least: then these
// statistics have no error.
func summary(of func(stats.Float64Data) (float64, error), values []float64) float64 {
	x, _ := of(values)
	return x
}
