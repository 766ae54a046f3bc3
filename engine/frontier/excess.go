package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/internal/robust"
)

// StepExcess is by how much one rank exceeded the median of its peers in one
// stage, in every recorded step of a window, and what noise does to the others.
type StepExcess struct {
	Rank      int     // ID
	Stage     int     // index in Stages
	FirstStep int64   // as recorded
	Over      []int64 // [step] ns
	Noise     float64 // robust standard deviation of the same on the other ranks, ns
}

const (
	// worthFollowing is the part of a window, charged to a rank, from which on its
	// excess is listed step by step.
	worthFollowing = 0.01
	// likelyLate is the P at which it is listed however small it is.
	likelyLate = 0.05
)

// stepExcesses lists the excess of the ranks that others waited for, step by
// step, and of those that take long in the first or last recorded step, before
// and after which the ranks may synchronise in other windows only. Stages in
// which the ranks synchronise are left out: they hold the wait for others. O(T·R) for
// every stage with such a rank.
func (a *accounting) stepExcesses() []StepExcess {
	v := newView(a.matrix, cut.Step, 0)
	over := map[int][][]int64{}
	var out []StepExcess
	for _, at := range a.followed(v) {
		if over[at.group] == nil {
			over[at.group] = a.excess(v, at.group, 0, v.steps)
		}
		out = append(out, a.stepExcess(v, at, over[at.group]))
	}
	return out
}

// followed are the cells of the step cut that are listed, culprits first.
func (a *accounting) followed(v *view) []cell {
	var out []cell
	least := worthFollowing * float64(a.acc.makespan)
	for _, c := range a.r.Culprits {
		if !a.r.Stages[c.Stage].Syncs && (c.P <= likelyLate || float64(c.Explained) >= least) {
			out = append(out, cell{slices.Index(v.groups, a.r.Stages[c.Stage].Name), slices.Index(a.r.Ranks, c.Rank)})
		}
	}
	for g, name := range v.groups {
		if i := slices.Index(a.v.groups, name); a.r.Stages[i].Syncs {
			continue
		}
		for _, t := range []int{0, v.steps - 1} {
			for r, x := range a.excess(v, g, t, t+1)[0] {
				if at := (cell{g, r}); float64(x) >= least && !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// stepExcess lists one cell; over is of its group, [step][rank].
func (a *accounting) stepExcess(v *view, at cell, over [][]int64) StepExcess {
	e := StepExcess{Rank: a.r.Ranks[at.rank], Stage: slices.Index(a.v.groups, v.groups[at.group]),
		FirstStep: v.w.FirstStep + int64(v.from), Over: make([]int64, v.steps)}
	others := make([]float64, 0, v.steps*(v.ranks()-1))
	for t, step := range over {
		e.Over[t] = step[at.rank]
		for r, x := range step {
			if r != at.rank {
				others = append(others, float64(x))
			}
		}
	}
	if v.ranks() == 2 {
		// The other's excess is this one's, negative: noise is what is left of
		// it from step to step.
		for t := range others {
			others[t] = float64(e.Over[t]-e.Over[max(0, t-1)]) / math.Sqrt2
		}
	}
	e.Noise = robust.SigmaOfMAD * robust.MAD(others, robust.Median(others))
	return e
}

// excess is by how much every rank exceeds the median of its peers in a group of
// rows, in some steps, [step][rank].
func (a *accounting) excess(v *view, group, from, to int) [][]int64 {
	var b *blame // only ranks of several sets of peers have not the middles of all
	if slices.Max(a.roles.peerOf) > 0 {
		b = newBlame(v, a.roles.peerOf, 0)
	}
	R := v.ranks()
	all, out := make([]int64, (to-from)*R), make([][]int64, to-from)
	for k := range out {
		t := from + k
		out[k] = all[k*R : (k+1)*R]
		for i := range v.order {
			if v.group[i] != group {
				continue
			}
			row, middle := v.row(t, i), v.middle(t, i)
			for r, d := range row {
				if b != nil {
					middle = b.among(r, row)
				}
				out[k][r] += d - middle.Without(d)
			}
		}
	}
	return out
}
