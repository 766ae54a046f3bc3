package delay

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// Term is one delay: of a rank, in a piece of its work, in some intervals.
type Term struct {
	In          int // position of the division
	Rank, Piece int
	Less        []float64 // [interval] what the rank takes longer than its peers, ns
	Charged     float64   // ns of it that the others waited for
	P           float64   // as [claim.Claim.P]
}

// perhaps is the chance up to which a term is returned that is not certain.
const perhaps = 0.5

// Peel returns the terms of divisions of one run of a length in ns, searched together, for who prices them
// by a replay of his own: where operators wait for one another in a graph, the last arrival at a point says
// nothing of what a delay costs. Those that are certain come first, then those with P beyond Options.Level
// that are more likely than not, then what happened in a few intervals, with P = 1. A division in which
// little is charged pays for the search with the others, as pieces do.
func Peel(list []*points.Division, length int64, o Options) (out []Term) {
	o = o.orDefault()
	all, sum := make([]*series, len(list)), 0.0
	for i, d := range list {
		all[i] = newSeries(d, nil)
		all[i].whole = max(all[i].whole, float64(length))
		all[i].step = max(all[i].step, float64(length)/float64(max(1, d.Intervals)))
		for k := range all[i].charge {
			sum += all[i].charge[k].sum
		}
	}
	weight := make([]float64, len(list))
	for i, s := range all {
		weight[i] = 0.5 / float64(len(list))
		for k := range s.charge {
			weight[i] += 0.5 * s.charge[k].sum / max(1, sum)
		}
	}
	add := func(i int, terms []*term) {
		for _, t := range terms {
			out = append(out, Term{In: i, Rank: t.rank, Piece: t.piece, Less: t.d, Charged: t.charged, P: min(1, t.p/weight[i])})
		}
	}
	for _, level := range []float64{o.Level, perhaps} {
		for i, s := range all {
			add(i, s.peel(level*weight[i]))
		}
	}
	for i, s := range all {
		add(i, s.events(leastShift, func(rank int) bool {
			return slices.ContainsFunc(out, func(t Term) bool { return t.In == i && t.Rank == rank })
		}))
	}
	return out
}

// Common returns what all ranks of a division share: a start-up, changes of level, slow steps.
func Common(d *points.Division, o Options) (out []claim.Claim) {
	if d.Intervals == 0 {
		return nil
	}
	start := startUp(d)
	s := newSeries(from(d, start), nil)
	out = s.trend().common(o.orDefault())
	slices.SortStableFunc(out, func(a, b claim.Claim) int { return cmp.Compare(b.Saves.Alone, a.Saves.Alone) })
	if start > 0 {
		if f := startFinding(d, start, s); f.Kind == claim.Everyone {
			out = append(out, f)
		}
	}
	return out
}
