package profiler

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/profile"
)

// Detail is how many operators of a rank a profile lists one by one, 40 bytes
// each. Of a rank that has more, none is: a part would mislead. All are added up
// by name, step and stage whatever it is.
type Detail int64

const (
	Totals       Detail = 0
	Overview     Detail = 1 << 18 // to describe what is there
	EachOperator Detail = 1 << 23 // to analyse it
)

// maxTallies is how many names of steps and stages are told apart.
const maxTallies = 1 << 18

// operators lists the device work by step and adds it up, or the collectives
// where there is no device.
type operators struct {
	b      *Builder
	r      *profile.Rank
	names  map[int32]int32 // → in r.Names
	tally  map[place]int   // → in r.Tallies
	listed bool
}

// place is a name in a stage of a step.
type place struct{ name, step, stage int32 }

func (b *Builder) newOperators(r *profile.Rank) *operators {
	o := &operators{b: b, r: r, names: make(map[int32]int32), tally: make(map[place]int), listed: b.detail > 0}
	if o.listed && b.works.n > int64(b.detail) {
		o.listed, r.OpsLost = false, b.works.n
	}
	if o.listed {
		r.Ops = make([]profile.Op, 0, b.works.n)
	}
	return o
}

// name returns the position of a name of the builder in those of the rank.
func (o *operators) name(id int32) int32 {
	at, ok := o.names[id]
	if !ok {
		at = int32(len(o.r.Names))
		o.names[id] = at
		o.r.Names = append(o.r.Names, o.b.names[id])
	}
	return at
}

// add takes work that a stage of a step launched.
func (o *operators) add(w *work, step, stage int) {
	if o.listed {
		o.r.Ops = append(o.r.Ops, profile.Op{Name: o.name(w.name), Step: int32(step), Stage: int32(stage),
			Lane: int32(w.lane), Call: w.collective, Start: w.start, End: w.end})
	}
	if w.collective >= 0 || o.r.TalliesLost {
		return
	}
	if t := o.tallyAt(place{w.name, int32(step), int32(stage)}); t != nil {
		t.Count++
		t.Dur += w.end - w.start
	}
}

// tallyAt returns the tally of a place, which is made where there is none; nil where
// there are too many.
func (o *operators) tallyAt(p place) *profile.Tally {
	at, ok := o.tally[p]
	if !ok {
		if at = len(o.r.Tallies); at == maxTallies || o.r.TalliesLost {
			o.r.Tallies, o.r.TalliesLost = nil, true
			return nil
		}
		o.tally[p] = at
		o.r.Tallies = append(o.r.Tallies, profile.Tally{Name: o.name(p.name), Step: p.step, Stage: p.stage})
	}
	return &o.r.Tallies[at]
}

// finish puts the operators in order, those of a host's collectives too.
func (o *operators) finish(h host) {
	if o.listed && !o.b.works.hasWork() {
		for i := range o.r.Comm.Calls {
			c := &o.r.Comm.Calls[i]
			if step := h.stepAt(c.Enter); step >= 0 {
				o.r.Ops = append(o.r.Ops, profile.Op{Name: o.name(int32(o.b.Name([]byte(c.Name)))), Step: int32(step), Stage: int32(h.stageAt(step, c.Enter)),
					Call: int32(i), Start: c.Enter, End: c.Exit})
			}
		}
	}
	slices.SortStableFunc(o.r.Ops, func(x, y profile.Op) int { return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Start, y.Start)) })
}
