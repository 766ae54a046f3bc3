// Package operators shows an operator trace as each engine wants it: completion times for
// engine/ks, series for engine/zscore, the graph of a step for engine/blame,
// and the model that engine/whatif replays.
//
// Workers are numbered by pipeline stage, then by replica: worker
// stage·Replicas + dp. Times are int64 nanoseconds, on clocks that are aligned
// at the last collective of every step.
package operators

import (
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// View is an operator trace with the program that its steps share.
type View struct {
	Trace *operator.Trace // on aligned clocks
	Grid  *operator.Grid
	Model *whatif.Model // nil where the trace has no schedule: profilers record kernels
	// Offset is by how much, at most, the clock of a rank was off the middle one
	// in the median over the steps, ns.
	Offset int64

	wait, transfer []int64 // by row of the trace
	across         []bool  // by group: it has members on several pipeline stages
	origins        []int64 // by step of the grid: the first start on any rank
}

// New finds the program of an arranged operator trace and builds its model. It
// fails where replicas run different programs or operators of the schedule are
// missing.
func New(t *operator.Trace, o whatif.Options) (*View, error) {
	if !t.HasSchedule() {
		return nil, input.Bad(input.ErrMissing, "a profiler's kernels, without the operators of a pipeline schedule (forward-compute, backward-compute, …): "+
			"what a step would take with other durations follows from what waits for what, and a trace of kernels does not hold that; sfstat zscore, ks and blame compare them")
	}
	return view(t, func(v *View) (err error) {
		v.Trace, v.Offset = clock.AlignOperators(t, v.Grid)
		v.Model, err = whatif.New(v.Trace, o)
		return err
	})
}

// Observe returns a view as New does, for engines that need no schedule: of a trace without a schedule, or with an incomplete
// one, a view without a model. Without a schedule operators match across ranks by name and place in the order of the name;
// operators whose number differs between ranks are left out with a note.
func Observe(t *operator.Trace) (*View, error) {
	if t.HasSchedule() {
		return view(t, func(v *View) (err error) {
			v.Trace, v.Offset = clock.AlignOperators(t, v.Grid)
			o := whatif.Options{}
			o.Missing = whatif.NoteMissing
			if v.Model, err = whatif.New(v.Trace, o); err != nil && t.Serial {
				return err
			}
			return nil
		})
	}
	t = t.Complete().DropUneven()
	if t.Len() == 0 {
		return nil, input.Bad(input.ErrRagged, "no operator is launched in the same number on all ranks and in all steps, so that none can be compared: were the same steps recorded?")
	}
	return view(t, func(v *View) error {
		v.Trace = t
		return nil
	})
}

// view makes a view of the grid of a trace, which settle fills in.
func view(t *operator.Trace, settle func(*View) error) (*View, error) {
	g, err := t.Grid()
	if err != nil {
		return nil, err
	}
	v := &View{Grid: g}
	if err := settle(v); err != nil {
		return nil, err
	}
	v.wait, v.transfer = v.Trace.Waits()
	v.across = v.groupsAcross()
	v.origins = v.Trace.Origins(g)
	return v, nil
}

// groupsAcross returns the groups that join pipeline stages: sends and receives, and collectives of several stages. O(rows).
func (v *View) groupsAcross() []bool {
	const none = -1
	_, pp := v.Trace.Coordinates()
	var stage []int
	var across []bool
	for row, g := range v.Trace.Group {
		if g < 0 {
			continue
		}
		for int(g) >= len(stage) {
			stage, across = append(stage, none), append(across, false)
		}
		own := pp[v.Trace.Rank[row]]
		across[g] = across[g] || stage[g] != none && stage[g] != own
		stage[g] = own
	}
	return across
}

// Workers returns the number of workers.
func (v *View) Workers() int { return len(v.Grid.Workers) }

// Rank returns the rank of worker w.
func (v *View) Rank(w int) trace.Rank { return v.Trace.Ranks[v.Grid.Workers[w]] }

// Stage returns the pp coordinate of worker w.
func (v *View) Stage(w int) int { return w / v.Grid.Replicas }

// Replica returns the dp coordinate of worker w.
func (v *View) Replica(w int) int { return w % v.Grid.Replicas }

// Steps returns the indices of the steps of the view.
func (v *View) Steps() []int64 {
	if v.Model != nil {
		return v.Model.Steps()
	}
	steps := make([]int64, len(v.Grid.Steps))
	for i, at := range v.Grid.Steps {
		steps[i] = v.Trace.Steps[at]
	}
	return steps
}

// Notes returns the incomplete parts of the trace and the choices made.
func (v *View) Notes() []input.Note {
	if v.Model != nil {
		return slices.Concat(v.Trace.Notes, v.Model.Notes())
	}
	return slices.Concat(v.Trace.Notes, v.Grid.Notes)
}

// End returns when worker w ended its last operator of a step of the grid, in ns since the first start of the step on any rank.
func (v *View) End(w, step int) int64 {
	end := int64(0)
	stage, d := v.Stage(w), v.Replica(w)
	for i, in := range v.Grid.Instances {
		if int(in.Stage) == stage {
			row := v.row(i, step, d)
			end = max(end, v.Trace.Start[row]+v.Trace.Dur[row]-v.origins[step])
		}
	}
	return end
}

// row returns the row of the trace of instance i of replica d in step s of the grid.
func (v *View) row(i, s, d int) int32 {
	return v.Grid.At[i*v.Grid.Lanes()+s*v.Grid.Replicas+d]
}
