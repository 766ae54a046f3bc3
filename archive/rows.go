package archive

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/archive/internal/flat"
	"github.com/sfstat/sfstat/trace"
)

// begin fixes the stages.
func (a *Writer) begin(stages []string) {
	a.meta.Stages = append(a.meta.Stages, stages...)
	columns, names := stageColumns(stages)
	for _, c := range columns {
		a.file.Add(c)
	}
	a.names, a.columns = names, make([]flat.Data, len(columns))
}

// append collects the rows of a window and writes the row groups that fill up.
func (a *Writer) append(w *trace.Window) error {
	for _, name := range a.meta.Channels[len(a.channels):] {
		value, ready := channelColumns(a.names, name)
		a.file.Add(value)
		a.file.Add(ready)
		a.channels = append(a.channels, channel{})
	}
	side := sortedSide(w)
	a.reserve(w)
	for t := range w.Steps() {
		if a.rows > 0 && a.rows >= a.full() {
			if err := a.flush(); err != nil {
				return err
			}
		}
		a.step(w, t)
		for i, c := range w.Side {
			side[i] = a.sample(&a.channels[a.index.channels[c.Name]], side[i], w.FirstStep+int64(t))
		}
		a.rows += len(w.Ranks)
	}
	return nil
}

// full is how many rows make a row group.
func (a *Writer) full() int { return a.values / (len(a.columns) + 2*len(a.channels)) }

// reserve makes room for the window's rows, or a row group.
func (a *Writer) reserve(w *trace.Window) {
	n := min(w.Steps()*len(w.Ranks), max(0, a.full()-a.rows)+len(w.Ranks))
	for i := range a.columns {
		if c := &a.columns[i]; i == colRun {
			c.Index = slices.Grow(c.Index, n)
		} else {
			c.Ints = slices.Grow(c.Ints, n)
		}
	}
	wall := &a.columns[len(a.columns)-1]
	wall.Present = slices.Grow(wall.Present, n)
}

// step collects the rows of one step.
func (a *Writer) step(w *trace.Window, t int) {
	R, run := len(w.Ranks), &a.columns[colRun]
	name := slices.Index(run.Strings, w.Run)
	if name < 0 {
		name = len(run.Strings)
		run.Strings = append(run.Strings, w.Run)
	}
	window, step, rank := &a.columns[colWindow], &a.columns[colStep], &a.columns[colRank]
	for _, r := range w.Ranks {
		run.Index = append(run.Index, uint32(name))
		window.Ints = append(window.Ints, w.Index)
		step.Ints = append(step.Ints, w.FirstStep+int64(t))
		rank.Ints = append(rank.Ints, int64(r.ID))
	}
	times := w.Step(t)
	for s := range w.Schema.Stages {
		c := &a.columns[firstStage+s]
		c.Ints = append(c.Ints, times[s*R:(s+1)*R]...)
	}
	wall := &a.columns[len(a.columns)-1]
	wall.Ints = append(wall.Ints, w.WallOf(t)...)
	for range R {
		wall.Present = append(wall.Present, w.Wall != nil)
	}
}

// sample collects the samples of one step, whose rows come next, and gives
// those that are left.
func (a *Writer) sample(c *channel, samples []trace.Sample, step int64) []trace.Sample {
	for len(samples) > 0 && samples[0].Step == step {
		c.rows = append(c.rows, a.rows+samples[0].Rank)
		c.values = append(c.values, samples[0].Value)
		c.ready = append(c.ready, samples[0].Ready)
		samples = samples[1:]
	}
	return samples
}

// sortedSide is the samples of every channel in the order of the rows.
func sortedSide(w *trace.Window) [][]trace.Sample {
	side := make([][]trace.Sample, len(w.Side))
	for i, c := range w.Side {
		side[i] = c.Samples
		if !slices.IsSortedFunc(c.Samples, bySample) {
			side[i] = slices.SortedFunc(slices.Values(c.Samples), bySample)
		}
	}
	return side
}

func bySample(a, b trace.Sample) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
}

// flush writes the collected rows as a row group.
func (a *Writer) flush() error {
	if a.rows == 0 {
		return nil
	}
	data := slices.Clone(a.columns)
	if wall := &data[len(data)-1]; len(wall.Ints) == a.rows {
		wall.Present = nil
	}
	for i := range a.channels {
		c := &a.channels[i]
		present := make([]bool, a.rows)
		for _, row := range c.rows {
			present[row] = true
		}
		data = append(data, flat.Data{Present: present, Doubles: c.values}, flat.Data{Present: present, Bools: c.ready})
	}
	err := a.file.Group(a.rows, data)
	a.rows = 0
	for i := range a.columns {
		d := &a.columns[i]
		*d = flat.Data{Present: d.Present[:0], Ints: d.Ints[:0], Strings: d.Strings[:0], Index: d.Index[:0]}
	}
	for i := range a.channels {
		c := &a.channels[i]
		*c = channel{rows: c.rows[:0], values: c.values[:0], ready: c.ready[:0]}
	}
	return err
}
