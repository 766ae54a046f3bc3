package points

import (
	"math"
	"slices"
)

// Cut is how long ranks wait in a stage, and, where all of them wait for each other in it, how long each works before it
// does so for the last time.
type Cut struct {
	Stage int     // of Steps; their number: in the time that none of them covers
	Wait  []int64 // [step · Ranks + rank], ns; nil: it is not told from what they work after it
	Own   []int64 // likewise, together at most as long as the stage; nil: they do not all wait for each other in it
}

// CutStages divides stages where their ranks wait, as entries of calls show: what they work, and the wait, a stage of the same
// name in which nobody works; where all wait for each other that is where they synchronise, between what they work before
// and after it. A wait that is not told from what follows is one stage with it, in which they synchronise. Nothing in the length of a step changes. Cuts are by stage, ascending. O(steps · stages · ranks).
func CutStages(s *Steps, cuts []Cut) *Steps {
	R, T := s.Ranks, s.Len()
	var columns [][]int64 // [stage][step · R + rank]
	out := &Steps{Ranks: R, Breaks: s.Breaks, Missing: s.Missing, Known: []Point{}, Splits: s.Splits}
	add := func(stage Stage, column []int64) {
		out.Stages, columns = append(out.Stages, stage), append(columns, column)
	}
	if s.hasWall() {
		out.Wall = make([]int64, T*R)
	}
	row := make([]int64, R)
	for k := range len(s.Stages) + 1 {
		if k == len(s.Stages) && out.Wall == nil {
			break
		}
		column := make([]int64, 0, T*R)
		for t := range T {
			s.copyAt(row, t, k)
			column = append(column, row...)
		}
		for i := range out.Wall {
			out.Wall[i] += column[i]
		}
		at := slices.IndexFunc(cuts, func(c Cut) bool { return c.Stage == k })
		switch {
		case at < 0 && k < len(s.Stages):
			add(s.Stages[k], column)
		case at < 0: // it is what the stages leave of the wall time
		case k == len(s.Stages):
			add(Stage{Name: "rest", Role: Wait}, cuts[at].Wait)
		default:
			c, stage := &cuts[at], s.Stages[k]
			wait := Stage{Name: stage.Name, Role: Wait}
			if c.Own == nil {
				add(stage, subtract(column, c.Wait))
				add(wait, c.Wait)
				continue
			}
			add(stage, c.Own)
			out.Known = append(out.Known, Point{Stage: len(out.Stages), Evidence: Shown, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()})
			after := subtract(column, c.Own)
			if c.Wait == nil {
				add(stage, after)
				continue
			}
			add(wait, c.Wait)
			add(stage, subtract(after, c.Wait))
		}
	}
	out.Durations = make([]int64, 0, T*len(columns)*R)
	for t := range T {
		for _, column := range columns {
			out.Durations = append(out.Durations, column[t*R:(t+1)*R]...)
		}
	}
	return out
}

// subtract returns what is left of times.
func subtract(x, by []int64) []int64 {
	out := make([]int64, len(x))
	for i := range x {
		out[i] = x[i] - by[i]
	}
	return out
}
