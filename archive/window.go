package archive

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// readAhead is windows that were read together, and the error of the one behind them.
type readAhead struct {
	windows []*trace.Window
	err     error
}

// together is how many values are read at a time, at least, where columns are read side by side: what starting
// threads costs is little beside them.
const together = 1 << 17

// readNext reads the next windows: one, or as many as are read together.
func (a *Reader) readNext() readAhead {
	var list []*table
	var out readAhead
	for values := 0; a.next < len(a.meta.Windows) && (len(list) == 0 || a.beside > 0 && values < together); {
		t, err := a.begin()
		if err == nil {
			err = t.readKeys(&a.columns)
		}
		if err != nil {
			out.err = a.placeError(err)
			break
		}
		list = append(list, t)
		values += t.rows * (1 + len(a.columns.stages))
	}
	if len(list) == 0 && out.err == nil {
		out.err = io.EOF
	}
	a.readColumns(list)
	for _, t := range list {
		err := cmp.Or(t.failed...)
		if err == nil {
			err = t.w.Validate()
		}
		if err != nil {
			out.err = a.placeError(err)
			break
		}
		out.windows = append(out.windows, t.w)
	}
	return out
}

// placeError returns an error in the file.
func (a *Reader) placeError(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the rows were counted
	}
	return a.place(err)
}

// readColumns reads the columns of windows whose keys were read, column by column. In a column nothing is
// read behind what is broken.
func (a *Reader) readColumns(list []*table) {
	c := &a.columns
	reads := make([]func(*table) error, 0, len(c.stages)+2)
	for s, cursor := range c.stages {
		reads = append(reads, func(t *table) error {
			R := len(t.w.Ranks)
			return t.readTimes(cursor, t.w.Durations[s*R:], len(c.stages)*R)
		})
	}
	reads = append(reads, func(t *table) error { return t.readWall(c.wall) }, func(t *table) error {
		if c.epochs != nil {
			if err := t.readEpochs(c.epochs); err != nil {
				return err
			}
		}
		return t.readSide(c, t.form)
	})
	for _, t := range list {
		t.failed = make([]error, len(reads))
	}
	parallel.Do(len(reads), max(1, a.beside), func(i int) {
		for _, t := range list {
			if t.failed[i] = reads[i](t); t.failed[i] != nil {
				return
			}
		}
	})
}

// begin takes the next window from the metadata, or the next steps of one that is too large to be held, with room for
// their times.
func (a *Reader) begin() (*table, error) {
	p := a.meta.Windows[a.next]
	f := a.meta.Forms[p[0]]
	w := &trace.Window{Run: a.meta.Runs[f.Run], Index: p[1], FirstStep: p[2], Accumulation: f.Accumulation,
		WorldSize: a.meta.Cohorts[f.Cohort].WorldSize, Schema: trace.Schema{Stages: slices.Clone(a.meta.Stages)},
		GatherFailed: slices.Clone(f.GatherFailed)}
	var err error
	if w.Ranks, err = a.ranksOf(f.Cohort); err != nil {
		return nil, err
	}
	if w.DataWait, err = trace.ParseDataWait(f.DataWait); err != nil {
		return nil, err
	}
	if w.FirstStep < 0 || w.FirstStep > math.MaxInt64-int64(f.Steps) {
		return nil, input.Bad(input.ErrOverflow, "window %d of run %q has first step %d", w.Index, w.Run, w.FirstStep)
	}
	if a.taken == 0 {
		w.Notes = append(w.Notes, f.Notes...)
	}
	steps, err := a.stretch(w, f.Steps)
	if err != nil {
		return nil, err
	}
	w.FirstStep += int64(a.taken)
	rows := steps * len(w.Ranks)
	w.Durations = ingest.Times(rows * len(a.meta.Stages))
	if !f.NoWall {
		w.Wall = ingest.Times(rows)
	}
	t := &table{w: w, form: f, rows: rows, first: a.row, channels: a.meta.Channels, found: &a.found}
	a.row += int64(rows)
	if a.taken += steps; a.taken == f.Steps {
		a.next, a.taken = a.next+1, 0
	}
	return t, nil
}

// stretch returns how many steps of a window are read next: what is left of it, or of a window whose times take more than
// may be held a part, so that all parts are about as long.
func (a *Reader) stretch(w *trace.Window, all int) (int, error) {
	step := 8 * int64(len(w.Ranks)) * (int64(len(a.meta.Stages)) + 1) // bytes
	most := min(a.lim.Pending, max(windowFree, windowFold*a.size))
	switch {
	case int64(all) <= most/step:
		return all, nil
	case step > most || int64(all) > a.lim.Table/step:
		return 0, input.Bad(input.ErrTooLarge, "window %d of run %q has %d steps × %d ranks × %d stages, over the limit of %d bytes",
			w.Index, w.Run, all, len(w.Ranks), len(a.meta.Stages), a.lim.Table)
	}
	per := max(1, most/windowParts/step)
	parts := (int64(all) + per - 1) / per
	per = (int64(all) + parts - 1) / parts
	return int(min(per, int64(all-a.taken))), nil
}

// ranksOf returns the ranks of a cohort. Their roles are shared: nobody changes one.
func (a *Reader) ranksOf(cohort int) ([]trace.Rank, error) {
	if a.ranks == nil || a.cohort != cohort {
		ranks, err := a.meta.Cohorts[cohort].ranks()
		if err != nil {
			return nil, err
		}
		a.ranks, a.cohort = ranks, cohort
	}
	return slices.Clone(a.ranks), nil
}

// table is the rows of a window while they are read.
type table struct {
	w     *trace.Window
	form  form
	rows  int
	first int64 // row of the file that is the window's first
	// channels are the names of the file's side channels.
	channels []string
	found    *channelSamples
	failed   []error // by column
}

// readWall reads the wall times. Where the window has none, they are passed over.
func (t *table) readWall(c *parquet.Cursor) error {
	if t.form.NoWall {
		return t.eachRun(c, func(int, parquet.Run) error { return nil })
	}
	R := len(t.w.Ranks)
	return t.readTimes(c, t.w.Wall, R)
}

// readEpochs takes the epochs of the window from its first step.
func (t *table) readEpochs(c *parquet.Cursor) error {
	R := len(t.w.Ranks)
	return t.eachRun(c, func(row int, v parquet.Run) error {
		for i, began := range v.Values {
			at := row + v.Row(i)
			if at >= R {
				return nil
			}
			if t.w.Epochs == nil && began != 0 {
				t.w.Epochs = make([]int64, R)
			}
			if began != 0 {
				t.w.Epochs[at] = began
			}
		}
		return nil
	})
}

// eachRun calls fn with all rows of the window in a column, in runs; row is the
// window's own number of the first of each.
func (t *table) eachRun(c *parquet.Cursor, fn func(row int, v parquet.Run) error) error {
	for row := 0; row < t.rows; {
		v, err := c.Next(t.rows - row)
		if err != nil {
			return err
		}
		if err := fn(row, v); err != nil {
			return input.At(c.Pos(), err)
		}
		row += v.Rows
	}
	return nil
}

// values calls each for a column that must not have nulls.
func (t *table) values(c *parquet.Cursor, fn func(row int, v []int64) error) error {
	return t.eachRun(c, func(row int, v parquet.Run) error {
		if v.At == nil {
			return fn(row, v.Values)
		}
		null := 0
		for null < len(v.At) && int(v.At[null]) == null {
			null++
		}
		return input.Bad(input.ErrMissing, "row %d is null", t.first+int64(row+null))
	})
}

// readTimes copies a column of durations into dst, where each step has R
// values and the next step follows after stride.
func (t *table) readTimes(c *parquet.Cursor, dst []int64, stride int) error {
	R := len(t.w.Ranks)
	return t.values(c, func(row int, v []int64) error {
		// Divided once: a step is few values.
		from, rank := row/R*stride, row%R
		for len(v) > 0 {
			n := copy(dst[from+rank:from+R], v)
			from, rank, v = from+stride, 0, v[n:]
		}
		return nil
	})
}

// readSide reads the samples of all channels. Columns of channels that the
// window has not are read too: all cursors stay at one row.
func (t *table) readSide(c *columns, f form) error {
	side := make([]trace.SideChannel, len(c.values))
	for i := range side {
		samples, err := t.readChannel(c.values[i], c.ready[i])
		if err != nil {
			return err
		}
		side[i].Samples = samples
	}
	for _, i := range f.Channels {
		t.w.Side = append(t.w.Side, trace.SideChannel{Name: t.channels[i], Samples: side[i].Samples})
		side[i].Samples = nil
	}
	for i, c := range side {
		if c.Samples != nil {
			return input.Bad(input.ErrFormat, "window %d of run %q has samples of channel %q, which it has not by its metadata", t.w.Index, t.w.Run, t.channels[i])
		}
	}
	return nil
}

// channelSamples are the rows of a window that have a sample of a channel, and the samples.
type channelSamples struct {
	rows   []int
	values []float64
}

// readChannel reads one channel's values and which of them are ready.
func (t *table) readChannel(values, ready *parquet.Cursor) ([]trace.Sample, error) {
	rows, known := t.found.rows[:0], t.found.values[:0]
	err := t.eachRun(values, func(row int, v parquet.Run) error {
		for i, bits := range v.Values {
			rows, known = append(rows, row+v.Row(i)), append(known, math.Float64frombits(uint64(bits)))
		}
		return nil
	})
	t.found.rows, t.found.values = rows, known
	if err != nil {
		return nil, err
	}
	var samples []trace.Sample
	if len(rows) > 0 {
		samples = ingest.Samples(len(rows))
	}
	R := len(t.w.Ranks)
	for i, row := range rows {
		samples = append(samples, trace.Sample{Step: t.w.FirstStep + int64(row/R), Rank: row % R, Value: known[i]})
	}
	next := 0
	err = t.eachRun(ready, func(row int, v parquet.Run) error {
		for i, bit := range v.Values {
			if next == len(samples) || rows[next] != row+v.Row(i) {
				return input.Bad(input.ErrRagged, "row %d says whether a sample is ready, or the one before it lacks that", t.first+int64(row+v.Row(i)))
			}
			samples[next].Ready = bit != 0
			next++
		}
		return nil
	})
	if err == nil && next < len(samples) {
		err = input.At(ready.Pos(), input.Bad(input.ErrRagged, "%d samples, of %d it is said whether they are ready", len(samples), next))
	}
	return samples, err
}
