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
	R := len(ids)
	for _, key := range []struct {
		name   string
		column *parquet.Cursor
		want   func(row int) int64
	}{
		{"window", c.window, func(int) int64 { return w.Index }},
		{"step", c.step, func(row int) int64 { return w.FirstStep + int64(row/R) }},
		{"rank", c.rank, func(row int) int64 { return ids[row%R] }},
	} {
		if err != nil {
			return err
		}
		err = t.values(key.column, func(row int, v []int64) error {
			for i, x := range v {
				if x != key.want(row+i) {
					return foreign(row+i, key.name, x)
				}
			}
			return nil
		})
	}
	return err
}
