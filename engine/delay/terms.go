package delay

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// term is one delay: a rank, a piece of its work, and by how much it is longer in which
// intervals.
type term struct {
	rank, piece int
	d           []float64 // [interval]
	claim       float64   // size in the intervals struck, that was tested
	charged     float64   // what was charged to it and is explained
	pattern     claim.Pattern
	period      int
	grows       *[2]float64 // size in the first and the last interval of a delay that goes along a line; nil: it does not
	chance
}

// shape of a term before it is tested.
type shape struct {
	claim   float64
	d       []float64
	pattern claim.Pattern
	period  int
	grows   *[2]float64
	strikes bool // some intervals, by how much each was struck; false: a level or a line
}

const (
	// mostTerms bounds the search; eight late GPUs of several hosts are as many terms.
	mostTerms = 256
	// mostTried is how many candidates are tried for one term.
	mostTried = 12
	// leastOfRun is the part of the run that a term must explain.
	leastOfRun = 0.01
	// leastOfStep is the part of a step below which an interval is not struck.
	leastOfStep = 0.01
	// mostStruck is the part of the intervals from which on a delay is a level.
	mostStruck = 0.8
)

// peel finds the terms: the certain one that most is charged to, taken out, and again. What
// is not certain is passed over, or one chance stall of a neighbour would hide a real
// straggler. O(intervals · ranks · pieces) for each term.
func (s *series) peel(level float64) (terms []*term) {
	tried := make(map[cell]bool) // since the last term at their point
	for len(terms) < mostTerms {
		t := s.surest(level, tried)
		if t == nil {
			break
		}
		s.remove(t.piece, t.rank, t.d)
		terms = append(terms, t)
		for c := range tried {
			if s.Pieces[c.piece].Point == s.Pieces[t.piece].Point {
				delete(tried, c)
			}
		}
	}
	return terms
}

type cell struct{ rank, piece int }

// surest returns the certain term with the largest charge; nil without any.
func (s *series) surest(level float64, tried map[cell]bool) *term {
	for _, c := range s.candidates() {
		if tried[c] {
			continue
		}
		tried[c] = true
		x := s.charge[c.piece].rankCharges(c.rank, s.Intervals)
		e := s.column(s.excess[c.piece], c.rank)
		own := s.ownDelay(c)
		var best *term
		for _, form := range s.shapes(c, x, e, own) {
			explained := 0.0
			for n, d := range form.d {
				if d > 0 {
					v := max(0, own[n])
					explained += v - math.Abs(v-d)
				}
			}
			if explained < leastOfRun*s.whole || best != nil && explained <= best.charged {
				continue
			}
			left := make([]float64, len(e))
			for n, v := range e {
				left[n] = v - form.d[n]
			}
			if p := s.test(c, form, own, left); p.p <= level {
				best = &term{rank: c.rank, piece: c.piece, d: form.d, claim: form.claim, charged: explained, pattern: form.pattern, period: form.period, grows: form.grows, chance: p}
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// ownDelay returns the delay of the others by a rank in a piece, with noise, [interval].
func (s *series) ownDelay(c cell) []float64 {
	lead := s.lead[s.Pieces[c.piece].Point]
	out := make([]float64, s.Intervals)
	for n := range out {
		i := n*s.Ranks + c.rank
		out[n] = float64(min(s.excess[c.piece][i], lead[i]))
	}
	return out
}

// candidates returns the ranks and pieces with the largest charges. Nobody is late because of a collective: who is there for
// longer waits.
func (s *series) candidates() []cell {
	type candidate struct {
		cell
		x float64
	}
	var list []candidate
	for k := range s.charge {
		if s.Stages[s.Pieces[k].Stage].Role == points.Collective {
			continue
		}
		for r, x := range s.charge[k].total {
			if x > leastOfRun*s.whole {
				list = append(list, candidate{cell{r, k}, x})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.x, a.x) })
	var out []cell
	for _, c := range list[:min(len(list), mostTried)] {
		out = append(out, c.cell)
	}
	return out
}

// shapes returns the forms that a candidate may have; x is its charges, own its charges with noise: strikes of some intervals
// far beyond the noise; strikes of some by half as much as their upper tenth or more; and a level, which half of the intervals
// show, or a line, where it grows or falls.
func (s *series) shapes(c cell, x, e, own []float64) (out []shape) {
	before := -1
	strikes := func(v []float64, least float64) {
		big := make([]bool, len(v))
		var sizes, usual []float64
		seen := 0
		for n, v := range v {
			if !s.HasPiece(n, c.piece, c.rank) {
				continue
			}
			seen++
			if big[n] = v > least; big[n] {
				sizes = append(sizes, v)
			} else {
				usual = append(usual, e[n])
			}
		}
		if n := len(sizes); n > 0 && n != before && float64(n) < mostStruck*float64(seen) {
			out = append(out, s.struck(big, e, median(sizes), median(usual), s.noise[c.piece]))
			before = n
		}
	}
	least := leastOfStep * s.step
	strikes(x, max(slackOfNoise*s.noise[c.piece], least))
	strikes(own, max(upperTenth(own)/2, least))
	recorded, at := make([]float64, 0, len(e)), make([]int, 0, len(e))
	for n, v := range e {
		if s.HasPiece(n, c.piece, c.rank) {
			recorded, at = append(recorded, v), append(at, n)
		}
	}
	if form, ok := s.ramp(e, at); ok {
		return append(out, form)
	}
	if m := winsorizedMean(recorded); m > 0 {
		d := make([]float64, len(e))
		for n := range d {
			if s.HasPiece(n, c.piece, c.rank) {
				d[n] = m
			}
		}
		out = append(out, shape{claim: m, d: d, pattern: claim.Constant})
	}
	return out
}

// upperTenth returns the value that a tenth of v reach.
func upperTenth(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[len(sorted)-1-len(sorted)/10]
}

// struck returns the form of a delay in some intervals. Where they follow one another nearly without a gap it is a level from
// one interval to another; the sum of clipped noise would make it too large.
func (s *series) struck(big []bool, e []float64, size, usual, noise float64) shape {
	d := make([]float64, len(e))
	if from, to, ok := stretch(big); ok {
		if level := winsorizedMean(e[from:to]) - usual; level > 0 {
			for n := from; n < to; n++ {
				d[n] = level
			}
			return shape{claim: size, d: d, pattern: claim.Span, strikes: true}
		}
	}
	// What is far smaller than most is noise beyond the slack; what is left of it may be a term of
	// its own.
	big = slices.Clone(big)
	for n := range big {
		big[n] = big[n] && e[n]-usual > size/farSmaller
	}
	for n := range d {
		if big[n] {
			d[n] = min(max(e[n]-usual, 0), 2*size+2*noise)
		}
	}
	period, pattern := periodOf(big), claim.Irregular
	if period > 0 {
		pattern = claim.Periodic
	}
	return shape{claim: size, d: d, pattern: pattern, period: period, strikes: true}
}

const (
	// filled is the part of a stretch that must be struck, and of all that is struck that must lie
	// in it, for the intervals to be one stretch.
	filled = 0.85
	// farSmaller is how many times smaller than the middle delay one is that is not counted with
	// it.
	farSmaller = 4
	// shortest stretch, intervals.
	shortest = 8
)

// stretch returns where most struck intervals lie without gaps, [from, to); ok is false where it is scattered.
func stretch(big []bool) (from, to int, ok bool) {
	best, sum, start, all := 0, 0, 0, 0
	for n, b := range big {
		if b {
			sum++
			all++
		} else {
			sum--
		}
		if sum <= 0 {
			sum, start = 0, n+1
			continue
		}
		if sum > best {
			best, from, to = sum, start, n+1
		}
	}
	in := 0
	for _, b := range big[from:to] {
		if b {
			in++
		}
	}
	return from, to, to-from >= shortest && float64(in) >= filled*float64(to-from) && float64(in) >= filled*float64(all)
}

// mostStray is one in how many struck intervals may lie beside the period of the others.
const mostStray = 4

// regular returns the struck intervals without the few beside a period, and the period; 0 where there is none. An unrelated
// slow step does not hide the equal distances of the others.
func regular(big []bool) (kept []bool, period int) {
	if period := periodOf(big); period > 0 {
		return big, period
	}
	last, count, gaps := -1, 0, map[int]int{}
	for n, b := range big {
		if !b {
			continue
		}
		if last >= 0 {
			gaps[n-last]++
		}
		last = n
		count++
	}
	for gap, times := range gaps {
		if gap > 1 && (period == 0 || times > gaps[period] || times == gaps[period] && gap < period) {
			period = gap
		}
	}
	if period == 0 {
		return nil, 0
	}
	hits, phase := make([]int, period), 0
	for n, b := range big {
		if b {
			hits[n%period]++
		}
	}
	for at, n := range hits {
		if n > hits[phase] {
			phase = at
		}
	}
	if count-hits[phase] > max(1, count/mostStray) {
		return nil, 0
	}
	kept = make([]bool, len(big))
	for n := phase; n < len(big); n += period {
		kept[n] = big[n]
	}
	return kept, periodOf(kept)
}

// periodOf returns the distance of intervals struck at equal distances, 0 where they are not: three or more, all distances
// alike but for one in ten that may be a multiple.
func periodOf(big []bool) int {
	var at []int
	for n, b := range big {
		if b {
			at = append(at, n)
		}
	}
	if len(at) < 3 {
		return 0
	}
	gaps := make([]int, len(at)-1)
	for i := range gaps {
		gaps[i] = at[i+1] - at[i]
	}
	period := slices.Clone(gaps)
	slices.Sort(period)
	p := period[len(period)/2]
	if p < 2 {
		return 0
	}
	odd := 0
	for _, g := range gaps {
		if g%p != 0 {
			return 0
		}
		if g != p {
			odd++
		}
	}
	if 10*odd > len(gaps) && odd > 1 {
		return 0
	}
	return p
}
