package page

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/internal/glyph"
)

const (
	mostApart  = 128 // ranks whose completion times are compared in pairs
	mostSigns  = 64  // ranks
	mostPlaces = 32  // of arrivals
)

// distances returns the K-S distances of every two workers' completion times, untested.
func distances() ks.Options {
	return ks.Options{Matrix: true, Replicates: ks.NoTest, Against: ks.Everyone}
}

// pairDistances returns how far the completion times of every two workers are apart; nil of one.
// place is the position of a rank on the page.
func pairDistances(v *operators.View, r *ks.Result, place map[int]int) *Apart {
	n := v.Workers()
	if n < 2 {
		return nil
	}
	order := sequence(n)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v.Rank(a).ID, v.Rank(b).ID) })
	out := &Apart{}
	for _, a := range order {
		out.Ranks = append(out.Ranks, place[v.Rank(a).ID])
		row := make([]float64, n)
		for i, b := range order {
			row[i] = float64(int(1000*r.Matrix[a*n+b]+0.5)) / 1000
			if r.Matrix[a*n+b] < 0 {
				row[i] = -1
			}
		}
		out.D = append(out.D, row)
	}
	return out
}

// signs returns what K-S, outliers and blame find on the workers of an operator trace: those with the
// largest excess first.
func (o *outline) signs(v *diagnose.RunVerdict) *Signs {
	if v.Operators == nil || v.Operators.Signs == nil {
		return nil
	}
	found := v.Operators.Signs
	out := &Signs{Symptoms: found.Symptoms, Alpha: found.Alpha, Ranks: []Sign{}}
	for _, r := range found.Ranks {
		if m, ok := o.place[r.Rank]; ok && o.at[m] >= 0 && (r.Departs || r.Whole+r.Steps+r.Walks > 0) {
			out.Ranks = append(out.Ranks, Sign{Rank: o.at[m], Departs: r.Departs, S: r.S, Later: r.Later, Whole: r.Whole, Steps: r.Steps, Excess: r.Excess, Walks: r.Walks, Op: glyph.Visible(r.Op)})
		}
	}
	slices.SortStableFunc(out.Ranks, func(a, b Sign) int { return cmp.Compare(b.Excess, a.Excess) })
	out.Ranks = out.Ranks[:min(mostSigns, len(out.Ranks))]
	return out
}

// arrivalsOf returns who arrives last where calls are entered, the costliest places first;
// nil where no entries were recorded. each is called for every call.
func arrivalsOf(j *arrivals.Job, v *diagnose.RunVerdict, each func(arrivals.Call)) *Arrivals {
	if j.Empty() {
		return nil
	}
	r := j.Analyze(arrivals.Options{Each: each})
	if len(r.Places) == 0 {
		return nil
	}
	out := &Arrivals{Step: r.Step, Ranks: r.Ranks, Named: append([]int{}, suspectRanks(v)...), Calls: r.Calls, Lost: r.Lost}
	order := sequence(len(r.Places))
	cost := func(i int) (sum int64) {
		for _, x := range r.Places[i].Ranks {
			sum = max(sum, x.Charge)
		}
		return sum
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(b), cost(a)) })
	for _, i := range order[:min(mostPlaces, len(order))] {
		p := &r.Places[i]
		x := Place{Op: glyph.Visible(p.Op), Group: glyph.Visible(cmp.Or(p.Desc, p.Group)), Line: glyph.Visible(p.Line.String()), Stage: glyph.Visible(p.Stage), Points: p.Points, Skew: p.Skew,
			Own: make([]int64, len(r.Ranks)), Last: make([]int, len(r.Ranks))}
		for k := range x.Own {
			x.Own[k] = -1
		}
		for _, at := range p.Ranks {
			if k := slices.Index(r.Ranks, at.Rank); k >= 0 {
				x.Own[k], x.Last[k] = max(0, at.Delay), at.Last
			}
		}
		out.Places = append(out.Places, x)
	}
	return out
}
