package archive

import (
	"cmp"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/trace"
)

// rows are what is collected for the next row group.
type rows struct {
	n        int
	runs     []int     // by row, position in meta.Runs
	ints     [][]int64 // by column from colWindow on: stages and wall times too
	wall     []bool    // by row: is its wall time known
	epochs   []int64   // by row; 0: not known
	channels []channel
}

// channel are the samples of a side channel, by row.
type channel struct {
	rows   []int
	values []float64
	ready  []bool
}

// append collects the rows of a window and writes the row groups that fill up.
func (a *Writer) append(w *trace.Window) error {
	for len(a.rows.channels) < len(a.meta.Channels) {
		a.rows.channels = append(a.rows.channels, channel{})
	}
	side := make([][]trace.Sample, len(w.Side))
	for i, c := range w.Side {
		side[i] = c.SortedSamples()
	}
	for t := range w.Steps() {
		if a.rows.n > 0 && a.rows.n >= a.full() {
			if err := a.flush(); err != nil {
				return err
			}
		}
		a.step(w, t)
		for i, c := range w.Side {
			side[i] = a.sample(&a.rows.channels[a.index.channels[c.Name]], side[i], w.FirstStep+int64(t))
		}
		a.rows.n += len(w.Ranks)
	}
	return nil
}

// full returns how many rows make a row group.
func (a *Writer) full() int { return a.values / (1 + len(a.rows.ints) + 2*len(a.rows.channels)) }

// step collects the rows of one step.
func (a *Writer) step(w *trace.Window, t int) {
	R, d := len(w.Ranks), &a.rows
	run := a.index.runs[w.Run]
	add := func(column int, values ...int64) {
		d.ints[column-colWindow] = append(d.ints[column-colWindow], values...)
	}
	for at, r := range w.Ranks {
		d.epochs = append(d.epochs, w.EpochOf(at))
		d.runs = append(d.runs, run)
		add(colWindow, w.Index)
		add(colStep, w.FirstStep+int64(t))
		add(colRank, int64(r.ID))
		d.wall = append(d.wall, w.Wall != nil)
	}
	times := w.Step(t)
	for s := range w.Schema.Stages {
		add(firstStage+s, times[s*R:(s+1)*R]...)
	}
	if wall := firstStage + len(w.Schema.Stages); w.Wall != nil {
		add(wall, w.WallOf(t)...)
	} else {
		add(wall, make([]int64, R)...)
	}
}

// sample collects the samples of one step, whose rows come next, and gives
// those that are left.
func (a *Writer) sample(c *channel, samples []trace.Sample, step int64) []trace.Sample {
	for len(samples) > 0 && samples[0].Step == step {
		c.rows = append(c.rows, a.rows.n+samples[0].Rank)
		c.values = append(c.values, samples[0].Value)
		c.ready = append(c.ready, samples[0].Ready)
		samples = samples[1:]
	}
	return samples
}

// flush writes the collected rows as a row group. The first fixes the columns.
func (a *Writer) flush() error {
	if a.file == nil {
		a.file = a.newFile()
	}
	d := &a.rows
	out := a.file.ColumnWriters()
	put := func(column int, value func(row int) parquet.Value) error {
		var batch [512]parquet.Value
		for from := 0; from < d.n; from += len(batch) {
			n := min(len(batch), d.n-from)
			for i := range n {
				batch[i] = value(from + i)
			}
			if _, err := out[column].WriteRowValues(batch[:n]); err != nil {
				return err
			}
		}
		return nil
	}
	names := make([]parquet.Value, len(a.meta.Runs))
	for i, run := range a.meta.Runs {
		names[i] = parquet.ByteArrayValue([]byte(run))
	}
	err := put(colRun, func(row int) parquet.Value { return names[d.runs[row]] })
	last := len(d.ints) - 1
	for i, values := range d.ints[:last] {
		err = cmp.Or(err, put(colWindow+i, func(row int) parquet.Value { return parquet.Int64Value(values[row]) }))
	}
	wall := colWindow + last
	err = cmp.Or(err, put(wall, func(row int) parquet.Value {
		return optional(d.wall[row], wall, func() parquet.Value { return parquet.Int64Value(d.ints[last][row]) })
	}))
	for i := range d.channels {
		c, at := &d.channels[i], wall+1+2*i
		next := 0 // sample
		err = cmp.Or(err, put(at, func(row int) parquet.Value {
			return optional(next < len(c.rows) && c.rows[next] == row, at, func() parquet.Value { next++; return parquet.DoubleValue(c.values[next-1]) })
		}))
		next = 0
		err = cmp.Or(err, put(at+1, func(row int) parquet.Value {
			return optional(next < len(c.rows) && c.rows[next] == row, at+1, func() parquet.Value { next++; return parquet.BooleanValue(c.ready[next-1]) })
		}))
	}
	if at := wall + 1 + 2*len(d.channels); a.meta.Epochs {
		err = cmp.Or(err, put(at, func(row int) parquet.Value {
			return optional(d.epochs[row] != 0, at, func() parquet.Value { return parquet.Int64Value(d.epochs[row]) })
		}))
	}
	d.empty()
	return cmp.Or(err, a.file.Flush())
}

// optional returns a value of a nullable column, or null.
func optional(known bool, column int, value func() parquet.Value) parquet.Value {
	if !known {
		return parquet.NullValue().Level(0, 0, column)
	}
	return value().Level(0, 1, column)
}

// empty drops the rows and keeps their memory.
func (d *rows) empty() {
	d.n, d.runs, d.wall, d.epochs = 0, d.runs[:0], d.wall[:0], d.epochs[:0]
	for i := range d.ints {
		d.ints[i] = d.ints[i][:0]
	}
	for i, c := range d.channels {
		d.channels[i] = channel{rows: c.rows[:0], values: c.values[:0], ready: c.ready[:0]}
	}
}
