package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Sample keeps what the steps of a run take, stage by stage, to compare
// them with those of a healthy run: what takes longer on all ranks alike shows
// nowhere else, since nobody waits for anybody. The zero value is empty.
//
// A step is one number for every stage, what the stage takes whoever is late: the
// median over ranks, and in stages where all ranks synchronise the least, which
// is that of the last to arrive, who waits for nobody. engine/compare compares the
// steps of two runs in batches.
type Sample struct {
	stages []string
	steps  [][]float64 // [stage][step]; the last is the whole step
}

// LeastSample is the smallest sample that is compared: fewer steps make too few
// batches.
const LeastSample = 16

// Add adds the steps of a validated window. synchronise are the names of the
// stages in which all ranks synchronise. Windows with other stages than the first
// are refused. O(T·S·R).
func (s *Sample) Add(w *trace.Window, synchronise []string) error {
	names := StagesOf(w)
	if s.stages == nil {
		s.stages, s.steps = names, make([][]float64, len(names)+1)
	}
	if !slices.Equal(s.stages, names) {
		return input.Bad(input.ErrFormat, "window %d of run %q has the stages %v, the windows before it %v: give one run with the stages of the run to compare", w.Index, w.Run, names, s.stages)
	}
	R := len(w.Ranks)
	whole, of := make([]int64, R), make([]int64, R)
	for t := range w.Steps() {
		clear(whole)
		for i, name := range names {
			if i < len(w.Schema.Stages) {
				copy(of, w.Step(t)[i*R:(i+1)*R])
			} else {
				for r, wall := range w.WallOf(t) {
					of[r] = max(0, wall-whole[r])
				}
			}
			for r, d := range of {
				whole[r] += d
			}
			s.steps[i] = append(s.steps[i], float64(stageTakes(of, slices.Contains(synchronise, name))))
		}
		s.steps[len(names)] = append(s.steps[len(names)], float64(robust.MedianTime(whole)))
	}
	return nil
}

// Clone returns a copy of the sample, which has what is added to it alone.
func (s *Sample) Clone() *Sample {
	out := &Sample{stages: s.stages}
	for _, times := range s.steps {
		out.steps = append(out.steps, slices.Clip(times))
	}
	return out
}

// stageTakes returns the time of a stage in a step. It reorders of.
func stageTakes(of []int64, waited bool) int64 {
	if waited {
		return slices.Min(of)
	}
	return robust.MedianTime(slices.Clone(of))
}

// Steps returns how many steps the sample has.
func (s *Sample) Steps() int {
	if len(s.steps) == 0 {
		return 0
	}
	return len(s.steps[0])
}

// Reference returns the median step of the sample by stage, the residual last where wall time was recorded: what
// frontier.Options.Reference takes.
func (s *Sample) Reference() []int64 {
	out := make([]int64, len(s.stages))
	for i := range out {
		out[i] = int64(robust.Median(slices.Clone(s.steps[i])))
	}
	return out
}

// Times returns the times of every stage, step by step, in the order of Stages, and last of the whole step. They are not
// copied.
func (s *Sample) Times() [][]float64 { return s.steps }

// Stages returns the names of the values of Reference.
func (s *Sample) Stages() []string { return slices.Clone(s.stages) }
