package frontier

import (
	"cmp"
	"math"
	"slices"
)

// culprits lists what was charged to ranks in one stage each, by descending
// exposed time.
func (b *blame) culprits(makespan int64) []Culprit {
	scale := b.scale(makespan)
	tests := float64(b.testable() * b.v.ranks())
	var out []Culprit
	for at, c := range b.charges {
		if at.group == wholeRank || c.explained*scale < negligible*float64(makespan) {
			continue
		}
		culprit := b.culprit(at, c, makespan)
		culprit.Of = b.groups[at.group].meetings
		out = append(out, culprit)
	}
	sortCulprits(out)
	for i := range out {
		c := &out[i]
		c.P = min(1, tests*b.groups[c.Stage].chance(c, b.inquest(c, makespan, scale), b.v.ranks()))
	}
	return out
}

// lateRanks lists what was charged to ranks over all their stages; Stage is the one
// with the largest part.
func (b *blame) lateRanks(makespan int64) []Culprit {
	scale := b.scale(makespan)
	var out []Culprit
	for at, c := range b.charges {
		if at.group != wholeRank || c.explained*scale < negligible*float64(makespan) {
			continue
		}
		culprit := b.culprit(at, c, makespan)
		culprit.Of = b.whole.meetings
		most := 0.0
		for g := range b.groups {
			if part := b.charges[cell{g, at.rank}]; part != nil && part.explained > most {
				culprit.Stage, most = g, part.explained
			}
		}
		out = append(out, culprit)
	}
	sortCulprits(out)
	for i := range out {
		c := &out[i]
		c.P = min(1, float64(b.v.ranks())*b.whole.chance(c, b.inquest(c, makespan, scale), b.v.ranks()))
	}
	return out
}

func (b *blame) culprit(at cell, c *charge, makespan int64) Culprit {
	out := Culprit{Rank: b.v.w.Ranks[at.rank].ID, Stage: max(0, at.group), Explained: int64(c.explained * b.scale(makespan)),
		Gain: min(1, c.alone/float64(max(1, makespan))), Steps: c.steps}
	if c.steps > 0 {
		out.Excess = c.excess / int64(c.steps)
	}
	return out
}

// scale is 1, or less where durations contradict the meetings so much that
// more would be charged than the window has exposed.
func (b *blame) scale(makespan int64) float64 {
	return min(1, float64(makespan)/max(1, b.whole.total))
}

func sortCulprits(out []Culprit) {
	slices.SortFunc(out, func(p, q Culprit) int {
		return cmp.Or(cmp.Compare(q.Explained, p.Explained), cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.Stage, q.Stage))
	})
}

// inquest is the charge that is tested by its size: nothing for a rank that is
// charged less than a thousandth of the window, which no one will call.
func (b *blame) inquest(c *Culprit, makespan int64, scale float64) float64 {
	if c.Explained < makespan/1000 {
		return 0
	}
	return float64(c.Explained) / scale
}

// testable is the number of stages to correct for. A stage with so few late
// meetings that even one rank having them all would not be significant cannot
// give a false alarm, and is not counted (Tarone 1990, Biometrics 46:515–522).
func (b *blame) testable() int {
	const level = 0.05
	R := float64(b.v.ranks())
	for k := 1; ; k++ {
		able := 0
		for _, s := range b.groups {
			if n := s.charges; n > 0 && 2*math.Pow(R, float64(1-n)) <= level/float64(k) {
				able++
			}
		}
		if able <= k {
			return k
		}
	}
}
