package align

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
)

// decode is the alignment with the largest sum of posteriors (posterior decoding): in expectation no other has more pairs
// right.
func decode(f *field) []likely {
	l := newPrefixMax(f.n)
	for j := range len(f.scale) {
		column := f.column(j)
		for i := f.n - 1; i >= 0; i-- { // so that no two of one kernel follow one another
			if column[i] >= leastChance/4 {
				l.put(likely{needleman.Pair{Row: i, Column: j}, column[i]})
			}
		}
	}
	var out []likely
	for k := l.before(f.n); k >= 0; k = l.entries[k].before {
		if l.entries[k].chance >= leastChance {
			out = append(out, l.entries[k].likely)
		}
	}
	slices.Reverse(out)
	return out
}

// prefixMax keeps the best path that ends in a row or before it (Fenwick 1994, Softw. Pract. Exp. 24:327–336).
type prefixMax struct {
	entries []entry
	best    []int // of entries; −1 for none
}

// entry is a pair and the best path to it.
type entry struct {
	likely
	sum    float64
	before int
}

func newPrefixMax(n int) *prefixMax {
	l := &prefixMax{best: make([]int, n+1)}
	for i := range l.best {
		l.best[i] = -1
	}
	return l
}

// before is the best path of the rows before row.
func (l *prefixMax) before(row int) int {
	best := -1
	for i := row; i > 0; i -= i & -i {
		best = l.better(best, l.best[i])
	}
	return best
}

func (l *prefixMax) better(a, b int) int {
	if a < 0 || b >= 0 && l.entries[b].sum > l.entries[a].sum {
		return b
	}
	return a
}

func (l *prefixMax) put(q likely) {
	r := entry{q, q.chance, l.before(q.Row)}
	if r.before >= 0 {
		r.sum += l.entries[r.before].sum
	}
	at := len(l.entries)
	l.entries = append(l.entries, r)
	for i := q.Row + 1; i < len(l.best); i += i & -i {
		l.best[i] = l.better(l.best[i], at)
	}
}
