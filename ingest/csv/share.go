package csv

import (
	"cmp"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/sums"
)

// A Share is the part of a table in one file: the rows of a rank, or a stage of a rank.
type Share struct {
	Name  string
	Open  func() (*Source, error)
	Rank  int    // −1: a column says it
	Host  string // "": not known
	Local int    // −1: not known
	Stage string // that the values of the file are of; "": columns say it
	// OnHost says that ranks are numbered on each host, and count on from those of the hosts before, in the order of the files.
	OnHost bool
}

// Extent is what the beginning of a file of a table says about whose times it has.
type Extent struct {
	Named  bool     // a column says the rank
	Ranks  []int    // that it says, in ascending order
	OnHost bool     // ranks may be numbered on each host
	Hosts  []string // that a column names
	First  int64    // step
	Series bool     // it has one stage, which no column names
	Stages []string // in ascending order, as they are compared: without units and case; nil: rows name them
	Bare   bool     // it has a header, and no row
	Digest uint64   // of the cells that were read: copies have the same
}

// ExtentOf reads the beginning of a table, and reports whether the table may be a part of one: with the times of one rank alone, or
// with a column that says the rank.
func ExtentOf(in *Source) (s Extent, ok bool) {
	t := in.rows
	names, err := t.Header()
	if err != nil {
		return s, false
	}
	names = trimQuotes(names)
	if _, _, ranks := ranksInNames(names); ranks || isTwoRows(names) {
		return s, false
	}
	at := identityOf(names)
	if at.step < 0 {
		return s, false
	}
	s.Series = IsSeries(names)
	_, long := longColumns(names)
	if !long && !s.Series {
		s.Stages = stagesIn(names)
	}
	s.Named = at.rank >= 0
	s.OnHost = at.rank < 0 && at.local >= 0 || at.weak
	digest := fnv.New64a()
	ascends, steps, rows := true, make(map[string]bool), make(map[[3]string]bool)
	cell := func(cells []string, at int) string {
		if at < 0 || at >= len(cells) {
			return ""
		}
		return cells[at]
	}
	for range inBatch {
		cells, err := t.Next()
		if isOfRow(err) {
			continue
		}
		if err != nil || max(at.step, at.rank, at.host) >= len(cells) {
			break
		}
		if step := cells[at.step]; len(steps) == 0 {
			s.First, _ = parseWhole(numberOf(strings.TrimSpace(step)))
		}
		ascends = ascends && !steps[cells[at.step]]
		steps[cells[at.step]] = true
		if at.host >= 0 && !slices.Contains(s.Hosts, cells[at.host]) {
			s.Hosts = append(s.Hosts, strings.Clone(cells[at.host]))
		}
		for _, cell := range cells {
			io.WriteString(digest, cell)
			digest.Write([]byte{0})
		}
		of := [3]string{cell(cells, at.rank), cell(cells, at.host), cell(cells, at.local)}
		if (s.Named || s.OnHost) && rows[of] { // the next step
			break
		}
		if rows[of] = true; !s.Named {
			continue
		}
		rank, err := strconv.Atoi(numberOf(cells[at.rank]))
		if err != nil {
			return s, false
		}
		if i, known := slices.BinarySearch(s.Ranks, rank); !known {
			s.Ranks = slices.Insert(s.Ranks, i, rank)
		}
	}
	s.Bare, s.Digest = len(steps) == 0, digest.Sum64()
	return s, s.Bare || s.Named || s.OnHost || !long && ascends
}

// stagesIn returns the stages that columns have by their names, as they are compared, in ascending order.
func stagesIn(names []string) (stages []string) {
	for i, c := range meanings(names) {
		if c.kind == stage {
			name, _ := splitUnit(strings.TrimPrefix(names[i], prefixStage))
			stages = append(stages, normalName(name))
		}
	}
	slices.Sort(stages)
	return slices.Compact(stages)
}

// RunOfShares describes the run of files whose columns name no run: its name, and its least number of ranks, of which
// some may have no file. Unreadable files, and rows of one file, are left out if there are several files.
type RunOfShares struct {
	Name  string
	World int
	Files int
}

// NewShares reads the files of a table, one or more for each rank or set of ranks, as one.
func NewShares(shares []Share, run RunOfShares, o Options) (*Shares, error) {
	s := &Shares{run: run.Name, world: run.World, several: run.Files > 1, sums: sums.Rule{Whole: sums.WallTime}}
	if err := s.read(shares, o); err != nil {
		return nil, err
	}
	return s, nil
}

// Shares are the windows of a table in several files. It is an ingest.WindowReader.
type Shares struct {
	run     string
	world   int // ranks at least
	several bool
	refused []RefusedShare
	clocks  clocks
	sums    sums.Rule
	windows []*trace.Window
}

var _ ingest.WindowReader = (*Shares)(nil)

// RefusedShare is a file that is left out, and why.
type RefusedShare struct {
	Name string
	Err  error
}

// Refused returns the files that are left out.
func (s *Shares) Refused() []RefusedShare { return s.refused }

// read reads all files, those of one rank together.
func (s *Shares) read(shares []Share, o Options) error {
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b Share) int { return cmp.Compare(a.Rank, b.Rank) })
	byWindow, world := make(map[windowKey][]*trace.Part), make(map[string]int)
	var all []*trace.Part
	begins, next := make(map[string]int), 0 // the first rank of each host, and of the next one
	var notes []input.Note
	own := true
	for len(shares) > 0 {
		n := 1
		for n < len(shares) && shares[0].Stage != "" && shares[n].Rank == shares[0].Rank {
			n++
		}
		windows, l, err := s.readFiles(shares[:n], o)
		if err != nil && (!s.several || ingest.Shortage(err)) {
			return err
		}
		if err != nil {
			s.refused = append(s.refused, RefusedShare{shares[0].Name, err})
			shares = shares[n:]
			continue
		}
		own = own && l.own
		first := 0
		if host := shares[0].Host; shares[0].OnHost {
			if _, known := begins[host]; !known {
				begins[host] = next
			}
			first = begins[host]
		}
		for _, w := range windows {
			key := windowKey{run: s.run}
			if l.has[attrRun] {
				key.run = w.Run
			}
			if l.numbersWindows() {
				key.window = w.Index
			}
			world[key.run] = max(world[key.run], s.world)
			for r := range w.Ranks {
				p := w.Part(r)
				p.Run = key.run
				p.Rank.ID += first
				next = max(next, p.Rank.ID+1)
				p.Pos = input.Pos{File: shares[0].Name}
				p.Rank.Host = cmp.Or(p.Rank.Host, shares[0].Host)
				if p.Rank.LocalRank < 0 {
					p.Rank.LocalRank = shares[0].Local
				}
				world[p.Run] = max(world[p.Run], p.WorldSize, p.Rank.ID+1)
				byWindow[key], all = append(byWindow[key], p), append(all, p)
			}
			for _, note := range w.Notes {
				if note.Kind != input.NoteMissingRanks && note.Kind != input.NoteStepGap && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
		shares = shares[n:]
	}
	notes = append(append(notes, alignColumns(all)...), alignNumbers(all)...)
	keys := slices.SortedFunc(maps.Keys(byWindow), windowKey.compare)
	var windows []*trace.Window
	for _, key := range keys {
		parts := byWindow[key]
		for _, p := range parts {
			p.WorldSize = world[p.Run]
		}
		made, err := joinParts(parts) // of one window at least
		if err != nil {
			return err
		}
		if !own {
			made = s.clocks.apply(made)
		}
		s.sums.Apply(made)
		if !own && o.Unit == Unsaid {
			if err := mixedUnits(made); err != nil {
				return input.At(parts[0].Pos, err)
			}
		}
		windows = append(windows, made...)
	}
	if len(windows) == 0 {
		return nil
	}
	windows[0].Notes = slices.Concat(windows[0].Notes, notes)
	s.windows = windows
	return nil
}

// readFiles reads the files of one rank, or of a set of ranks, and returns their windows and layout.
func (s *Shares) readFiles(shares []Share, o Options) (windows []*trace.Window, l *layout, err error) {
	var in rows = &stageFileRows{shares: shares}
	if shares[0].Stage == "" {
		src, err := shares[0].Open()
		if err != nil {
			return nil, nil, err
		}
		defer src.Close()
		in, o.Limits = src.rows, src.lim
		if shares[0].Rank >= 0 {
			in = &rankedRows{rows: in, rank: strconv.Itoa(shares[0].Rank)}
		}
	}
	c, err := newReader(in, shares[0].Name, o)
	if err != nil {
		return nil, nil, err
	}
	c.apart = true
	if s.several {
		c.broken = new(brokenRows)
	}
	for {
		w, err := c.Next()
		if errors.Is(err, io.EOF) {
			return windows, c.layout, c.broken.note(windows)
		}
		if err != nil {
			return nil, nil, err
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

// rankedRows are the rows of a file that has no column of the rank.
type rankedRows struct {
	rows
	rank  string
	cells []string
}

func (r *rankedRows) Header() ([]string, error) {
	names, err := r.rows.Header()
	return append(names, "rank"), err
}

func (r *rankedRows) Next() ([]string, error) {
	cells, err := r.rows.Next()
	if err != nil {
		return nil, err
	}
	r.cells = append(append(r.cells[:0], cells...), r.rank)
	return r.cells, nil
}

// stageFileRows are the rows of files that have a stage each, as a long table.
type stageFileRows struct {
	shares []Share
	table  rows
	close  func() error
	at     [2]int // columns of the step and the value
	cells  []string
}

func (b *stageFileRows) Header() ([]string, error) {
	return []string{"step", "rank", "stage", "value"}, nil
}

// open opens the next file and reads its header.
func (b *stageFileRows) open() error {
	src, err := b.shares[0].Open()
	if err != nil {
		return err
	}
	b.close, b.table = src.Close, src.rows
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

func (b *stageFileRows) Next() ([]string, error) {
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

func (b *stageFileRows) Pos() input.Pos {
	if b.table == nil {
		return input.Pos{File: b.shares[0].Name}
	}
	return b.table.Pos()
}

func (b *stageFileRows) AtEnd() bool { return len(b.shares) == 1 && b.table != nil && b.table.AtEnd() }
