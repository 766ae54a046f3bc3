package profiler

import "github.com/sfstat/sfstat/trace/profile"

// split finds where the microsteps of a step begin: each ends with a backward
// pass, and what follows that belongs to the next. A step that runs its
// optimizer between two backward passes is not split: it updates more than
// once, as those of adversarial training do.
func split(s *profile.Step, backward, optimizer int) {
	s.Microsteps = nil
	last := -1 // span of the last backward pass
	for i := len(s.Spans) - 1; i >= 0 && last < 0; i-- {
		if s.Spans[i].Stage == backward {
			last = i
		}
	}
	after := false // a backward pass
	for i := 0; i < last; i++ {
		switch stage := s.Spans[i].Stage; {
		case stage == backward:
			after = true
		case stage == optimizer && (after || len(s.Microsteps) > 0):
			s.Microsteps = nil
			return
		case after:
			s.Microsteps = append(s.Microsteps, s.Spans[i].Start)
			after = false
		}
	}
}

// slot returns the position in a device's account of what the host does at a moment
// of a step, −1: nothing.
func (h host) slot(step int, t int64) int {
	stage := h.stageAt(step, t)
	if stage < 0 {
		return -1
	}
	return h.steps[step].MicrostepAt(t)*h.stages + stage
}

// stageAndMicrostep returns the stage and the microstep of a slot; no slot is of no stage.
func (h host) stageAndMicrostep(slot int) (stage, micro int) {
	if slot < 0 {
		return -1, 0
	}
	return slot % h.stages, slot / h.stages
}
