package points

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// StageOf returns the stage of a name, with the role that the name declares.
func StageOf(name string) Stage { return Stage{Name: name, Role: RoleOf(name)} }

// RoleOf returns the role that the name of a stage declares.
func RoleOf(stage string) Role {
	if stagename.IsWait(stage) {
		return Wait
	}
	switch stagename.KindOf(stage) {
	case stagename.Data:
		return Data
	case stagename.Forward:
		return Forward
	case stagename.Backward:
		return Backward
	case stagename.Collective:
		return Collective
	case stagename.Optimizer:
		return Optimizer
	}
	return Undeclared
}

// WindowSteps returns the steps of a window, whose durations and wall times it shares: stages have the roles that their names
// declare, and ranks may synchronise in the sets that their roles make.
func WindowSteps(w *trace.Window) Steps {
	out := Steps{Ranks: len(w.Ranks), Durations: w.Durations, Wall: w.Wall}
	for _, name := range w.Schema.Stages {
		out.Stages = append(out.Stages, StageOf(name))
	}
	if len(w.Ranks) == 0 {
		return out
	}
	for _, s := range trace.Splits(w.Ranks) {
		out.Splits = append(out.Splits, s.Sets)
	}
	return out
}

// Validate reports the first field of steps that does not fit the others, with what it holds and what is expected. Steps of
// [NewSteps] have the layout of their own.
func (s *Steps) Validate() error {
	if s.columns != nil {
		return nil
	}
	per := s.Ranks * len(s.Stages)
	switch {
	case s.Ranks < 1:
		return fmt.Errorf("points: Ranks is %d, expected 1 or more", s.Ranks)
	case len(s.Stages) == 0:
		return fmt.Errorf("points: Stages is empty, expected the stages of a step in their order")
	case len(s.Durations) == 0 || len(s.Durations)%per != 0:
		return fmt.Errorf("points: Durations has %d values, expected a multiple of %d: [step][stage][rank], of %d stages and %d ranks", len(s.Durations), per, len(s.Stages), s.Ranks)
	case s.Wall != nil && len(s.Wall) != s.Len()*s.Ranks:
		return fmt.Errorf("points: Wall has %d values, expected %d: [step][rank], of %d steps and %d ranks; or nil", len(s.Wall), s.Len()*s.Ranks, s.Len(), s.Ranks)
	}
	if i := slices.IndexFunc(s.Durations, negative); i >= 0 {
		return fmt.Errorf("points: Durations of step %d, stage %q, rank %d is %d ns, expected 0 or more", i/per, s.Stages[i%per/s.Ranks].Name, i%s.Ranks, s.Durations[i])
	}
	if i := slices.IndexFunc(s.Wall, negative); i >= 0 {
		return fmt.Errorf("points: Wall of step %d, rank %d is %d ns, expected 0 or more", i/s.Ranks, i%s.Ranks, s.Wall[i])
	}
	return s.validatePlaces()
}

func negative(x int64) bool { return x < 0 }

// validatePlaces reports the first number of a step, a stage or a rank that there is none of.
func (s *Steps) validatePlaces() error {
	last := 0
	for i, b := range s.Breaks {
		if b < last || b >= s.Len() {
			return fmt.Errorf("points: Breaks[%d] is step %d, expected steps from 0 to %d, ascending", i, b, s.Len()-1)
		}
		last = b
	}
	if s.Named != "" && !slices.ContainsFunc(s.Stages, func(x Stage) bool { return x.Name == s.Named }) {
		return fmt.Errorf("points: Named is %q, expected the name of a stage or nothing", s.Named)
	}
	last = -1
	for i, p := range s.Known {
		if p.Stage <= last || p.Stage >= len(s.Stages) {
			return fmt.Errorf("points: Known[%d] is stage %d, expected stages from 0 to %d, ascending", i, p.Stage, len(s.Stages)-1)
		}
		last = p.Stage
	}
	if m := s.KnownMeetings; m.Every != 0 && (m.Every < 2 || m.Point.Stage < 0 || m.Point.Stage >= len(s.Stages)) {
		return fmt.Errorf("points: KnownMeetings is stage %d in every %d steps, expected a stage from 0 to %d and 2 steps or more", m.Point.Stage, m.Every, len(s.Stages)-1)
	}
	for i, w := range s.KnownWithin {
		if w.Stage < 0 || w.Stage >= len(s.Stages) {
			return fmt.Errorf("points: KnownWithin[%d] is stage %d, expected 0 to %d", i, w.Stage, len(s.Stages)-1)
		}
		if err := s.validateSets(fmt.Sprintf("KnownWithin[%d].Sets", i), w.Sets); err != nil {
			return err
		}
	}
	for i, sets := range s.Splits {
		if err := s.validateSets(fmt.Sprintf("Splits[%d]", i), sets); err != nil {
			return err
		}
	}
	if s.KnownPeers == nil {
		return nil
	}
	return s.validateSets("KnownPeers", s.KnownPeers)
}

// validateSets reports sets that do not divide the ranks among them.
func (s *Steps) validateSets(field string, sets [][]int) error {
	seen := make([]bool, s.Ranks)
	n := 0
	for _, set := range sets {
		for _, r := range set {
			if r < 0 || r >= s.Ranks || seen[r] {
				return fmt.Errorf("points: %s has rank %d, expected each of 0 to %d once", field, r, s.Ranks-1)
			}
			seen[r] = true
			n++
		}
	}
	if n != s.Ranks {
		return fmt.Errorf("points: %s has %d ranks, expected all %d", field, n, s.Ranks)
	}
	return nil
}

// Validate reports the first gate that means nothing; zero is the default.
func (g Gates) Validate() error {
	switch {
	case !(g.Slope > -1 && g.Slope <= 0):
		return fmt.Errorf("points: Gates.Slope is %v, expected between -1 and 0", g.Slope)
	case !(g.Confidence >= 0 && g.Confidence < 1):
		return fmt.Errorf("points: Gates.Confidence is %v, expected between 0 and 1", g.Confidence)
	}
	return nil
}
