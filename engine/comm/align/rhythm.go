package align

import (
	"cmp"
	"math"
	"slices"
)

const (
	rhythmRounds = 4
	maxPiece     = 1 << 19 // cells of a stretch that is looked at
	leastChance  = 0.25    // of a pair that is reported
	surest       = 1_000   // margin, where nothing else is possible
	unseen       = 0.1     // odds of a kernel that fits in all and that the trace has none of
	noLaunchPart = 0.002   // of kernels, of which the log knows nothing although its counts have no gap there
)

// Use says what of a trace is weighed where there are no clocks.
type Use uint8

const (
	NoChances     Use = iota // nothing: one of the alignments that score best
	NamesAlone               // which kernels follow which
	NamesAndTimes            // and when they started
)

// rhythm goes on where names leave several alignments as good: kernels of a program that repeats itself start at times that
// repeat. What the alignment so far says of the times between kernels, of what launches lose, and of the shapes of kernels
// makes a [chain]; the pairs that it finds likely say more of the same, and so on. Pairs that are certain
// by name stay; between them lie the stretches whose pairs change.
type rhythm struct {
	*evidence
	labels []int
	start  []float64
	anchor []Pair
	pairs  []likely
}

type likely struct {
	Pair
	chance float64
}

// weigh improves the alignment of a stream by what is likely of its launches and kernels.
func (p *part) weigh(r *Result, sc *Scoring) {
	if sc.Chances == NoChances || len(p.kernels) == 0 {
		return
	}
	y := newRhythm(p.evidence)
	for _, q := range r.Pairs {
		y.pairs = append(y.pairs, likely{q, 1})
		if q.Margin >= sc.CertainMargin {
			y.anchor = append(y.anchor, q)
		}
	}
	if len(y.anchor) == len(r.Pairs) && len(r.Pairs) == len(p.launches) {
		return
	}
	y.again(y.learn(NamesAlone))
	for range rhythmRounds {
		before := y.pairs
		if y.again(y.learn(sc.Chances)); samePairs(before, y.pairs) {
			break
		}
	}
	y.report(r, sc.CertainMargin-1)
}

func samePairs(a, b []likely) bool {
	return slices.EqualFunc(a, b, func(x, y likely) bool { return x.Row == y.Row && x.Column == y.Column })
}

func newRhythm(e *evidence) *rhythm {
	y := &rhythm{evidence: e, labels: e.guessed(), start: make([]float64, len(e.kernels))}
	for j, k := range e.kernels {
		y.start[j] = float64(k.Start - e.kernels[0].Start)
	}
	return y
}

// piece is a stretch of launches and kernels, ends exclusive.
type piece struct {
	row, rows, column, columns int
	pinFirst, pinLast          bool
}

// pieces are what lies between neighbouring anchors, these included.
func (y *rhythm) pieces() []piece {
	var list []piece
	at := piece{}
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
		if n > spare && m > spare && n <= maxPiece/m {
			list = append(list, at)
		}
		at = piece{row: row - 1, column: column - 1, pinFirst: true}
	}
	for _, a := range y.anchor {
		add(a.Row+1, a.Column+1, true)
	}
	add(len(y.launches), len(y.kernels), false)
	return list
}

// model is what pairs say of all others.
type model struct {
	gaps  gapModel
	kinds [][]float64 // of each launch: the odds of each kind of kernel
	often []float64   // of each kind, among all kernels
	beat  *beat       // nil where time says nothing
}

// learn makes a model of the pairs so far.
func (y *rhythm) learn(use Use) *model {
	m := &model{gaps: y.learnGaps()}
	m.kinds, m.often = y.learnKinds()
	if use == NamesAndTimes {
		var known []Pair
		for _, q := range y.pairs {
			if q.chance > 0.5 {
				known = append(known, q.Pair)
			}
		}
		m.beat = learnBeat(y.labels, known, y.start)
	}
	return m
}

// chain is the model of one stretch.
func (y *rhythm) chain(m *model, s piece) *chain {
	c := &chain{n: s.rows - s.row, m: s.columns - s.column, gaps: m.gaps, pinFirst: s.pinFirst, pinLast: s.pinLast}
	c.emit = func(i, j int) float64 { return m.kinds[s.row+i][y.kinds[s.column+j]] }
	if b := m.beat; b != nil {
		c.at, c.vary, c.span, c.start = b.at[s.row:s.rows], b.vary[s.row:s.rows], b.span, y.start[s.column:s.columns]
	}
	c.alien = make([]float64, c.m)
	for j := range c.alien {
		c.alien[j] = noLaunchPart * m.often[y.kinds[s.column+j]]
	}
	return c
}

// again finds the pairs of every stretch anew.
func (y *rhythm) again(m *model) {
	old, next := y.pairs, []likely(nil)
	for _, s := range y.pieces() {
		chances, ok := y.chain(m, s).posterior()
		if !ok {
			continue
		}
		for len(old) > 0 && old[0].Row < s.row {
			next, old = append(next, old[0]), old[1:]
		}
		for len(old) > 0 && old[0].Row < s.rows {
			old = old[1:]
		}
		for _, q := range likeliest(&chances) {
			q.Row, q.Column = q.Row+s.row, q.Column+s.column
			if n := len(next); n > 0 && next[n-1].Row == q.Row { // the anchor that ended the stretch before
				continue
			}
			next = append(next, q)
		}
	}
	y.pairs = append(next, old...)
}

// learnGaps counts the runs of launches without kernel.
func (y *rhythm) learnGaps() gapModel {
	runs, lost, pairs := 0.5, 1.0, 1.0
	for k := 1; k < len(y.pairs); k++ {
		pairs++
		if gap := y.pairs[k].Row - y.pairs[k-1].Row - 1; gap > 0 {
			runs++
			lost += float64(gap)
		}
	}
	return gapModel{open: runs / (pairs + 1), stay: 1 - runs/(lost+0.5)}
}

// report replaces the pairs of the alignment. What rests on a model that was learned is not certain: its margin is at most
// that given.
func (y *rhythm) report(r *Result, most int32) {
	for i := range r.SkippedRows {
		if r.SkippedRows[i] < 0 {
			r.SkippedRows[i] = 0
		}
	}
	for j := range r.SkippedColumns {
		r.SkippedColumns[j] = max(r.SkippedColumns[j], 0)
	}
	anchors := map[int]int32{}
	for _, a := range y.anchor {
		anchors[a.Row] = a.Margin
	}
	r.Pairs = r.Pairs[:0]
	slices.SortFunc(y.pairs, func(a, b likely) int { return cmp.Compare(a.Row, b.Row) })
	for _, q := range y.pairs {
		if m, ok := anchors[q.Row]; ok {
			q.Margin = m
		} else {
			q.Margin = min(marginOf(q.chance), most)
		}
		r.Pairs = append(r.Pairs, q.Pair)
		r.SkippedRows[q.Row], r.SkippedColumns[q.Column] = -1, -1
	}
}

// marginOf is how much likelier a pair is than all else, in tenths of a nat.
func marginOf(chance float64) int32 {
	return int32(min(max(10*math.Log(chance/max(1-chance, 1e-40)), 0), surest))
}
