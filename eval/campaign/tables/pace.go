package tables

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
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
	p := pace{mean: stat.Mean(steps, nil), stageMax: slices.Max(stage), stageMedian: robust.Median(stage)}
	if len(steps) > 1 {
		p.sd = stat.StdDev(steps, nil)
	}
	p.median = robust.Median(steps)
	return p
}

// telemetry is how complete the recording of a window is.
type telemetry struct {
	rows, expected int  // steps of ranks: recorded, and of all ranks of the job
	gathered       bool // by every rank
}

func telemetryOf(w *trace.Window) telemetry {
	return telemetry{rows: w.Steps() * len(w.Ranks), expected: w.Steps() * (len(w.Ranks) + len(w.Missing())), gathered: len(w.GatherFailed) == 0}
}
