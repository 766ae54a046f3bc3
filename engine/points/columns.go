package points

// columns are steps stage after stage, as a division has them. In front of the first step and behind the
// last lies a row of zeros, which an interval has of the step that it lacks: the work of a division is
// its steps where they lie.
type columns struct {
	steps  int
	walled bool
	stages [][]int64 // [stage][1 + step + 1][rank]; what no stage covers is the last, where wall time was recorded
}

// NewSteps returns room for so many steps, all to be filled by [Steps.Set] before their first use. They lie in memory, nil: in
// memory of their own.
func NewSteps(stages []Stage, ranks, steps int, walled bool, memory *Memory) *Steps {
	c := &columns{steps: steps, walled: walled}
	n := len(stages)
	if walled {
		n++
	}
	for range n {
		column := memory.Take((steps + 2) * ranks)
		clear(column[:ranks])
		clear(column[len(column)-ranks:])
		c.stages = append(c.stages, column)
	}
	return &Steps{Stages: stages, Ranks: ranks, Memory: memory, columns: c}
}

// Set gives a step of [NewSteps]: the durations of its stages, [stage][rank], of which stage k is the
// stage at[k] of the steps, and how long it took, [rank], which counts only where wall time was recorded.
func (s *Steps) Set(t int, durations, wall []int64, at []int) {
	c, R := s.columns, s.Ranks
	var rest []int64
	if c.walled {
		rest = c.row(t, len(s.Stages), R)
		copy(rest, wall)
	}
	for k, stage := range at {
		row, dst := durations[k*R:(k+1)*R], c.row(t, stage, R)
		copy(dst, row)
		for r := range rest {
			rest[r] -= row[r]
		}
	}
	for r, x := range rest {
		rest[r] = max(0, x)
	}
}

func (c *columns) row(t, stage, ranks int) []int64 {
	return c.stages[stage][(t+1)*ranks : (t+2)*ranks]
}

// intervalStage returns a stage, [interval][rank], where the intervals begin in its steps, or, tail, end.
func (c *columns) intervalStage(stage int, tail bool, intervals, ranks int) []int64 {
	from := ranks
	if tail {
		from = 0
	}
	return c.stages[stage][from : from+intervals*ranks]
}
