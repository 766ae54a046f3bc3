package csv

import (
	"bufio"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// ErrSchemaChanged is in the error of Write for a window whose stages or side
// channels are not among those of the header. The window belongs into another
// file; the writer goes on.
var ErrSchemaChanged = errors.New("other columns than the table has")

// Writer writes windows as one wide CSV, rows by step and rank, separated by commas. The header is that of the first
// window. Reading them returns the same windows, except for notes of the first reading, gather failures of ranks without
// rows, and side channels without samples.
type Writer struct {
	w        *bufio.Writer
	stages   []string
	channels []string
	before   []byte   // run and window, of every row
	middle   [][]byte // of every rank: its number and the world size
	after    [][]byte // of every rank: host to data_wait
	row      []byte
	err      error
}

// NewWriter writes to w. Close must be called; it does not close w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 1<<16)} }

// Write writes the rows of a window. A window that cannot be written is
// refused and leaves the table as it was.
func (c *Writer) Write(w *trace.Window) error {
	w = w.Consecutive()
	if c.err != nil {
		return c.err
	}
	if err := c.accept(w); err != nil {
		return err
	}
	if c.stages == nil {
		c.header(w)
	}
	c.attributes(w)
	side, channels := make([][]trace.Sample, len(c.channels)), w.Side
	for _, ch := range channels {
		side[slices.Index(c.channels, ch.Name)] = ch.SortedSamples()
	}
	for t := range w.Steps() {
		c.step(w, t, side)
	}
	return c.err
}

// Close writes what is buffered.
func (c *Writer) Close() error {
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

// accept refuses what the table cannot hold.
func (c *Writer) accept(w *trace.Window) error {
	if err := w.Storable(); err != nil {
		return err
	}
	if c.stages != nil && !slices.Equal(c.stages, w.Schema.Stages) {
		return input.Bad(ErrSchemaChanged, "window %d of run %q has stages %q, this table has %q: write it to another file", w.Index, w.Run, w.Schema.Stages, c.stages)
	}
	names := append([]string{w.Run}, w.Schema.Stages...)
	for _, r := range w.Ranks {
		names = append(names, r.Host, r.Role.String())
		if r.LocalRank < -1 {
			return input.Bad(input.ErrNegative, "rank %d has the local rank %d", r.ID, r.LocalRank)
		}
	}
	for _, ch := range w.Side {
		names = append(names, ch.Name)
		if c.stages != nil && !slices.Contains(c.channels, ch.Name) {
			return input.Bad(ErrSchemaChanged, "window %d of run %q has the side channel %q, this table has %q: write it to another file", w.Index, w.Run, ch.Name, c.channels)
		}
	}
	if w.Index == math.MinInt64 || w.FirstStep > maxStep {
		return input.Bad(input.ErrOverflow, "window %d, first step %d", w.Index, w.FirstStep)
	}
	for _, name := range names {
		if strings.Contains(name, "\r") {
			return input.Bad(input.ErrFormat, "the name %q has a carriage return, a table cannot hold it", name)
		}
	}
	return nil
}

// header writes the header. Columns are named as they are, unless the header
// would then mean something else.
func (c *Writer) header(w *trace.Window) {
	c.stages = slices.Clone(w.Schema.Stages)
	for _, ch := range w.Side {
		c.channels = append(c.channels, ch.Name)
	}
	names := c.names("", "", "", readySuffix)
	if l, err := newLayout(names, Unsaid, nil); err != nil || !slices.Equal(l.stages, c.stages) || !slices.Equal(l.channels, c.channels) {
		names = c.names(prefixStage, prefixSide, prefixReady, "")
	}
	for i, name := range names {
		if i > 0 {
			c.row = append(c.row, ',')
		}
		c.row = appendText(c.row, name)
	}
	c.flush()
}

func (c *Writer) names(stage, side, ready, suffix string) []string {
	names := []string{"run", "window", "step", "rank", "world_size"}
	for _, s := range c.stages {
		names = append(names, stage+s)
	}
	names = append(names, "wall_ns", "host", "local_rank", "role", "accumulation", "gather_ok", "data_wait")
	for _, ch := range c.channels {
		names = append(names, side+ch, ready+ch+suffix)
	}
	return names
}

// attributes prepares the cells that are the same in all rows of a rank.
func (c *Writer) attributes(w *trace.Window) {
	c.before = append(strconv.AppendInt(append(appendText(c.before[:0], w.Run), ','), w.Index, 10), ',')
	c.middle = slices.Grow(c.middle[:0], len(w.Ranks))[:len(w.Ranks)]
	c.after = slices.Grow(c.after[:0], len(w.Ranks))[:len(w.Ranks)]
	for i, r := range w.Ranks {
		b := strconv.AppendInt(append(c.middle[i][:0], ','), int64(r.ID), 10)
		c.middle[i] = strconv.AppendInt(append(b, ','), int64(w.WorldSize), 10)
		b = append(appendText(append(c.after[i][:0], ','), r.Host), ',')
		if r.LocalRank >= 0 {
			b = strconv.AppendInt(b, int64(r.LocalRank), 10)
		}
		b = append(appendText(append(b, ','), r.Role.EscapedString()), ',')
		b = append(strconv.AppendInt(b, int64(w.Accumulation), 10), ',')
		b = append(strconv.AppendBool(b, !slices.Contains(w.GatherFailed, r.ID)), ',')
		c.after[i] = append(b, w.DataWait.String()...)
	}
}

// step writes the rows of one step; side holds the samples that are left.
func (c *Writer) step(w *trace.Window, t int, side [][]trace.Sample) {
	times, wall, R := w.Step(t), w.WallOf(t), len(w.Ranks)
	step := w.FirstStep + int64(t)
	for r := range w.Ranks {
		c.row = append(strconv.AppendInt(append(c.row, c.before...), step, 10), c.middle[r]...)
		for s := range c.stages {
			c.row = strconv.AppendInt(append(c.row, ','), times[s*R+r], 10)
		}
		if c.row = append(c.row, ','); wall != nil {
			c.row = strconv.AppendInt(c.row, wall[r], 10)
		}
		c.row = append(c.row, c.after[r]...)
		for i, left := range side {
			if c.row = append(c.row, ','); len(left) == 0 || left[0].Step != step || left[0].Rank != r {
				c.row = append(c.row, ',')
				continue
			}
			c.row = append(strconv.AppendFloat(c.row, left[0].Value, 'g', -1, 64), ',')
			c.row = strconv.AppendBool(c.row, left[0].Ready)
			side[i] = left[1:]
		}
		c.flush()
	}
}

// flush ends a row.
func (c *Writer) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(append(c.row, '\n'))
	}
	c.row = c.row[:0]
}

// appendText appends a cell, in quotes where it needs them.
func appendText(b []byte, s string) []byte {
	if s == strings.TrimSpace(s) && !strings.ContainsAny(s, ",;\t\"\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
