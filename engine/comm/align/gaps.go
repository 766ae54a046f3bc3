package align

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/internal/robust"
)

// Names leave several alignments with the same score where a program repeats itself: they do not show which of six equal calls in
// a row lost its kernel. The times between kernels repeat too. The pairs so far give the usual gap from the start of one launch's kernel to that
// of the next, pairs that are sure give the moment from which to count, and from both follows when the kernels beside them start.
const (
	contextLength = 4     // launches by which the time from one to the next is told apart
	leastTimes    = 2     // seen, of one context
	leastSpread   = 1_000 // nanoseconds

	gapRounds     = 12 // of estimating gaps and aligning, at most
	sureMargin    = 30 // of a pair from which starts are counted, tenths of a nat
	punctual      = 15 // a kernel that starts as expected, tenths of a nat
	lessPerSpread = 3  // taken off for each spread that it is off
	mostOff       = 30 // … at most
)

// context is the classes of a launch and of those before it; −1 is not looked at.
type context [contextLength]int

func contextOf(classes []int, i, length int) (c context, ok bool) {
	if i+1 < length {
		return c, false
	}
	for k := range c {
		if c[k] = -1; k < length {
			c[k] = classes[i-k]
		}
	}
	return c, true
}

// startGaps is when the kernels of launches are expected to start: the sum of the median gaps between the starts of neighbouring
// launches in the same context.
type startGaps struct {
	at   []float64 // of each launch, nanoseconds from the first
	vary []float64 // of each launch: the variance of at, square nanoseconds
}

// learnStartGaps takes the gaps between neighbouring launches whose neighbouring kernels are paired with them: the median of the longest
// context that was seen often enough. It is nil where too few are.
func learnStartGaps(classes []int, pairs []needleman.Pair, start []float64) *startGaps {
	seen := map[context][]float64{}
	var all []float64
	for k := 1; k < len(pairs); k++ {
		a, b := pairs[k-1], pairs[k]
		if b.Row != a.Row+1 || b.Column != a.Column+1 {
			continue
		}
		d := start[b.Column] - start[a.Column]
		all = append(all, d)
		for length := 1; length <= contextLength; length++ {
			if c, ok := contextOf(classes, b.Row, length); ok {
				seen[c] = append(seen[c], d)
			}
		}
	}
	if len(all) < leastTimes {
		return nil
	}
	usual := usualGaps(seen)
	m, wide := medianScale(all)
	pool := poolSpread(usual, wide)
	g := &startGaps{at: make([]float64, len(classes)), vary: make([]float64, len(classes))}
	for i := 1; i < len(classes); i++ {
		d, s := m, wide+m
		for length := contextLength; length > 0; length-- {
			c, ok := contextOf(classes, i, length)
			if u, known := usual[c]; ok && known {
				d, s = u.median, (u.spread*u.times+2*pool)/(u.times+2)
				break
			}
		}
		s = max(s, leastSpread)
		g.at[i], g.vary[i] = g.at[i-1]+max(d, 0), g.vary[i-1]+s*s
	}
	return g
}

type usual struct{ median, spread, times float64 }

func usualGaps(seen map[context][]float64) map[context]usual {
	out := map[context]usual{}
	for c, times := range seen {
		if len(times) >= leastTimes {
			m, s := medianScale(times)
			out[c] = usual{m, s, float64(len(times))}
		}
	}
	return out
}

// medianScale returns the median, and the scale of a Laplace distribution by the median deviation. It overwrites times.
func medianScale(times []float64) (m, spread float64) {
	m = robust.Upper(times)
	return m, robust.MAD(times, m) / math.Ln2
}

// poolSpread returns the usual spread within contexts.
func poolSpread(usual map[context]usual, without float64) float64 {
	var all []float64
	for _, u := range usual {
		if u.times > leastTimes {
			all = append(all, u.spread)
		}
	}
	if len(all) == 0 {
		return without
	}
	return robust.Upper(all)
}

// expectation is when the kernel of a launch starts, by the sure pairs before and after it: nanoseconds from the first start of the stream, and
// the spread of that; 0: nothing tells.
type expectation struct{ at, spread float64 }

// refineByStarts aligns a stream again by when its kernels start, until nothing changes. Pairs that rest on estimated gaps are not certain.
func (p *part) refineByStarts(r *needleman.Result) (*needleman.Result, error) {
	certain := map[int]needleman.Pair{} // by row
	for _, q := range r.Pairs {
		if q.Margin >= certainMargin {
			certain[q.Row] = q
		}
	}
	if len(certain) == len(p.launches) {
		return r, nil
	}
	for range gapRounds {
		if !p.expect(r.Pairs) {
			break
		}
		next, err := needleman.Solve(p.evidence, alone)
		if err != nil {
			return nil, err
		}
		same := slices.EqualFunc(r.Pairs, next.Pairs, func(a, b needleman.Pair) bool { return a.Row == b.Row && a.Column == b.Column })
		if r = next; same {
			break
		}
	}
	for i := range r.Pairs {
		q := &r.Pairs[i]
		if c, ok := certain[q.Row]; ok && c.Column == q.Column {
			q.Margin = c.Margin
		} else {
			q.Margin = min(q.Margin, certainMargin-1)
		}
	}
	return r, nil
}

// expect takes the gaps from the pairs so far, and makes starts count; false where there are too few gaps.
func (e *evidence) expect(pairs []needleman.Pair) bool {
	if e.starts == nil {
		for _, k := range e.kernels {
			e.starts = append(e.starts, float64(k.Start-e.kernels[0].Start))
		}
	}
	g := learnStartGaps(e.rowKinds, pairs, e.starts)
	if g == nil {
		return false
	}
	sure := slices.DeleteFunc(slices.Clone(pairs), func(q needleman.Pair) bool { return q.Margin < sureMargin })
	e.expected = make([]expectation, len(e.launches))
	for i := range e.expected {
		after, own := slices.BinarySearchFunc(sure, i, func(q needleman.Pair, row int) int { return cmp.Compare(q.Row, row) })
		before := after - 1
		if own {
			after++
		}
		var sum, weight float64
		for _, k := range [...]int{before, after} {
			if k >= 0 && k < len(sure) {
				q := sure[k]
				v := math.Abs(g.vary[i]-g.vary[q.Row]) + 1
				sum, weight = sum+(e.starts[q.Column]+g.at[i]-g.at[q.Row])/v, weight+1/v
			}
		}
		if weight > 0 {
			e.expected[i] = expectation{sum / weight, math.Sqrt(1 / weight)}
		}
	}
	e.bounds()
	return true
}

// punctuality returns the score of a kernel that starts as expected of the launch, or how far off.
func (e *evidence) punctuality(i, kernel int) int32 {
	x := e.expected[i]
	if x.spread == 0 {
		return 0
	}
	off := math.Abs(e.starts[kernel]-x.at) / x.spread
	return punctual - int32(min(lessPerSpread*off, punctual+mostOff))
}
