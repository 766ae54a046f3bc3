package archive

import (
	"slices"

	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// readKeys checks that the rows are those of the window, each once, and notes
// their order.
func (t *table) readKeys(c *columns) error {
	w, R := t.w, len(t.w.Ranks)
	foreign := func(row, i int, what string, got any) error {
		return input.Bad(input.ErrFormat, "row %d has %s %v among the rows of window %d of run %q: sort the table by window, step and rank, or convert it again",
			t.first+int64(row+i), what, got, w.Index, w.Run)
	}
	err := t.values(c.run, func(row int, v []int64) error {
		known, names := int64(-1), c.run.Strings()
		for i, x := range v {
			if x != known {
				if names[x] != w.Run {
					return foreign(row, i, "run", parquet.Printable(names[x]))
				}
				known = x
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = t.values(c.window, func(row int, v []int64) error {
		for i, x := range v {
			if x != w.Index {
				return foreign(row, i, "window", x)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	k := &keys{table: t, ids: make([]int64, R)}
	for r, rank := range w.Ranks {
		k.ids[r] = int64(rank.ID)
	}
	if err := t.values(c.step, k.steps); err != nil {
		return err
	}
	if err := t.values(c.rank, k.ranks); err != nil {
		return err
	}
	return k.finish()
}

// keys finds the order of a window's rows. Rows in the writer's order, the
// usual case, cost a comparison; others are kept and sorted out in finish.
type keys struct {
	*table
	ids  []int64 // of the ranks
	step []int   // of every row, once one is out of order
	rank []int64
}

func (k *keys) steps(row int, v []int64) error {
	R := len(k.ids)
	if k.step == nil && k.inStep(row, v) {
		return nil
	}
	if k.step == nil {
		k.step = make([]int, row, k.rows)
		for j := range k.step {
			k.step[j] = j / R
		}
	}
	for i, x := range v {
		t := x - k.w.FirstStep
		if t < 0 || t >= int64(k.rows/R) {
			return input.Bad(input.ErrFormat, "row %d has step %d, the window has %d to %d", k.first+int64(row+i), x, k.w.FirstStep, k.w.FirstStep+int64(k.rows/R)-1)
		}
		k.step = append(k.step, int(t))
	}
	return nil
}

// inStep reports whether the steps are those that the writer writes from row on.
func (k *keys) inStep(row int, v []int64) bool {
	R := len(k.ids)
	want, n := k.w.FirstStep+int64(row/R), R-row%R
	for len(v) > 0 {
		n = min(n, len(v))
		for _, x := range v[:n] {
			if x != want {
				return false
			}
		}
		want, v, n = want+1, v[n:], R
	}
	return true
}

func (k *keys) ranks(row int, v []int64) error {
	if k.rank == nil && k.inRank(row, v) {
		return nil
	}
	if k.rank == nil {
		k.rank = make([]int64, row, k.rows)
		for j := range k.rank {
			k.rank[j] = k.ids[j%len(k.ids)]
		}
	}
	k.rank = append(k.rank, v...)
	return nil
}

// inRank is inStep for the ranks.
func (k *keys) inRank(row int, v []int64) bool {
	want := k.ids[row%len(k.ids):]
	for len(v) > 0 {
		n := min(len(want), len(v))
		if !slices.Equal(want[:n], v[:n]) {
			return false
		}
		want, v = k.ids, v[n:]
	}
	return true
}

// finish makes the order of rows that are not in the writer's.
func (k *keys) finish() error {
	if k.step == nil && k.rank == nil {
		return nil
	}
	R := len(k.ids)
	column := make(map[int64]int, R)
	for r, id := range k.ids {
		column[id] = r
	}
	order, seen := make([]int, k.rows), make([]bool, k.rows)
	for i := range order {
		t, id := i/R, k.ids[i%R]
		if k.step != nil {
			t = k.step[i]
		}
		if k.rank != nil {
			id = k.rank[i]
		}
		r, ok := column[id]
		if !ok {
			return input.Bad(input.ErrFormat, "row %d has rank %d, which the window has not", k.first+int64(i), id)
		}
		at := t*R + r
		if seen[at] {
			return input.Bad(input.ErrDuplicate, "row %d is step %d, rank %d of window %d a second time", k.first+int64(i), k.w.FirstStep+int64(t), id, k.w.Index)
		}
		seen[at] = true
		order[i] = at
	}
	k.order = order
	return nil
}
