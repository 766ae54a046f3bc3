package profile

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// Append adds a later or earlier recording of the same rank.
func (r *Rank) Append(o *Rank) {
	steps, calls, names := len(r.Steps), len(r.Comm.Calls), int32(len(r.Names))
	r.Steps = append(r.Steps, o.Steps...)
	r.Comm, r.Entered = *comms.Join(&r.Comm, &o.Comm), *comms.Join(&r.Entered, &o.Entered)
	slices.SortStableFunc(r.Entered.Calls, func(a, b comms.Call) int { return cmp.Compare(a.Enter, b.Enter) })
	for i := range o.Steps {
		if d := o.Steps[i].Device; d != nil {
			d.Exposed.calls += calls
		}
	}
	r.Names = append(r.Names, o.Names...)
	for _, op := range o.Ops {
		op.Step += int32(steps)
		op.Name += names
		if op.Call >= 0 {
			op.Call += int32(calls)
		}
		r.Ops = append(r.Ops, op)
	}
	for _, t := range o.Tallies {
		t.Step += int32(steps)
		t.Name += names
		r.Tallies = append(r.Tallies, t)
	}
	r.Functions = r.Functions || o.Functions
	r.OpsLost, r.TalliesLost = r.OpsLost+o.OpsLost, r.TalliesLost || o.TalliesLost
	r.Streams = max(r.Streams, o.Streams)
	r.Notes = append(r.Notes, o.Notes...)
	r.SortSteps()
}

// Renumber adds to the numbers of all steps.
func (r *Rank) Renumber(by int64) {
	for i := range r.Steps {
		r.Steps[i].Index += by
	}
	for _, calls := range [...][]comms.Call{r.Comm.Calls, r.Entered.Calls} {
		for i := range calls {
			if c := &calls[i]; c.Step >= 0 {
				c.Step += by
			}
		}
	}
}

// SortSteps puts the steps in order of time again.
func (r *Rank) SortSteps() {
	order := make([]int, len(r.Steps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Steps[a].Start, r.Steps[b].Start) })
	sorted := make([]Step, len(order))
	place := make([]int, len(order))
	for i, from := range order {
		sorted[i], place[from] = r.Steps[from], i
	}
	r.Steps = sorted
	for i := range r.Ops {
		r.Ops[i].Step = int32(place[r.Ops[i].Step])
	}
	for i := range r.Tallies {
		r.Tallies[i].Step = int32(place[r.Tallies[i].Step])
	}
}
