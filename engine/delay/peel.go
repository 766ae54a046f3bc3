package delay

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

// Term is one delay: of a rank, in a piece of its work, in some intervals.
type Term struct {
	Rank, Piece int
	Less        []float64 // [interval] what the rank takes longer than its peers, ns
	Charged     float64   // ns of it that the others waited for
	P           float64   // as [Finding.P]
}

// Peel returns the terms of a division that are not chance, the one that most is charged to first. It is
// for who prices them by a replay of his own: where operators wait for one another in a graph, the last
// arrival at a point says nothing of what a delay costs. peers are as in [Run].
func Peel(d *points.Division, peers []int, o Options) (out []Term) {
	if d.Intervals == 0 || d.Ranks < 2 {
		return nil
	}
	for _, t := range newSeries(d, peers).peel(o.orDefault().Level) {
		out = append(out, Term{Rank: t.rank, Piece: t.piece, Less: t.d, Charged: t.charged, P: t.p})
	}
	return out
}

// Common returns what all ranks of a division share: a start-up, changes of level, slow steps.
func Common(d *points.Division, o Options) (out []Finding) {
	if d.Intervals == 0 {
		return nil
	}
	start := startUp(d)
	s := newSeries(from(d, start), nil)
	out = s.trend().common(o.orDefault())
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.Saves.Alone, a.Saves.Alone) })
	if start > 0 {
		if f := startFinding(d, start, s); f.Kind == Everyone {
			out = append(out, f)
		}
	}
	return out
}
