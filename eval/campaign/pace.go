package campaign

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/trace"
)

// pace is how long the steps of a window take, in ns: a step lasts as long as
// its slowest rank.
type pace struct {
	mean, sd, median float64 // of the steps
	// Of the seeded stage over all steps and ranks; 0 in a healthy run.
	stageMedian, stageMax float64
}

func paceOf(c *Case, w *trace.Window) pace {
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
	slices.Sort(stage)
	p := pace{stageMedian: middle(stage), stageMax: stage[len(stage)-1]}
	if p.mean = stat.Mean(steps, nil); len(steps) > 1 {
		p.sd = stat.StdDev(steps, nil)
	}
	slices.Sort(steps)
	p.median = middle(steps)
	return p
}

// middle is the median of sorted values, of which there is one.
func middle(v []float64) float64 { return (v[(len(v)-1)/2] + v[len(v)/2]) / 2 }
