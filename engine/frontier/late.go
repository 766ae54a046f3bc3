package frontier

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// late asks engine/delay who is late in the window.
func (a *accounting) late() {
	if len(a.w.Ranks) < 2 || a.o.ModelFit == FitNone || !a.interpretable() {
		return
	}
	run, group := a.delayRun()
	found, joint := delay.LateRanks(points.Divide(&run.Steps, points.Gates{}), run, delay.Options{})
	a.r.Saves = a.ratio(int64(joint))
	for _, f := range found {
		for _, part := range f.Parts {
			a.charge(f, part, group[part.Stage])
		}
	}
	slices.SortStableFunc(a.r.Culprits, func(p, q claim.Claim) int {
		return cmp.Or(cmp.Compare(q.Charged(), p.Charged()), cmp.Compare(p.Rank(), q.Rank()), cmp.Compare(p.Parts[0].Stage, q.Parts[0].Stage))
	})
}

// delayRun returns the window as engine/delay takes it: what is recorded of a stage by its microsteps is one piece
// between two synchronisation points. group is [its stage] the index in Result.Stages.
func (a *accounting) delayRun() (run *delay.Run, group []int) {
	run = &delay.Run{Steps: points.Steps{Ranks: len(a.w.Ranks), Wall: a.w.Wall, Known: []points.Point{}}}
	if slices.Max(a.roles.peerOf) > 0 {
		run.Peers = a.roles.peerOf
	}
	from, at := 0, make([]int, len(a.matrix.names)) // of recorded stages; the pieces since the last synchronisation point
	for k, name := range a.matrix.names {
		g := a.v.group[slices.IndexFunc(a.v.order, func(p place) bool { return p.stage == k })]
		sets := a.syncs[k]
		i := from + slices.Index(group[from:], g)
		if i < from || sets != nil || name == stagename.Residual {
			i, group = len(group), append(group, g)
			run.Stages = append(run.Stages, points.StageOf(name))
		}
		if at[k] = i; isOneSet(sets) {
			run.Known = append(run.Known, points.Point{Stage: i, Evidence: a.point.Evidence})
		} else if sets != nil {
			run.KnownWithin = append(run.KnownWithin, points.Within{Stage: i, Sets: sets})
		}
		if sets != nil {
			from = len(group)
		}
	}
	if a.w.Wall != nil {
		run.Stages = run.Stages[:len(run.Stages)-1]
	}
	S := len(run.Stages)
	run.Durations = make([]int64, a.w.Steps()*S*run.Ranks)
	for t := range a.w.Steps() {
		for k := range a.w.Schema.Stages {
			addTo(run.At(t, at[k]), a.matrix.durations(t, k))
		}
	}
	return run, group
}

// charge adds the part of a claim to the culprits: one claim for each of its ranks, with as much.
func (a *accounting) charge(f claim.Claim, part claim.Part, group int) {
	for _, r := range f.Ranks {
		c := f
		c.Kind, c.Ranks, c.Host, c.Size, c.Factor = claim.Rank, []int{a.w.Ranks[r].ID}, -1, part.Size, 0
		c.Parts = []claim.Part{{Stage: group, Size: part.Size, Charged: part.Charged / int64(len(f.Ranks))}}
		c.Saves = f.Saves.Share(part.Charged, f.Charged())
		a.r.Culprits = append(a.r.Culprits, c)
	}
}
