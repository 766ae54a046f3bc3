package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// stageSlopes is, per stage, the slopes of duration on arrival over blocks of
// steps in which arrivals differ at all. Two passes.
//
// Where steps are open, what is not recorded between stages piles up in prefixes
// that run on, until they say nothing of when a rank arrives. Then a rank's
// arrival is counted from its end of the stage in the step before: where ranks
// synchronise that was one moment for all, and what is not recorded of one step adds to
// the noise of its durations, but not to that of arrivals.
//
// A line over the steps is linear in what it is fitted to: what is left of an arrival beyond its
// line, and of the duration after it, add up to what is left of the next arrival of the step. So
// only durations, and arrivals in the first row of a step, have lines, unless steps are open.
// Values are counted from that of the set's first rank, which keeps them small; the mean over
// ranks goes when products are summed.
func stageSlopes(v *view, among *gathering) []slopes {
	R, S, T := v.ranks(), len(v.order), v.paired()
	arrive, take := make([]line, S*R), make([]line, S*R) // [stage][rank], set after set
	each := pairsOf(v, among)
	each(func(at moment, x, y []int64) {
		k := at.row*R + at.rank
		addToLines(arrive[k:], float64(at.step), x)
		addToLines(take[k:], float64(at.step), y)
	})
	for k := range take {
		arrive[k].fit(T)
		take[k].fit(T)
	}
	values := make([]float64, 2*S*T)
	out := make([]slopes, S)
	for i := range out {
		at := values[2*i*T:]
		out[i] = slopes{values: at[:0:T], spreads: at[T : T : 2*T]}
	}
	sums, beyond := make([]products, S), make([]float64, R)
	block := blockOf(T, R-len(among.sets))
	each(func(at moment, x, y []int64) {
		k, left := at.row*R+at.rank, beyond[at.rank:]
		leftOf(left, arrive[k:], float64(at.step), x)
		sum := &sums[at.row]
		sum.add(left, take[k:], float64(at.step), y)
		if (at.step+1)%block != 0 || at.rank+len(y) < R {
			return
		}
		// Below a nanosecond per rank, what is left of x is rounding.
		if sum.xx > float64(R*block) {
			of := &out[at.row]
			of.values, of.spreads = append(of.values, sum.xy/sum.xx), append(of.spreads, sum.xx)
		}
		*sum = products{}
	})
	return out
}

// slopes are those of a stage, and how far arrivals spread of which each was taken.
type slopes struct{ values, spreads []float64 }

// widest are the slopes of the quarter in which arrivals spread furthest: where a rank
// is late in some steps only, the others tell little beside what is not recorded.
func (s slopes) widest() (out []float64) {
	n := len(s.values)
	if n < 4 {
		return nil
	}
	least := robust.Select(slices.Clone(s.spreads), n-n/4)
	for k, x := range s.values {
		if s.spreads[k] >= least {
			out = append(out, x)
		}
	}
	return out
}

// moment is a row of a step, and how many ranks were taken there before.
type moment struct{ step, row, rank int }

// pairs is what is shown of a row of a set: when each rank begins it, and how long it takes,
// valid during the call.
type pairs func(at moment, x, y []int64)

// pairsOf runs through a carried view set by set, as often as it is called. Unless steps are
// open, x is known of the first row of a step, and empty in the others.
func pairsOf(v *view, among *gathering) func(visit pairs) {
	var starts []int64
	if !v.open {
		starts = v.starts()
	}
	return func(visit pairs) {
		if !among.whole() {
			visit = bySet(v.ranks(), among, visit)
		}
		if v.open {
			eachArrivalSinceItsEnd(v, func(t, i int, x, d []int64) { visit(moment{t, i, 0}, x, d) })
			return
		}
		for t := range v.steps {
			x := starts[t*v.ranks() : (t+1)*v.ranks()]
			for i := range v.order {
				visit(moment{t, i, 0}, x, v.row(t, i))
				x = nil
			}
		}
	}
}

// bySet shows rows set by set.
func bySet(ranks int, among *gathering, visit pairs) pairs {
	xs, ys := make([]int64, ranks), make([]int64, ranks)
	return func(at moment, x, y []int64) {
		for _, set := range among.sets {
			begins := xs[:min(len(x), len(set))]
			for k := range begins {
				begins[k] = x[set[k]]
			}
			for k, r := range set {
				ys[k] = y[r]
			}
			visit(at, begins, ys[:len(set)])
			at.rank += len(set)
		}
	}
}

// products are sums over ranks and steps of what is left of x and y beyond their lines and
// the means over ranks.
type products struct{ xx, xy float64 }

// add adds a row of step t: what is left of x, which becomes that of the next row, and y.
func (p *products) add(x []float64, lines []line, t float64, y []int64) {
	sumX, sumY, xx, xy := 0.0, 0.0, 0.0, 0.0
	x, lines = x[:len(y)], lines[:len(y)]
	for r, d := range y {
		left, k := x[r], &lines[r]
		took := float64(d-y[0]) - (k.at0 + k.slope*t)
		sumX += left
		sumY += took
		xx += left * left
		xy += left * took
		x[r] = left + took
	}
	p.xx += xx - sumX*sumX/float64(len(y))
	p.xy += xy - sumX*sumY/float64(len(y))
}

// addToLines adds step t, in which the ranks have values v.
func addToLines(lines []line, t float64, v []int64) {
	lines = lines[:len(v)]
	for r, x := range v {
		lines[r].add(t, float64(x-v[0]))
	}
}

// leftOf is what is left of the values of step t beyond their lines.
func leftOf(left []float64, lines []line, t float64, v []int64) {
	for r, x := range v {
		left[r] = float64(x-v[0]) - (lines[r].at0 + lines[r].slope*t)
	}
}

// line is a least-squares line over the steps: while values are added their sum and that
// of steps times values, then its value at step 0 and its slope per step.
type line struct{ at0, slope float64 }

func (l *line) add(t, y float64) {
	l.at0 += y
	l.slope += t * y
}

// fit ends the adding of T values, one for each step.
func (l *line) fit(T int) {
	sum, sumT := l.at0, l.slope
	n := float64(T)
	mid := (n - 1) / 2
	if l.slope = 0; T > 1 {
		l.slope = (sumT - mid*sum) / (n * (n*n - 1) / 12)
	}
	l.at0 = sum/n - l.slope*mid
}

// eachArrivalSinceItsEnd is eachArrival with each rank's arrival counted from its
// previous end of the same row, in the paired steps.
func eachArrivalSinceItsEnd(v *view, visit func(t, i int, since, d []int64)) {
	R := v.ranks()
	first := v.steps - v.paired()
	previous, since := v.lastEnds(), make([]int64, R)
	eachArrival(v, func(t, i int, prefix, d []int64) {
		end := previous[i*R : (i+1)*R]
		for r, p := range prefix {
			since[r] = p - end[r]
			end[r] = p + d[r]
		}
		if t >= first {
			visit(t-first, i, since, d)
		}
	})
}

// paired is in how many steps arrivals can be counted as the view counts them. Without
// the step before, the first has no end to count from.
func (v *view) paired() int {
	if v.open && v.lead == 0 {
		return v.steps - 1
	}
	return v.steps
}

// lastEnds is when each rank ended each row in the step before the first, [row][rank];
// all 0 without one.
func (v *view) lastEnds() []int64 {
	R := v.ranks()
	ends := make([]int64, len(v.order)*R)
	if v.lead == 0 {
		return ends
	}
	for i := len(v.order) - 1; i > 0; i-- {
		for r, d := range v.row(-1, i) {
			ends[(i-1)*R+r] = ends[i*R+r] - d
		}
	}
	return ends
}
