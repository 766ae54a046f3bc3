package tables

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
)

// pace describes how long the steps of a window take, in ns. A step, and the seeded stage in
// it, last as long as on their slowest rank.
type pace struct {
	step, stage description // stage: all zero in a healthy run
}

// paceOf describes the steps of a window and its seeded stage. O(T·S·R).
func paceOf(c *runCase, w *trace.Window) pace {
	R := len(w.Ranks)
	var steps, stages []float64
	names, group := w.Schema.Groups()
	for t := range w.Steps() {
		total, seeded := make([]int64, R), make([]int64, R)
		for i, d := range w.Step(t) {
			total[i%R] += d
			if c.isSeeded(names[group[i/R]]) {
				seeded[i%R] += d
			}
		}
		if w.Wall != nil {
			copy(total, w.WallOf(t))
		}
		steps = append(steps, float64(slices.Max(total)))
		stages = append(stages, float64(slices.Max(seeded)))
	}
	return pace{step: describe(steps), stage: describe(stages)}
}

// telemetry is how complete the recording of a window is.
type telemetry struct {
	rows, expected int  // steps of ranks: recorded, and of all ranks of the job
	gathered       bool // by every rank
}

func telemetryOf(w *trace.Window) telemetry {
	return telemetry{rows: w.Steps() * len(w.Ranks), expected: w.Steps() * (len(w.Ranks) + w.Missing().Len()), gathered: len(w.GatherFailed) == 0}
}
