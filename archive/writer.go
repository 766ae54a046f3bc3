package archive

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/sfstat/sfstat/archive/internal/flat"
	"github.com/sfstat/sfstat/trace"
)

// Encodings is a choice of Parquet's encodings.
type Encodings uint8

const (
	// Portable archives are read by programs of 2023 and later.
	Portable Encodings = iota
	// Compact archives use BYTE_STREAM_SPLIT for INT64, which Parquet has since
	// 2024, and are 5 to 12 % smaller. DuckDB before 2.0 cannot read them.
	Compact
)

// Options change how a Writer works. The zero value means the defaults.
type Options struct {
	// Encodings is how far back programs shall be able to read the file.
	Encodings Encodings
	// GroupValues is how many values are collected before a row group is
	// written, eight bytes of memory each; 4 Mi when it is 0.
	GroupValues int
}

// Writer writes windows into one archive. Nothing that it has written can be
// read before Close has succeeded.
type Writer struct {
	file   *flat.Writer
	values int // in a row group
	meta   meta
	index  index
	names  namer

	rows     int // collected for the next row group
	columns  []flat.Data
	channels []channel
	err      error // of the output: it ends the file
}

// channel are the samples of a side channel in the next row group, by row.
type channel struct {
	rows   []int
	values []float64
	ready  []bool
}

// index finds what the metadata already list.
type index struct {
	runs, channels, cohorts, forms map[string]int
	last                           *trace.Window // whose cohort is the newest; only Ranks and WorldSize
	lastCohort                     int
}

// NewWriter begins an archive. At most one Options is given.
func NewWriter(w io.Writer, options ...Options) (*Writer, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	use := flat.Portable
	if o.Encodings == Compact {
		use = flat.Smallest
	}
	file, err := flat.NewWriter(w, use)
	if err != nil {
		return nil, err
	}
	if o.GroupValues <= 0 {
		o.GroupValues = 4 << 20
	}
	a := &Writer{file: file, values: o.GroupValues, meta: meta{Format: Format, Runs: []string{}, Stages: []string{},
		Cohorts: list[cohort]{}, Forms: list[form]{}, Windows: list[position]{}}}
	a.index = index{runs: map[string]int{}, channels: map[string]int{}, cohorts: map[string]int{}, forms: map[string]int{}}
	return a, nil
}

// Write appends a window. One that cannot be archived is refused and leaves
// the archive as it was: an invalid one, one with other stages
// (ErrSchemaChanged), names that are not UTF-8, two samples of a side channel
// for one step and rank.
func (a *Writer) Write(w *trace.Window) error {
	if a.err != nil {
		return a.err
	}
	if err := a.accept(w); err != nil {
		return err
	}
	if a.names == nil {
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
	if a.names == nil {
		a.begin(nil)
	}
	if a.err = a.flush(); a.err != nil {
		return a.err
	}
	entries, err := a.meta.entries()
	if err == nil {
		err = a.file.Close(entries)
	}
	a.err = err
	return err
}

// accept checks a window and registers it in the metadata.
func (a *Writer) accept(w *trace.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if a.names != nil && !slices.Equal(a.meta.Stages, w.Schema.Stages) {
		return trace.Bad(ErrSchemaChanged, "window %d of run %q has stages %q, this archive has %q: write it to another file",
			w.Index, w.Run, w.Schema.Stages, a.meta.Stages)
	}
	if err := plain("run", w.Run); err != nil {
		return err
	}
	for _, stage := range w.Schema.Stages {
		if err := plain("stage", stage); err != nil {
			return err
		}
	}
	if err := acceptSide(w); err != nil {
		return err
	}
	return a.register(w)
}

// acceptSide refuses what does not fit into a column by step and rank.
func acceptSide(w *trace.Window) error {
	R := len(w.Ranks)
	names := make(map[string]bool)
	for _, c := range w.Side {
		if err := plain("channel", c.Name); err != nil {
			return err
		}
		if names[c.Name] {
			return trace.Bad(trace.ErrDuplicate, "window %d of run %q has channel %q twice", w.Index, w.Run, c.Name)
		}
		names[c.Name] = true
		seen := make([]bool, w.Steps()*R)
		for _, s := range c.Samples {
			at := int(s.Step-w.FirstStep)*R + s.Rank
			if seen[at] {
				return trace.Bad(trace.ErrDuplicate, "channel %q has two samples of step %d, rank %d", c.Name, s.Step, w.Ranks[s.Rank].ID)
			}
			seen[at] = true
		}
	}
	return nil
}

// register enters a window into the metadata.
func (a *Writer) register(w *trace.Window) error {
	f := newForm(w)
	f.GatherFailed = slices.Clone(f.GatherFailed) // the caller's may change
	for _, n := range f.Notes {
		if err := plain("note", n.Text); err != nil {
			return err
		}
	}
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
	return nil
}

// number is the position of key in a list, which add extends when it is new.
func (index) number(known map[string]int, key string, add func()) int {
	n, ok := known[key]
	if !ok {
		n = len(known)
		known[key] = n
		add()
	}
	return n
}

// cohort is the position of the window's cohort.
func (a *Writer) cohort(w *trace.Window) (int, error) {
	x := &a.index
	same := func(a, b trace.Rank) bool {
		return a.ID == b.ID && a.Host == b.Host && a.LocalRank == b.LocalRank && slices.Equal(a.Role, b.Role)
	}
	if x.last != nil && x.last.WorldSize == w.WorldSize && slices.EqualFunc(x.last.Ranks, w.Ranks, same) {
		return x.lastCohort, nil
	}
	c, err := newCohort(w)
	if err != nil {
		return 0, err
	}
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
