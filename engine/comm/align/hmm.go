package align

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
)

const (
	hmmRounds    = 4       // of estimating and decoding
	maxStretch   = 1 << 19 // cells of a stretch that is decoded
	leastChance  = 0.25    // posterior of a pair that is reported
	surest       = 1_000   // margin, where nothing else is possible
	unseen       = 0.1     // odds of a kernel that fits in all and that the trace has none of
	noLaunchPart = 0.002   // of kernels, of which the log knows nothing although its counts have no gap there
)

// hmm is a hidden Markov model of one stream, for where names leave several alignments with the same score: kernels of a program
// that repeats itself start at times that repeat. Its parameters are the odds of kernel shapes, the deletion rate and the gaps between
// starts. They are estimated from the alignment so far, the posterior of each pair follows by forward-backward recursion over a
// [trellis], and the decoded pairs give the next estimate (expectation maximisation). Pairs that are certain by name are
// anchors and stay; only the stretches between them are decoded.
type hmm struct {
	*evidence
	labels []int
	start  []float64
	anchor []needleman.Pair
	pairs  []likely
}

// likely is a pair and its posterior.
type likely struct {
	needleman.Pair
	chance float64
}

// decode replaces the alignment of a stream by the pairs of the largest posterior.
func (p *part) decode(r *needleman.Result) {
	if len(p.kernels) == 0 {
		return
	}
	h := newHMM(p.evidence)
	for _, q := range r.Pairs {
		h.pairs = append(h.pairs, likely{q, 1})
		if q.Margin >= certainMargin {
			h.anchor = append(h.anchor, q)
		}
	}
	if len(h.anchor) == len(r.Pairs) && len(r.Pairs) == len(p.launches) {
		return
	}
	h.update(h.byNames())
	for range hmmRounds {
		before := h.pairs
		if h.update(h.estimate()); samePairs(before, h.pairs) {
			break
		}
	}
	h.report(r)
}

func samePairs(a, b []likely) bool {
	return slices.EqualFunc(a, b, func(x, y likely) bool { return x.Row == y.Row && x.Column == y.Column })
}

func newHMM(e *evidence) *hmm {
	h := &hmm{evidence: e, labels: e.guessed(), start: make([]float64, len(e.kernels))}
	for j, k := range e.kernels {
		h.start[j] = float64(k.Start - e.kernels[0].Start)
	}
	return h
}

// stretch is consecutive launches and kernels, ends exclusive.
type stretch struct {
	row, rows, column, columns int
	pinFirst, pinLast          bool
}

// stretches are between neighbouring anchors, these included.
func (h *hmm) stretches() []stretch {
	var list []stretch
	at := stretch{}
	add := func(row, column int, pin bool) {
		at.rows, at.columns, at.pinLast = row, column, pin
		spare := 0
		if at.pinFirst {
			spare++
		}
		if pin {
			spare++
		}
		n, m := at.rows-at.row, at.columns-at.column
		if n > spare && m > spare && n <= maxStretch/m {
			list = append(list, at)
		}
		at = stretch{row: row - 1, column: column - 1, pinFirst: true}
	}
	for _, a := range h.anchor {
		add(a.Row+1, a.Column+1, true)
	}
	add(len(h.launches), len(h.kernels), false)
	return list
}

// model is the parameters.
type model struct {
	deletions deletions
	kinds     [][]float64 // of each launch: the odds of each kind of kernel
	often     []float64   // of each kind, among all kernels
	gaps      *startGaps  // nil where names alone are weighed
}

// byNames takes the parameters of names from the pairs so far: which kernels
// follow which.
func (h *hmm) byNames() *model {
	m := &model{deletions: h.learnDeletions()}
	m.kinds, m.often = h.learnKinds()
	return m
}

// estimate takes all parameters from the pairs so far, also when kernels start.
func (h *hmm) estimate() *model {
	m := h.byNames()
	var known []needleman.Pair
	for _, q := range h.pairs {
		if q.chance > 0.5 {
			known = append(known, q.Pair)
		}
	}
	m.gaps = learnStartGaps(h.labels, known, h.start)
	return m
}

// trellis is the states of one stretch.
func (h *hmm) trellis(m *model, s stretch) *trellis {
	c := &trellis{n: s.rows - s.row, m: s.columns - s.column, deletions: m.deletions, pinFirst: s.pinFirst, pinLast: s.pinLast}
	c.emit = func(i, j int) float64 {
		i, j = s.row+i, s.column+j
		if h.clock.queued && !h.mayStart(i, h.kernels[j]) {
			return 0
		}
		return m.kinds[i][h.kinds[j]] * math.Exp(h.waiting(i, h.kernels[j]))
	}
	if g := m.gaps; g != nil {
		c.at, c.vary, c.span, c.start = g.at[s.row:s.rows], g.vary[s.row:s.rows], g.span, h.start[s.column:s.columns]
	}
	c.inserted = make([]float64, c.m)
	for j := range c.inserted {
		c.inserted[j] = noLaunchPart * m.often[h.kinds[s.column+j]]
	}
	return c
}

// update decodes every stretch anew.
func (h *hmm) update(m *model) {
	old, next := h.pairs, []likely(nil)
	for _, s := range h.stretches() {
		chances, ok := h.trellis(m, s).posterior()
		if !ok {
			continue
		}
		for len(old) > 0 && old[0].Row < s.row {
			next, old = append(next, old[0]), old[1:]
		}
		for len(old) > 0 && old[0].Row < s.rows {
			old = old[1:]
		}
		for _, q := range decode(&chances) {
			q.Row, q.Column = q.Row+s.row, q.Column+s.column
			if n := len(next); n > 0 && next[n-1].Row == q.Row { // the anchor that ended the stretch before
				continue
			}
			next = append(next, q)
		}
	}
	h.pairs = append(next, old...)
}

// learnDeletions counts the runs of launches without kernel.
func (h *hmm) learnDeletions() deletions {
	runs, lost, pairs := 0.5, 1.0, 1.0
	for k := 1; k < len(h.pairs); k++ {
		pairs++
		if gap := h.pairs[k].Row - h.pairs[k-1].Row - 1; gap > 0 {
			runs++
			lost += float64(gap)
		}
	}
	return deletions{open: runs / (pairs + 1), stay: 1 - runs/(lost+0.5)}
}

// report replaces the pairs of the alignment. Pairs that rest on estimated parameters are not certain.
func (h *hmm) report(r *needleman.Result) {
	anchors := map[int]int32{}
	for _, a := range h.anchor {
		anchors[a.Row] = a.Margin
	}
	r.Pairs = r.Pairs[:0]
	slices.SortFunc(h.pairs, func(a, b likely) int { return cmp.Compare(a.Row, b.Row) })
	for _, q := range h.pairs {
		if m, ok := anchors[q.Row]; ok {
			q.Margin = m
		} else {
			q.Margin = min(marginOf(q.chance), certainMargin-1)
		}
		r.Pairs = append(r.Pairs, q.Pair)
	}
}

// marginOf is the log odds of a posterior, in tenths of a nat.
func marginOf(chance float64) int32 {
	return int32(min(max(10*math.Log(chance/max(1-chance, 1e-40)), 0), surest))
}
