package archive

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// groupValues is how many values are collected before a row group is written, eight bytes of memory each.
const groupValues = 4 << 20

// Writer writes windows into one archive. Nothing that it has written can be
// read before Close has succeeded.
type Writer struct {
	out    io.Writer
	file   *parquet.GenericWriter[any] // nil before the first row group is full
	values int                         // in a row group
	meta   meta
	index  index
	begun  bool // the stages are fixed
	rows   rows
	err    error // of the output: it ends the file
}

// index finds what the metadata already list.
type index struct {
	runs, channels, cohorts, forms map[string]int
	last                           *trace.Window // whose cohort is the newest; only Ranks and WorldSize
	lastCohort                     int
}

// NewWriter begins an archive.
func NewWriter(w io.Writer) *Writer {
	a := &Writer{out: w, values: groupValues, meta: meta{Format: Format, Runs: []string{}, Stages: []string{},
		Cohorts: list[cohort]{}, Forms: list[form]{}, Windows: list[position]{}}}
	a.index = index{runs: map[string]int{}, channels: map[string]int{}, cohorts: map[string]int{}, forms: map[string]int{}}
	return a
}

// begin fixes the stages.
func (a *Writer) begin(stages []string) {
	a.begun, a.meta.Stages = true, append(a.meta.Stages, stages...)
	a.rows.ints = make([][]int64, firstStage-colWindow+len(stages)+1)
}

// Write appends a window. One that cannot be archived is refused and leaves
// the archive as it was: an invalid one, one with other stages
// (ErrSchemaChanged), names that are not UTF-8, two samples of a side channel
// for one step and rank.
func (a *Writer) Write(w *trace.Window) error {
	w = w.Consecutive()
	if a.err != nil {
		return a.err
	}
	if err := a.accept(w); err != nil {
		return err
	}
	if !a.begun {
		a.begin(w.Schema.Stages)
	}
	a.err = a.append(w)
	return a.err
}

// Close writes the rest and the footer. It does not close the output.
func (a *Writer) Close() error {
	if a.err != nil {
		return a.err
	}
	if !a.begun {
		a.begin(nil)
	}
	if a.err = a.flush(); a.err != nil {
		return a.err
	}
	text, sum, err := a.meta.encode()
	if err == nil {
		a.file.SetKeyValueMetadata(Key, text)
		a.file.SetKeyValueMetadata(sumKey, sum)
		err = a.file.Close()
	}
	a.err = err
	return err
}

// MostChannels is how many side channels an archive has at most: two columns each, with some 30 kB of memory.
const MostChannels = 1024

// accept checks a window and registers it in the metadata.
func (a *Writer) accept(w *trace.Window) error {
	if err := w.Storable(); err != nil {
		return err
	}
	if a.begun && !slices.Equal(a.meta.Stages, w.Schema.Stages) {
		return input.Bad(ErrSchemaChanged, "window %d of run %q has stages %q, this archive has %q: write it to another file",
			w.Index, w.Run, w.Schema.Stages, a.meta.Stages)
	}
	fresh := 0
	for _, c := range w.Side {
		if _, known := a.index.channels[c.Name]; known {
			continue
		}
		if fresh++; a.file != nil {
			return input.Bad(ErrSchemaChanged, "window %d of run %q has the side channel %q, which the first %d of this archive have not: write it to another file",
				w.Index, w.Run, c.Name, len(a.meta.Windows))
		}
	}
	if n := len(a.index.channels) + fresh; fresh > 0 && n > MostChannels {
		return input.Bad(ErrSchemaChanged, "with window %d of run %q there are %d side channels, an archive has %d at most: write it to another file", w.Index, w.Run, n, MostChannels)
	}
	if w.Epochs != nil && !a.meta.Epochs && a.file != nil {
		return input.Bad(ErrSchemaChanged, "window %d of run %q says when it began, none of the first ones of this archive did: write it to another file", w.Index, w.Run)
	}
	return a.register(w)
}

// register enters a window into the metadata.
func (a *Writer) register(w *trace.Window) error {
	f := newForm(w)
	f.GatherFailed = slices.Clone(f.GatherFailed) // the caller's may change
	cohort, err := a.cohort(w)
	if err != nil {
		return err
	}
	f.Cohort = cohort
	f.Run = a.index.number(a.index.runs, w.Run, func() { a.meta.Runs = append(a.meta.Runs, w.Run) })
	for _, c := range w.Side {
		f.Channels = append(f.Channels, a.index.number(a.index.channels, c.Name, func() { a.meta.Channels = append(a.meta.Channels, c.Name) }))
	}
	key, err := json.Marshal(f)
	if err != nil {
		return err
	}
	n := a.index.number(a.index.forms, string(key), func() { a.meta.Forms = append(a.meta.Forms, f) })
	a.meta.Windows = append(a.meta.Windows, position{int64(n), w.Index, w.FirstStep})
	a.meta.Epochs = a.meta.Epochs || w.Epochs != nil
	a.meta.Arrivals = a.meta.Arrivals || len(w.Arrivals) > 0
	return nil
}

// number returns the position of key in a list, which add extends when it is new.
func (index) number(known map[string]int, key string, add func()) int {
	n, ok := known[key]
	if !ok {
		n = len(known)
		known[key] = n
		add()
	}
	return n
}

// cohort returns the position of the window's cohort.
func (a *Writer) cohort(w *trace.Window) (int, error) {
	x := &a.index
	same := func(a, b trace.Rank) bool {
		return a.ID == b.ID && a.Host == b.Host && a.LocalRank == b.LocalRank && slices.Equal(a.Role, b.Role)
	}
	if x.last != nil && x.last.WorldSize == w.WorldSize && slices.EqualFunc(x.last.Ranks, w.Ranks, same) {
		return x.lastCohort, nil
	}
	c := newCohort(w)
	key, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	x.lastCohort = x.number(x.cohorts, string(key), func() { a.meta.Cohorts = append(a.meta.Cohorts, c) })
	x.last = &trace.Window{WorldSize: w.WorldSize, Ranks: slices.Clone(w.Ranks)}
	for i := range x.last.Ranks {
		x.last.Ranks[i].Role = slices.Clone(x.last.Ranks[i].Role)
	}
	return x.lastCohort, nil
}
