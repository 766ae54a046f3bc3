package csv

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/sums"
)

// A Share is the part of a table that lies in a file of its own: that of a rank, or one stage of it.
type Share struct {
	Name  string
	Open  func() (io.ReadCloser, error)
	Rank  int    // −1: a column says it
	Host  string // "": not known
	Local int    // −1: not known
	Stage string // that the values of the file are of; "": columns say it
}

// Sole is what the beginning of a file of a table says about whose times it has.
type Sole struct {
	Named  bool // a column says the rank
	Rank   int  // that it says
	Series bool // it has one stage, which no column names
}

// SoleOf reads the beginning of a table, and reports whether it may have the times of one rank alone.
func SoleOf(r io.Reader, file string, lim ingest.Limits) (s Sole, ok bool) {
	t := ingest.NewTableBehind(r, file, lim, IsHeader)
	names, err := t.Header()
	if err != nil {
		return s, false
	}
	names = trimQuotes(names)
	if _, _, ranks := ranksInNames(names); ranks || isTwoRows(names) {
		return s, false
	}
	known := meanings(names)
	if !hasKind(known, step) {
		return s, false
	}
	s.Series = IsSeries(names)
	at := slices.IndexFunc(known, func(c column) bool { return c.kind == rank })
	if at < 0 {
		_, long := longColumns(names)
		return s, !hasLocal(known) && !long && ascends(t, slices.IndexFunc(known, func(c column) bool { return c.kind == step }))
	}
	rank := ""
	for range inBatch {
		cells, err := t.Next()
		if err != nil || at >= len(cells) {
			break
		}
		if rank != "" && cells[at] != rank {
			return s, false
		}
		rank = cells[at]
	}
	s.Named = true
	s.Rank, err = strconv.Atoi(numberOf(rank))
	return s, err == nil
}

// ascends reports whether the first rows have one row for each step: then they are of one rank.
func ascends(t *ingest.Table, at int) bool {
	seen := make(map[string]bool)
	for range inBatch {
		cells, err := t.Next()
		if err != nil || at >= len(cells) {
			break
		}
		if seen[cells[at]] {
			return false
		}
		seen[cells[at]] = true
	}
	return len(seen) > 0
}

// NewShares reads the files of a table, one or more for each rank, as one. Its windows are those of the run of that name.
func NewShares(shares []Share, run string, o Options) (*Shares, error) {
	s := &Shares{run: run, sums: sums.Rule{Whole: sums.WallTime}}
	if err := s.read(shares, o); err != nil {
		return nil, err
	}
	return s, nil
}

// Shares are the windows of a table in several files. It is an ingest.WindowReader.
type Shares struct {
	run     string
	clocks  clocks
	sums    sums.Rule
	windows []*trace.Window
}

var _ ingest.WindowReader = (*Shares)(nil)

// read reads all files, those of one rank together.
func (s *Shares) read(shares []Share, o Options) error {
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b Share) int { return cmp.Compare(a.Rank, b.Rank) })
	var parts []*trace.Part
	var notes []input.Note
	world := 0
	for len(shares) > 0 {
		n := 1
		for n < len(shares) && shares[0].Stage != "" && shares[n].Rank == shares[0].Rank {
			n++
		}
		windows, err := readShares(shares[:n], o)
		if err != nil {
			return err
		}
		for _, w := range windows {
			for r := range w.Ranks {
				p := w.Part(r)
				p.Pos = input.Pos{File: shares[0].Name}
				p.Rank.Host = cmp.Or(p.Rank.Host, shares[0].Host)
				if p.Rank.LocalRank < 0 {
					p.Rank.LocalRank = shares[0].Local
				}
				world = max(world, p.WorldSize, p.Rank.ID+1)
				parts = append(parts, p)
			}
			for _, note := range w.Notes {
				if note.Kind != input.NoteMissingRanks && note.Kind != input.NoteStepGap && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
		shares = shares[n:]
	}
	for _, p := range parts {
		p.Run, p.WorldSize = s.run, world
	}
	windows, err := joinParts(parts)
	if err != nil || len(windows) == 0 {
		return err
	}
	if windows = s.clocks.apply(windows); len(windows) == 0 {
		return nil
	}
	s.sums.Apply(windows)
	if o.Unit == Unsaid {
		if err := mixedUnits(windows); err != nil {
			return input.At(parts[0].Pos, err)
		}
	}
	windows[0].Notes = slices.Concat(windows[0].Notes, notes)
	s.windows = windows
	return nil
}

// readShares reads the files of one rank.
func readShares(shares []Share, o Options) (windows []*trace.Window, err error) {
	var in rows = &behind{shares: shares, lim: o.Limits}
	if shares[0].Stage == "" {
		src, err := shares[0].Open()
		if err != nil {
			return nil, err
		}
		defer src.Close()
		in = ingest.NewTableBehind(src, shares[0].Name, o.Limits, IsHeader)
		if shares[0].Rank >= 0 {
			in = &ranked{rows: in, rank: strconv.Itoa(shares[0].Rank)}
		}
	}
	c, err := newReader(in, shares[0].Name, o)
	if err != nil {
		return nil, err
	}
	c.apart = true
	for {
		w, err := c.Next()
		if errors.Is(err, io.EOF) {
			return windows, nil
		}
		if err != nil {
			return nil, err
		}
		windows = append(windows, w)
	}
}

// Next returns the next window.
func (s *Shares) Next() (*trace.Window, error) {
	if len(s.windows) == 0 {
		return nil, io.EOF
	}
	w := s.windows[0]
	s.windows = s.windows[1:]
	return w, nil
}

// Close implements io.Closer, and has nothing to close: the files were closed when they had been read.
func (s *Shares) Close() error { return nil }

// ranked are the rows of a file that has no column of the rank.
type ranked struct {
	rows
	rank  string
	cells []string
}

func (r *ranked) Header() ([]string, error) {
	names, err := r.rows.Header()
	return append(names, "rank"), err
}

func (r *ranked) Next() ([]string, error) {
	cells, err := r.rows.Next()
	if err != nil {
		return nil, err
	}
	r.cells = append(append(r.cells[:0], cells...), r.rank)
	return r.cells, nil
}

// behind are the rows of files that have a stage each, as a long table.
type behind struct {
	shares []Share
	lim    ingest.Limits
	table  *ingest.Table
	close  func() error
	at     [2]int // columns of the step and the value
	cells  []string
}

func (b *behind) Header() ([]string, error) {
	return []string{"step", "rank", "stage", "value"}, nil
}

// open opens the next file and reads its header.
func (b *behind) open() error {
	src, err := b.shares[0].Open()
	if err != nil {
		return err
	}
	b.close, b.table = src.Close, ingest.NewTableBehind(src, b.shares[0].Name, b.lim, IsHeader)
	names, err := b.table.Header()
	if err != nil {
		return err
	}
	for i, n := range trimQuotes(names) {
		switch normalName(n) {
		case "step":
			b.at[0] = i
		case "value":
			b.at[1] = i
		}
	}
	return nil
}

func (b *behind) Next() ([]string, error) {
	for {
		if b.table == nil {
			if err := b.open(); err != nil {
				return nil, err
			}
		}
		cells, err := b.table.Next()
		if err == nil {
			if b.at[0] >= len(cells) || b.at[1] >= len(cells) {
				return nil, input.At(b.table.Pos(), input.Bad(input.ErrRagged, "%d cells, expected the step and the value", len(cells)))
			}
			b.cells = append(b.cells[:0], cells[b.at[0]], strconv.Itoa(b.shares[0].Rank), b.shares[0].Stage, cells[b.at[1]])
			return b.cells, nil
		}
		b.close()
		if !errors.Is(err, io.EOF) || len(b.shares) == 1 {
			return nil, err
		}
		b.shares, b.table = b.shares[1:], nil
	}
}

func (b *behind) Pos() input.Pos {
	if b.table == nil {
		return input.Pos{File: b.shares[0].Name}
	}
	return b.table.Pos()
}

func (b *behind) AtEnd() bool { return len(b.shares) == 1 && b.table != nil && b.table.AtEnd() }
