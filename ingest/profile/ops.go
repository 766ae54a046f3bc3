package profile

import (
	"cmp"
	"slices"
)

// operators lists the device work by step, or the collectives where there is
// no device.
func (b *Builder) operators(r *Rank, h host) {
	if b.works.gap > 0 {
		r.OpsLost = true
		return
	}
	ids := make(map[int32]int32) // of names, in r.Names
	name := func(id int32) int32 {
		at, ok := ids[id]
		if !ok {
			at = int32(len(r.Names))
			ids[id] = at
			r.Names = append(r.Names, b.names[id])
		}
		return at
	}
	for i := range b.works.all {
		w := &b.works.all[i]
		s := h.stepAt(w.launch)
		if s < 0 {
			continue
		}
		r.Ops = append(r.Ops, Op{Name: name(w.name), Step: int32(s), Stage: int32(h.stageAt(s, w.launch)),
			Lane: int32(w.lane), Collective: w.collective, Start: w.start, End: w.end})
	}
	r.tally()
	if !b.works.any() {
		for i := range r.Collectives {
			c := &r.Collectives[i]
			if c.Step >= 0 {
				r.Ops = append(r.Ops, Op{Name: name(int32(b.Name([]byte(c.Name)))), Step: int32(c.Step), Stage: int32(c.Stage),
					Collective: int32(i), Start: c.Start, End: c.End})
			}
		}
	}
	slices.SortStableFunc(r.Ops, func(x, y Op) int { return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Start, y.Start)) })
}

// tally adds up the operators by name, step and stage.
func (r *Rank) tally() {
	type key struct{ name, step, stage int32 }
	at := make(map[key]int)
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Collective >= 0 {
			continue
		}
		k := key{op.Name, op.Step, op.Stage}
		n, ok := at[k]
		if !ok {
			n = len(r.Tallies)
			at[k] = n
			r.Tallies = append(r.Tallies, Tally{Name: op.Name, Step: op.Step, Stage: op.Stage})
		}
		r.Tallies[n].Count++
		r.Tallies[n].Dur += op.End - op.Start
	}
}
