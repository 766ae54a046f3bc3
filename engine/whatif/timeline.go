package whatif

import (
	"slices"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Timeline is what every operator costs and how late it starts: N nodes × L
// lanes, [node][lane], nanoseconds. Cost is a duration, or for a member of a
// group the transfer once all have started. Delay is the launch delay: what
// the start comes after the end of everything that the operator waits for.
type Timeline struct {
	Cost, Delay []int64
}

// RecordedTimeline returns the timeline that was recorded; the caller may change it.
func (m *Model) RecordedTimeline() Timeline {
	return Timeline{slices.Clone(m.cost), slices.Clone(m.delay)}
}

// Nodes returns the operators of the program, by which timelines are ordered.
func (m *Model) Nodes() []Node { return m.nodes }

// Instances returns the positions of the nodes in the grid of the trace that the
// model was made of.
func (m *Model) Instances() []int32 { return m.instances }

// Groups returns the operators of the program that transfer together.
func (m *Model) Groups() []Group { return m.groups }

// Steps returns the indices of the steps.
func (m *Model) Steps() []int64 { return m.steps }

// Notes returns what of the trace is not in the model.
func (m *Model) Notes() []input.Note { return m.notes }

// Replay gives the step times, from the first start to the last end, had the
// operators cost and been late as in a timeline: any question that a
// Selection of the recorded and the ideal cannot put. A nil Cost is as
// recorded, a nil Delay is no delay. It fails on costs that are negative or so
// large that times could overflow.
//
// O(nodes × lanes).
func (m *Model) Replay(t Timeline) (StepTimes, error) {
	for _, part := range [][]int64{t.Cost, t.Delay} {
		for i, v := range part {
			if v > operator.MaxTotal || v < -clockSlack {
				return StepTimes{}, input.Bad(input.ErrOverflow, "%s costs %d ns", m.nodes[i/m.lanes()], v)
			}
		}
	}
	all := m.chooseAll()
	s := scenario{recorded: all, spans: true, cost: t.Cost, delay: t.Delay}
	if t.Delay != nil {
		s.delayed = &all
	}
	return stepTimes(m.replay([]scenario{s})[0].span), nil
}
