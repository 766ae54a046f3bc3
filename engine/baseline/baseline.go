// Package baseline compares a run with a healthy one, stage by stage: what takes
// longer on all ranks alike shows nowhere else, since nobody waits for anybody.
//
// A step is one number for every stage, what the stage takes whoever is late: the
// median over ranks, and in stages where all ranks synchronise the least, which
// is that of the last to arrive, who waits for nobody. The means over steps are
// compared. Steps that follow each other have something in common, so they are
// resampled in blocks of about the root of their number, each run by itself
// (circular blocks: Politis and Romano 1992, in Exploring the Limits of Bootstrap,
// 263–270); the interval is the percentile one, corrected for the stages
// (Bonferroni).
//
// The intervals are about steps of these two runs: two healthy runs of one job
// differ by more, as their hosts and their networks do. How much is worth reporting
// is the caller's gate.
//
// The package is pure. Times are nanoseconds.
package baseline

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Sample is the steps of a run. The zero value is empty.
type Sample struct {
	stages []string
	steps  [][]float64 // [stage][step]; the last is the whole step
}

// LeastSteps is the smallest sample that is compared: of fewer steps the blocks
// are too few to vary.
const LeastSteps = 16

// Add adds the steps of a validated window. synchronise are the names of the
// stages in which all ranks synchronise. Windows with other stages than the first
// are refused. O(T·S·R).
func (s *Sample) Add(w *trace.Window, synchronise []string) error {
	names := slices.Clone(w.Schema.Stages)
	if w.Wall != nil {
		names = append(names, stagename.Residual)
	}
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
			s.steps[i] = append(s.steps[i], float64(takes(of, slices.Contains(synchronise, name))))
		}
		s.steps[len(names)] = append(s.steps[len(names)], float64(robust.MedianTime(whole)))
	}
	return nil
}

// takes is what a stage takes in a step. It reorders of.
func takes(of []int64, waited bool) int64 {
	if waited {
		return slices.Min(of)
	}
	return robust.MedianTime(slices.Clone(of))
}

// Steps is how many steps the sample has.
func (s *Sample) Steps() int {
	if len(s.steps) == 0 {
		return 0
	}
	return len(s.steps[0])
}

// Reference is the median step of the sample by stage, the residual last where
// wall time was recorded: what frontier.Options.Reference takes.
func (s *Sample) Reference() []int64 {
	out := make([]int64, len(s.stages))
	for i := range out {
		out[i] = int64(robust.Median(slices.Clone(s.steps[i])))
	}
	return out
}

// Stages are the names that Reference is for.
func (s *Sample) Stages() []string { return slices.Clone(s.stages) }

// Difference is how much longer a stage takes now than in the baseline.
type Difference struct {
	Stage       string // "" for the whole step
	Before, Now float64
	Low, High   float64 // bounds of Now − Before that hold for all stages together
}

// Slower reports whether the stage surely takes longer now.
func (d Difference) Slower() bool { return d.Low > 0 }

const (
	confidence = 0.95 // that the bounds of all stages hold together
	replicates = 4000
)

// Compare bounds the difference of every stage, and last of the whole step, of
// two runs. O(steps · stages), and 4,000 resamples of the blocks.
func Compare(before, now *Sample) ([]Difference, error) {
	switch {
	case !slices.Equal(before.stages, now.stages):
		return nil, input.Bad(input.ErrFormat, "the baseline has the stages %v, the run %v: give a run of the same program", before.stages, now.stages)
	case min(before.Steps(), now.Steps()) < LeastSteps:
		return nil, input.Bad(input.ErrMissing, "%d steps in the baseline and %d in the run, expected at least %d in each: record more", before.Steps(), now.Steps(), LeastSteps)
	}
	tail := (1 - confidence) / 2 / float64(len(before.steps))
	out := make([]Difference, len(before.steps))
	for i := range out {
		d := &out[i]
		if i < len(before.stages) {
			d.Stage = before.stages[i]
		}
		d.Before, d.Now = mean(before.steps[i]), mean(now.steps[i])
		rng := rand.New(rand.NewPCG(0, uint64(i)))
		drawn := make([]float64, replicates)
		b, n := newBlocks(before.steps[i]), newBlocks(now.steps[i])
		for k := range drawn {
			drawn[k] = n.draw(rng) - b.draw(rng)
		}
		slices.Sort(drawn)
		at := int(math.Floor(tail * replicates))
		d.Low, d.High = drawn[at], drawn[replicates-1-at]
	}
	return out, nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

// blocks are the means of a sample's circular blocks, one from every step on.
type blocks struct {
	means []float64
	n     int // blocks in a resample
}

func newBlocks(x []float64) blocks {
	size := int(math.Ceil(math.Sqrt(float64(len(x)))))
	out := blocks{means: make([]float64, len(x)), n: (len(x) + size - 1) / size}
	sum := 0.0
	for _, v := range x[:size] {
		sum += v
	}
	for t := range x {
		out.means[t] = sum / float64(size)
		sum += x[(t+size)%len(x)] - x[t]
	}
	return out
}

// draw is the mean of a resample.
func (b blocks) draw(rng *rand.Rand) float64 {
	sum := 0.0
	for range b.n {
		sum += b.means[rng.IntN(len(b.means))]
	}
	return sum / float64(b.n)
}
