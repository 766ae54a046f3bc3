package frontier

import (
	"slices"

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
// step. Stages in which the ranks meet are left out: they hold the wait for
// others. O(T·R) for every stage with such a rank.
func (a *accounting) stepExcesses() []StepExcess {
	v := newView(a.matrix, CutStep, 0)
	over := map[int][][]int64{}
	var out []StepExcess
	for _, c := range a.r.Culprits {
		g := slices.Index(v.groups, a.r.Stages[c.Stage].Name)
		if a.r.Stages[c.Stage].Meets || c.P > likelyLate && float64(c.Explained) < worthFollowing*float64(a.acc.makespan) {
			continue
		}
		if over[g] == nil {
			over[g] = a.excess(v, g)
		}
		column := slices.Index(a.r.Ranks, c.Rank)
		e := StepExcess{Rank: c.Rank, Stage: c.Stage, FirstStep: v.w.FirstStep + int64(v.from), Over: make([]int64, v.steps)}
		others := make([]float64, 0, v.steps*(v.ranks()-1))
		for t, step := range over[g] {
			e.Over[t] = step[column]
			for r, x := range step {
				if r != column {
					others = append(others, float64(x))
				}
			}
		}
		if v.ranks() == 2 {
			// The other's excess is this one's, negative: noise is what is left of
			// it from step to step.
			for t := range others {
				others[t] = float64(e.Over[t]-e.Over[max(0, t-1)]) / sqrt2
			}
		}
		e.Noise = robust.SigmaOfMAD * robust.MAD(others, robust.Median(slices.Clone(others)))
		out = append(out, e)
	}
	return out
}

const sqrt2 = 1.4142135623730951

// excess is by how much every rank exceeds the median of its peers in a group of
// rows, [step][rank].
func (a *accounting) excess(v *view, group int) [][]int64 {
	b := newBlame(v, a.roles.peerOf, 0)
	out := make([][]int64, v.steps)
	for t := range out {
		out[t] = make([]int64, v.ranks())
		b.rows = b.rows[:0]
		clear(b.middles)
		for i := range v.order {
			if v.group[i] != group {
				continue
			}
			b.work(t, i, nil)
			for r, d := range v.row(t, i) {
				out[t][r] += d - b.middle(len(b.rows)-1, r).Without(d)
			}
		}
	}
	return out
}
