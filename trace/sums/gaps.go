package sums

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/stagename"
)

const (
	wholeGap    = 0.05 // of a step, that its parts leave of it at most under any name
	namedGap    = 0.5  // the same where the name says that it is the step
	partGap     = 0.02 // the same of a stage around its neighbours
	slopeOff    = 0.02 // by which a sum grows faster than its parts, or slower, at most
	ownVariance = 0.1  // of its variance, that its parts do not explain at most
)

// wholeNames are names of whole steps, without their unit, blanks as "_". A stage "step"
// may be that of the optimizer.
var wholeNames = []string{"wall", "walltime", "wall_time", "wall_clock", "step_time", "step_duration", "iter", "iter_time", "iteration", "iteration_time",
	"batch_time", "train_step", "train_step_time", "train_time", "training_step", "total", "total_time", "elapsed", "elapsed_time", "e2e", "e2e_time",
	"duration", "time", "epoch_time"}

// isWhole reports whether the name of a stage is that of a whole step.
func isWhole(stage string) bool {
	name := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(stage)))
	if at := strings.IndexAny(name, "(["); at > 0 {
		name = strings.TrimRight(name[:at], "_")
	}
	return slices.Contains(wholeNames, name)
}

// gaps adds the stages that are a little longer than others together by a way to find
// them. A stage whose name says what it is for is none.
func (s *search) gaps(by func(stage int) (Sum, bool)) {
	for _, stage := range s.active {
		if s.isSum(stage) || stagename.KindOf(s.stages[stage]) != stagename.Other {
			continue
		}
		if f, ok := by(stage); ok {
			s.found = append(s.found, f)
		}
	}
}

// bestSum returns a stage as the sum of the others that it follows best.
func (s *search) bestSum(stage int) (best Sum, found bool) {
	least := 1.0
	for _, parts := range s.candidates(stage, partGap) {
		gap, ok := s.gap(stage, parts, partGap)
		if own := s.unexplainedShare(stage, parts, partGap); ok && own < least {
			best, found, least = Sum{Stage: stage, Parts: parts, Gap: gap}, true, own
		}
	}
	return best, found
}

// sumOfAll returns a stage as the sum of all others, which it follows, or is by its name.
func (s *search) sumOfAll(stage int) (Sum, bool) {
	parts, named, most := s.leaves(stage), isWhole(s.stages[stage]), wholeGap
	if named {
		most = namedGap
	}
	if len(parts) == 0 || !named && len(parts) < leastParts {
		return Sum{}, false
	}
	gap, ok := s.gap(stage, parts, most)
	return Sum{Stage: stage, Parts: parts, Gap: gap}, ok && (named || s.unexplainedShare(stage, parts, most) < 1)
}

// gap returns the part of a stage that others leave of it; false where that is negative,
// or too much, in more than a few rows.
func (s *search) gap(stage int, parts []int, most float64) (share float64, ok bool) {
	tol, misses, lefts := s.tolerance(stage, parts), 0, make([]float64, 0, s.rows)
	for _, row := range s.spots {
		if !s.fits(row, stage, parts, tol, most) {
			misses++
		}
	}
	if misses > spotMisses || tol > vague*float64(s.median(stage)) {
		return 0, false
	}
	misses = 0
	for row := range s.rows {
		if !s.fits(row, stage, parts, tol, most) {
			misses++
		}
		lefts = append(lefts, float64(s.rest(row, stage, parts))/float64(max(1, s.timeAt(row, stage))))
	}
	slices.Sort(lefts)
	return max(0, lefts[len(lefts)/2]), float64(misses) <= (1-nearlyAll)*float64(s.rows)
}

// unexplainedShare returns the part of a stage's variance that others together do not explain; 1 where
// it does not follow them: as much as they vary, and with little of its own.
func (s *search) unexplainedShare(stage int, parts []int, most float64) float64 {
	tol, median := s.tolerance(stage, parts), s.median(stage)
	var n, varied, mx, my, xx, xy, yy float64
	for row := range s.rows {
		if !s.fits(row, stage, parts, tol, most) {
			continue
		}
		y := float64(s.timeAt(row, stage))
		x := y - float64(s.rest(row, stage, parts))
		if n++; max(y-float64(median), float64(median)-y) > tol {
			varied++
		}
		dx, dy := x-mx, y-my
		mx, my = mx+dx/n, my+dy/n
		xx, xy, yy = xx+dx*(x-mx), xy+dx*(y-my), yy+dy*(y-my)
	}
	take := 0
	for _, p := range parts {
		if float64(s.median(p)) > most*float64(median)+tol {
			take++
		}
	}
	slope, own := xy/xx, 1-xy*xy/(xx*yy)
	if take < leastParts || varied < leastVaried || slope < 1-slopeOff || slope > 1+slopeOff || own > ownVariance {
		return 1
	}
	return own
}
