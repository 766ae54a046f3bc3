package align

import (
	"math"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/internal/robust"
)

// learnClock takes the median distance from stamp to launch, and how far a pair is
// usually off it, from what is aligned.
func learnClock(parts []part, results []*needleman.Result, old clocks) clocks {
	var off []int64
	for i, r := range results {
		e := parts[i].evidence
		for _, p := range r.Pairs {
			if e.launches[p.Row].Lead >= 0 && e.kernels[p.Column].HasLaunch && e.stamps[p.Row] != math.MinInt64 {
				off = append(off, e.kernels[p.Column].Launch-e.stamps[p.Row])
			}
		}
	}
	if len(off) < 8 {
		return old
	}
	c := clocks{use: true, threads: old.threads, offset: robust.Upper(off)}
	for i, d := range off {
		off[i] = max(d-c.offset, c.offset-d)
	}
	c.spread = max(robust.Upper(off)*13/9, 1000) // the scale of a Laplace distribution is its median deviation / ln 2
	return c
}

// learn sets the table anew and adds to it which shapes of kernel the calls of one class had, as far as they
// were aligned without doubt: ten times the logarithm of how much more often than by chance.
func (e *evidence) learn(r *needleman.Result) {
	e.forget()
	joint := make(map[[2]int]float64)
	of := make([]float64, len(e.classes))
	kinds := make([]float64, len(e.shapes))
	total := 0.0
	for _, p := range r.Pairs {
		c, k := e.rowKinds[p.Row], e.kinds[p.Column]
		if e.classes[c].ghost {
			continue
		}
		weight := 0.2
		if p.Margin > 0 {
			weight = 1
		}
		joint[[2]int{c, k}] += weight
		of[c] += weight
		kinds[k] += weight
		total += weight
	}
	for c := range e.classes {
		if of[c] < 2 {
			continue
		}
		for k := range e.shapes {
			if e.table[c][k] <= needleman.Never {
				continue
			}
			chance := (kinds[k] + 0.5) / (total + 0.5*float64(len(e.shapes)))
			odds := (joint[[2]int{c, k}] + chance) / (of[c] + 1) / chance
			e.table[c][k] += int32(min(max(10*math.Log(odds), -mostLearned), mostLearned))
		}
	}
}
