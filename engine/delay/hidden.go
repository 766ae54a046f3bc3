package delay

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// What a rank does itself in a stage in which it waits is not seen. It lies between 0 and the
// time in the stage, and it decides who arrives second, and so what fixing the first saves.

const (
	// hiddenNoise is by how much more than the visible compute the hidden work varies over
	// ranks, to be safe.
	hiddenNoise = 1.5
	// errors is how many standard errors of a size an interval spans on either side.
	errors = 2.0
	// replayError is the part of a saving that no replay is better than: ranks leave a point some microseconds apart, and
	// work differs there by as much.
	replayError = 0.005
	// ofMiddle turns the standard error of a mean into that of a mean between quartiles.
	ofMiddle = 1.25
)

// hiddenTimes returns by how much the ranks' unseen work at each point may differ, [point][interval][rank], as if it varied like the
// visible compute that leads to it; nil where nothing is hidden.
func (s *series) hiddenTimes() [][]float64 {
	out, scratch := make([][]float64, len(s.Points)), make([]int64, s.Ranks)
	for p := range s.Points {
		k := s.visible(p)
		if k < 0 || s.Stages[s.Points[p].Stage].Role == points.Wait {
			continue
		}
		base := hiddenNoise * median(floats(s.After[p]))
		if s.Ranks == 2 {
			base *= math.Sqrt2
		}
		h := make([]float64, s.Intervals*s.Ranks)
		for n := range s.Intervals {
			row := s.rest[k][n*s.Ranks : (n+1)*s.Ranks]
			m := float64(robust.MiddleOf(row, scratch).Median())
			if m <= 0 {
				continue
			}
			for r, x := range row {
				h[n*s.Ranks+r] = base * (float64(x)/m - 1)
			}
		}
		out[p] = h
	}
	return out
}

// visible returns the piece before a point most like the work hidden in the point's stage: the forward pass, or the longest.
func (s *series) visible(p int) int {
	best, most := -1, 0.0
	for k, piece := range s.Pieces {
		if piece.Point != p || s.Stages[piece.Stage].Role == points.Rest {
			continue
		}
		m := median(s.common[k])
		if s.Stages[piece.Stage].Role == points.Forward {
			m *= 1e6
		}
		if m > most {
			best, most = k, m
		}
	}
	return best
}

// mayHide returns how long all ranks stay at points after the last arrived, where one may be at work, in the intervals
// struck, ns.
func (s *series) mayHide(struck []bool) (sum float64) {
	for p, after := range s.After {
		if s.Stages[s.Points[p].Stage].Role == points.Wait {
			continue
		}
		for n, x := range after {
			if struck[n] {
				sum += float64(x)
			}
		}
	}
	return sum
}

// interval returns the interval of the saving from a cause, as a part of the run, and its middle. Above: its size with two
// standard errors, nothing hidden. Below: without them, and hidden work that varies with the visible or apart from it.
func (s *series) interval(before, alone [][]int64, c cause, h [][]float64, one float64) (low, high, mid float64) {
	se := 0.0
	for _, t := range c.terms {
		se = max(se, s.sizeError(t))
	}
	high = max(1-s.length(subtractTerms(before, s, c.terms, -se))/s.whole, 1-s.length(s.arriveLikePeers(before, c.terms))/s.whole)
	less := subtractTerms(before, s, c.terms, se)
	low = 1 - s.length(less)/s.whole
	mid = one
	if s.Free() {
		return max(0, low), high, mid
	}
	// Of what is hidden no more is believed than that it varies like the visible, twice over:
	// with it and apart from it.
	var lows, mids []float64
	for _, shift := range []int{0, s.Intervals / 2} {
		lows = append(lows, s.savedTime(before, less, h, shift, 1)/s.whole)
		mids = append(mids, s.savedTime(before, alone, h, shift, 1/hiddenNoise)/s.whole)
	}
	low = min(low, slices.Min(lows))
	mid = (mids[0] + mids[1]) / 2
	return max(0, low-replayError*max(0, mid)), max(high, mid) + replayError*max(0, mid), max(0, mid)
}

// arriveLikePeers returns arrivals where the pieces that terms lengthen take as long as the peers' at most, in the intervals struck and others:
// sizes vary from step to step, and what is left of them beside a term is the rank's all the same.
func (s *series) arriveLikePeers(arrive [][]int64, terms []*term) [][]int64 {
	out := slices.Clone(subtractTerms(arrive, s, terms, 0))
	seen := map[cell]bool{}
	for _, t := range terms {
		if seen[cell{t.rank, t.piece}] {
			continue
		}
		seen[cell{t.rank, t.piece}] = true
		p := s.Pieces[t.piece].Point
		for n := range s.Intervals {
			i := n*s.Ranks + t.rank
			out[p][i] -= max(0, s.excess[t.piece][i])
		}
	}
	return out
}

// sampled is about how many intervals of a long run stand for all in what is a mean or a median over
// them: more change nothing in the third digit.
const sampled = 4096

// savedTime returns Σ max(a + h) − Σ max(b + h).
func (s *series) savedTime(a, b [][]int64, h [][]float64, shift int, scale float64) (sum float64) {
	R, by := s.Ranks, 1+s.Intervals/sampled
	defer func() { sum *= float64(s.Intervals) / float64((s.Intervals+by-1)/by) }()
	for p := range a {
		for n := 0; n < s.Intervals; n += by {
			x, y := a[p][n*R:(n+1)*R], b[p][n*R:(n+1)*R]
			if h[p] == nil {
				sum += float64(slices.Max(x) - slices.Max(y))
				continue
			}
			m := (n + shift) % s.Intervals
			g := h[p][m*R : (m+1)*R]
			u, v := math.Inf(-1), math.Inf(-1)
			for r := range R {
				u, v = max(u, float64(x[r])+scale*g[r]), max(v, float64(y[r])+scale*g[r])
			}
			sum += u - v
		}
	}
	return sum
}

// sizeError returns the standard error of a term's size: of the residual excess, in as many blocks as were struck.
func (s *series) sizeError(t *term) float64 {
	own := s.deviation(t.piece, t.rank)
	if s.Ranks > 2 {
		var all []float64
		for r := range s.Ranks {
			all = append(all, s.deviation(t.piece, r))
		}
		own = max(own, median(all))
	}
	struck := 0
	for _, x := range t.d {
		if x > 0 {
			struck++
		}
	}
	return errors * ofMiddle * own * math.Sqrt(float64(max(1, t.block))/float64(max(1, struck)))
}

// deviation returns the standard deviation of a rank's excess.
func (s *series) deviation(k, r int) float64 {
	sum, square := 0.0, 0.0
	for n := range s.Intervals {
		x := float64(s.excess[k][n*s.Ranks+r])
		sum += x
		square += x * x
	}
	mean := sum / float64(s.Intervals)
	return math.Sqrt(max(0, square/float64(s.Intervals)-mean*mean))
}

const (
	// factorAbove and factorRange: all that is visible of a rank is slow by one factor.
	factorAbove, factorRange = 1.08, 1.35
	// factorPart is the part of a step below which a piece says nothing of it.
	factorPart = 0.01
)

// factor returns by how much a rank is slower than its peers in all its stages alike, in the intervals of a cause that
// strikes not too few of them; 0: it is not.
func (s *series) factor(r int, struck []bool) float64 {
	var ratios []float64
	own, usual := 0.0, 0.0
	for k, piece := range s.Pieces {
		if s.Stages[piece.Stage].Role == points.Rest {
			continue
		}
		x, m := s.typical(k, r, struck)
		if m < factorPart*s.step {
			continue
		}
		ratios = append(ratios, x/m)
		own, usual = own+x, usual+m
	}
	if len(ratios) < 2 {
		return 0
	}
	slices.Sort(ratios)
	if ratios[0] > factorAbove && ratios[len(ratios)-1] < factorRange*ratios[0] {
		return own / usual
	}
	return 0
}

// typical returns the median of a rank's piece as recorded in the intervals struck, and that of its peers', ns.
func (s *series) typical(k, r int, struck []bool) (own, peers float64) {
	by, peersOf := 1+4*s.Intervals/sampled, s.peers[s.of[r]] // steps of each rank
	a, b := make([]float64, 0, s.Intervals/by+1), make([]float64, 0, (s.Intervals/by+1)*len(peersOf))
	for n := 0; n < s.Intervals; n += by {
		if s.Step(n, k) < 0 || !struck[n] {
			continue
		}
		a = append(a, float64(s.Work[k][n*s.Ranks+r]))
		for _, q := range peersOf {
			if q != r {
				b = append(b, float64(s.Work[k][n*s.Ranks+q]))
			}
		}
	}
	if len(b) == 0 {
		return 0, 0
	}
	return robust.Median(a), robust.Median(b)
}
