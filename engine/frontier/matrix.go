package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Account returns the exact account of steps that are given as matrices, [stage][rank], of durations in nanoseconds: how far
// each stage moves the frontier, the latest time at which any rank is done with it. The advances of a step add up to its
// exposed time (StageFrontier, §III). It fails where the matrices are not as long as the stages, or their rows not as long as
// each other. O(steps × stages × ranks).
func Account(stages []string, steps ...[][]int64) (*Result, error) {
	w := &trace.Window{Schema: trace.Schema{Stages: slices.Clone(stages)}}
	for t, step := range steps {
		if len(step) != len(stages) {
			return nil, input.Bad(input.ErrRagged, "step %d has %d rows, expected one for each of %d stages", t, len(step), len(stages))
		}
		for k, row := range step {
			if t == 0 && k == 0 {
				w.WorldSize = len(row)
				for rank := range row {
					w.Ranks = append(w.Ranks, trace.Rank{ID: rank})
				}
			}
			if len(row) != w.WorldSize {
				return nil, input.Bad(input.ErrRagged, "step %d has %d durations in stage %q, expected one for each of %d ranks", t, len(row), stages[k], w.WorldSize)
			}
			w.Durations = append(w.Durations, row...)
		}
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	a, err := Analyze(w, Options{Cut: CutStep})
	if err != nil {
		return nil, err
	}
	return a.Main, nil
}
