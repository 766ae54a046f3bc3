package archive

import (
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// readKeys checks that the rows are those of the window, by step and rank.
func (t *table) readKeys(c *columns) error {
	w := t.w
	foreign := func(row int, what string, got any) error {
		return input.Bad(input.ErrFormat, "row %d has %s %v among the rows of window %d of run %q: sort the table by window, step and rank, or convert it again",
			t.first+int64(row), what, got, w.Index, w.Run)
	}
	err := t.values(c.run, func(row int, v []int64) error {
		known, names := int64(-1), c.run.Strings()
		for i, x := range v {
			if x != known {
				if names[x] != w.Run {
					return foreign(row+i, "run", parquet.Printable(names[x]))
				}
				known = x
			}
		}
		return nil
	})
	ids := make([]int64, len(w.Ranks))
	for r, rank := range w.Ranks {
		ids[r] = int64(rank.ID)
	}
	for _, key := range []struct {
		name   string
		column *parquet.Cursor
		alike  func(row int, v []int64) int // how many of them are what the writer writes from row on
	}{
		{"window", c.window, func(_ int, v []int64) int { return equal(v, w.Index) }},
		{"step", c.step, func(row int, v []int64) int { return inSteps(v, w.FirstStep, len(ids), row) }},
		{"rank", c.rank, func(row int, v []int64) int { return inRanks(v, ids, row) }},
	} {
		if err != nil {
			return err
		}
		err = t.values(key.column, func(row int, v []int64) error {
			if n := key.alike(row, v); n < len(v) {
				return foreign(row+n, key.name, v[n])
			}
			return nil
		})
	}
	return err
}

// equal is how many values are the same at the beginning.
func equal(v []int64, want int64) int {
	for i, x := range v {
		if x != want {
			return i
		}
	}
	return len(v)
}

// inSteps is how many values are the steps from first on, each so many times, from a row on.
func inSteps(v []int64, first int64, each, row int) int {
	want, left := first+int64(row/each), each-row%each
	for i, x := range v {
		if x != want {
			return i
		}
		if left--; left == 0 {
			want, left = want+1, each
		}
	}
	return len(v)
}

// inRanks is how many values are the ranks, again and again, from a row on.
func inRanks(v, ids []int64, row int) int {
	at := row % len(ids)
	for i, x := range v {
		if x != ids[at] {
			return i
		}
		if at++; at == len(ids) {
			at = 0
		}
	}
	return len(v)
}
