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

// Peeled is what Peel found in divisions, and what it left.
type Peeled struct {
	Terms []Term // those that are certain, then those with P beyond Options.Level that are more likely than not, then events, with P = 1

	left []*series // by division, the terms taken out
	sum  float64   // of all that was charged before
}

// Peel returns the terms of divisions of one run of a length in ns, searched together, for who prices them
// by a replay of his own: where operators wait for one another in a graph, the last arrival at a point says
// nothing of what a delay costs. Events are what happened in a few intervals. A division in which
// little is charged pays for the search with the others, as pieces do.
func Peel(list []*points.Division, length int64, o Options) *Peeled {
	o = o.fillDefaults()
	all, sum, out := make([]*series, len(list)), 0.0, []Term(nil)
	for i, d := range list {
		all[i] = newSeries(d, nil)
		all[i].whole = max(all[i].whole, float64(length))
		all[i].step = max(all[i].step, float64(length)/float64(max(1, d.Intervals)))
		sum += all[i].totalCharge()
	}
	weight := make([]float64, len(list))
	for i, s := range all {
		weight[i] = shareOf(s.totalCharge(), sum, len(list))
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
	return &Peeled{Terms: out, left: all, sum: sum}
}

// shareOf returns the part of the level that a division of several is searched at: one half is shared evenly, the
// other by what is charged.
func shareOf(charged, sum float64, divisions int) float64 {
	return 0.5/float64(divisions) + 0.5*charged/max(1, sum)
}

// totalCharge returns what is charged to all ranks and pieces, ns.
func (s *series) totalCharge() (sum float64) {
	for k := range s.charge {
		sum += s.charge[k].sum
	}
	return sum
}

// Chance returns the P, as of a term, of a delay of a rank by so many ns in every interval of a piece, were it in what
// the terms left of a division: at most Options.Level where Peel would have found it for certain.
func (p *Peeled) Chance(in, rank, piece int, by float64) float64 {
	s := p.left[in]
	if len(s.peers[s.of[rank]]) < 2 {
		return 1
	}
	at := s.plant(piece, rank)
	at.delay = by
	with := at.addCharges(s.charge[piece])
	return min(1, at.chance()/shareOf(s.totalCharge()-s.charge[piece].sum+with.sum, p.sum-s.charge[piece].sum+with.sum, len(p.left)))
}

// Common returns what all ranks of a division share: a start-up, changes of level, slow steps.
func Common(d *points.Division, o Options) (out []claim.Claim) {
	if d.Intervals == 0 {
		return nil
	}
	start := startUp(d)
	s := newSeries(dropIntervals(d, start), nil)
	out = s.trend().common(o.fillDefaults())
	slices.SortStableFunc(out, func(a, b claim.Claim) int { return cmp.Compare(b.Saves.Alone, a.Saves.Alone) })
	if start > 0 {
		if f := startFinding(d, start, s); f.Kind == claim.Everyone {
			out = append(out, f)
		}
	}
	return out
}
