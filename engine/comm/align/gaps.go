package align

import (
	"math"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/internal/robust"
)

const (
	contextLength = 4     // launches by which the time from one to the next is told apart
	leastTimes    = 2     // seen, of one context
	leastSpread   = 1_000 // nanoseconds
)

// context is the classes of a launch and of those before it; what is not looked at is unknown − 1.
type context [contextLength]int

func contextOf(labels []int, i, length int) (c context, ok bool) {
	for k := range c {
		c[k] = unknown - 1
		if k < length {
			if i-k < 0 || labels[i-k] == unknown {
				return c, false
			}
			c[k] = labels[i-k]
		}
	}
	return c, true
}

// startGaps is when the kernels of launches are expected to start: the sum of the median gaps between the starts of neighbouring
// launches in the same context.
type startGaps struct {
	at   []float64 // of each launch, nanoseconds from the first
	vary []float64 // of each launch: the variance of at, square nanoseconds
	span float64   // nanoseconds within which a start that no gap predicts is uniform
}

// learnStartGaps takes the gaps between neighbouring launches whose neighbouring kernels are paired with them: the median of the longest
// context that was seen often enough. It is nil where too few are.
func learnStartGaps(labels []int, pairs []needleman.Pair, start []float64) *startGaps {
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
			if c, ok := contextOf(labels, b.Row, length); ok {
				seen[c] = append(seen[c], d)
			}
		}
	}
	if len(all) < leastTimes {
		return nil
	}
	usual := usualGaps(seen)
	m, wide := medianScale(all)
	pool := pooled(usual, wide)
	g := &startGaps{at: make([]float64, len(labels)), vary: make([]float64, len(labels)), span: max(m+10*wide, leastSpread)}
	for i := 1; i < len(labels); i++ {
		d, s := m, wide+m
		for length := contextLength; length > 0; length-- {
			c, ok := contextOf(labels, i, length)
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

// medianScale is the median, and the scale of a Laplace distribution by the median deviation. It overwrites times.
func medianScale(times []float64) (m, spread float64) {
	m = robust.Upper(times)
	return m, robust.MAD(times, m) / math.Ln2
}

// pooled is the usual spread within contexts.
func pooled(usual map[context]usual, without float64) float64 {
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
