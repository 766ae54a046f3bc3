package profile

import (
	"cmp"
	"slices"
)

// Append adds a later or earlier recording of the same rank.
func (r *Rank) Append(o *Rank) {
	steps, collectives, names := len(r.Steps), len(r.Collectives), int32(len(r.Names))
	r.Steps = append(r.Steps, o.Steps...)
	r.Collectives = appendCalls(r.Collectives, o.Collectives, steps)
	r.Entries = appendCalls(r.Entries, o.Entries, steps)
	slices.SortStableFunc(r.Entries, func(a, b Collective) int { return cmp.Compare(a.Start, b.Start) })
	for i := range o.Steps {
		if d := o.Steps[i].Device; d != nil {
			d.Exposed.collectives += collectives
		}
	}
	r.Names = append(r.Names, o.Names...)
	for _, op := range o.Ops {
		op.Step += int32(steps)
		op.Name += names
		if op.Collective >= 0 {
			op.Collective += int32(collectives)
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

// appendCalls adds calls of a recording that has its steps behind so many others.
func appendCalls(to, from []Collective, steps int) []Collective {
	for _, c := range from {
		if c.Step >= 0 {
			c.Step += steps
		}
		to = append(to, c)
	}
	return to
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
	for _, calls := range [][]Collective{r.Collectives, r.Entries} {
		for i := range calls {
			if c := &calls[i]; c.Step >= 0 {
				c.Step = place[c.Step]
			}
		}
	}
	for i := range r.Ops {
		r.Ops[i].Step = int32(place[r.Ops[i].Step])
	}
	for i := range r.Tallies {
		r.Tallies[i].Step = int32(place[r.Tallies[i].Step])
	}
}
