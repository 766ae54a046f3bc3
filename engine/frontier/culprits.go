package frontier

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
)

// culprits lists what was charged to ranks in one stage each, by descending
// exposed time.
func (l *ledger) culprits(makespan int64) []Culprit {
	// Less than 1 where durations contradict the synchronisation points so much that more
	// would be charged than the window has exposed.
	scale := min(1, float64(makespan)/max(1, l.total))
	tests := l.tests()
	var out []Culprit
	for at, c := range l.cells {
		if c.explained*scale < negligible*float64(makespan) {
			continue
		}
		out = append(out, Culprit{Rank: l.ranks[at.rank].ID, Stage: at.group, Explained: int64(c.explained * scale),
			Gain: min(1, c.alone/float64(max(1, makespan))), Excess: c.excess / int64(max(1, c.steps)),
			Steps: c.steps, Of: l.groups[at.group].points})
	}
	slices.SortFunc(out, func(p, q Culprit) int {
		return cmp.Or(cmp.Compare(q.Explained, p.Explained), cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.Stage, q.Stage))
	})
	for i := range out {
		c := &out[i]
		c.P = min(1, float64(len(l.ranks))*tests[c.Stage]*l.groups[c.Stage].chance(c, l.inquest(c, makespan, scale), len(l.ranks)))
	}
	return out
}

// inquest is the charge that is tested by its size: nothing for a rank that is
// charged less than a thousandth of the window, which no one will call.
func (l *ledger) inquest(c *Culprit, makespan int64, scale float64) float64 {
	if c.Explained < makespan/1000 {
		return 0
	}
	return float64(c.Explained) / scale
}

// tests is what the chance of each stage is multiplied by for there being several:
// 1 ÷ its weight, and the weights sum to 1 at most (a weighted Bonferroni
// correction; Genovese, Roeder, Wasserman 2006, Biometrika 93:509–524). Half of the
// weight is shared alike by the stages that can be tested, half goes by what is
// charged because of each, to whichever rank, so that a few stalls that are nearly
// all that anybody waited for need not pay for stages with milliseconds. What is
// charged to a stage says nothing about to whom, and may weigh it therefore.
func (l *ledger) tests() []float64 {
	alike, total := 1/float64(l.testable()), 0.0
	for _, s := range l.groups {
		total += s.total
	}
	out := make([]float64, len(l.groups))
	for g, s := range l.groups {
		out[g] = 2 / (alike + s.total/max(1, total))
	}
	return out
}

// testable is the number of stages to correct for. A stage with so few late
// synchronisation points that even one rank having them all would not be significant cannot
// give a false alarm, and is not counted (Tarone 1990, Biometrics 46:515–522).
func (l *ledger) testable() int {
	R := float64(len(l.ranks))
	for k := 1; ; k++ {
		able := 0
		for _, s := range l.groups {
			if n := s.charges; n > 0 && 2*math.Pow(R, float64(1-n)) <= gates.Supported/float64(k) {
				able++
			}
		}
		if able <= k {
			return k
		}
	}
}
