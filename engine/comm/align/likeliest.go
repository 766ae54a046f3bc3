package align

import "slices"

// likeliest is the pairs in order whose chances add up to most: no other alignment has more right, by the
// chances.
func likeliest(f *field) []likely {
	l := newLadder(f.n)
	for j := range len(f.scale) {
		column := f.column(j)
		for i := f.n - 1; i >= 0; i-- { // so that no two of one kernel follow one another
			if column[i] >= leastChance/4 {
				l.put(likely{Pair{Row: i, Column: j}, column[i]})
			}
		}
	}
	var out []likely
	for k := l.before(f.n); k >= 0; k = l.rungs[k].before {
		if l.rungs[k].chance >= leastChance {
			out = append(out, l.rungs[k].likely)
		}
	}
	slices.Reverse(out)
	return out
}

// ladder keeps the best way that ends in a row or before it (Fenwick 1994, Softw. Pract. Exp. 24:327–336).
type ladder struct {
	rungs []rung
	best  []int // of rungs; −1 for none
}

// rung is a pair and the best way to it.
type rung struct {
	likely
	sum    float64
	before int
}

func newLadder(n int) *ladder {
	l := &ladder{best: make([]int, n+1)}
	for i := range l.best {
		l.best[i] = -1
	}
	return l
}

// before is the best way of the rows before row.
func (l *ladder) before(row int) int {
	best := -1
	for i := row; i > 0; i -= i & -i {
		best = l.better(best, l.best[i])
	}
	return best
}

func (l *ladder) better(a, b int) int {
	if a < 0 || b >= 0 && l.rungs[b].sum > l.rungs[a].sum {
		return b
	}
	return a
}

func (l *ladder) put(q likely) {
	r := rung{q, q.chance, l.before(q.Row)}
	if r.before >= 0 {
		r.sum += l.rungs[r.before].sum
	}
	at := len(l.rungs)
	l.rungs = append(l.rungs, r)
	for i := q.Row + 1; i < len(l.best); i += i & -i {
		l.best[i] = l.better(l.best[i], at)
	}
}
