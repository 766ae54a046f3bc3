package csv

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// group collects the rows of one run and window.
type group struct {
	layout *layout
	file   string

	run    string
	runRaw string // as it stands in the rows
	window int64

	rows  []groupRow
	times []int64 // [row][stage]
	side  [][]sample

	ranks   []int   // that have reported, in order of appearance
	column  []int32 // by rank: 1 + its position in ranks, 0 for none
	maxRank int     // the largest, known once all rows are there

	metas []meta
	last  []int32 // by position in ranks: the newest meta
	cells int64   // bytes of all metas

	shelf             *shelf // has the rows that are not in rows; nil: none
	first, lastStep   int64  // of all rows
	firstLine, lastAt int64  // lines of the first row and of the last
	per               int    // rows that are taken off the shelf at a time
}

type groupRow struct {
	line, step, wall int64
	rank             int32 // position in ranks
	meta             int32
}

// sample is a cell of a side channel.
type sample struct {
	row   int
	value float64
	ready bool
}

// meta is what the attributes of a row say.
type meta struct {
	raw   [numAttr]string
	rank  trace.Rank // but for its ID
	world int        // 0: not said
	accum int
	ok    bool // the recorder could gather the window
	wait  trace.DataWait
}

func newGroup(l *layout, file string) *group {
	return &group{layout: l, file: file, side: make([][]sample, len(l.channels))}
}

func (g *group) empty() bool { return len(g.rows) == 0 && !g.hasShelved() }

// hasShelved reports whether rows are on the shelf.
func (g *group) hasShelved() bool { return g.shelf != nil && g.shelf.rows > 0 }

// count returns how many rows there are.
func (g *group) count() int {
	if g.shelf == nil {
		return len(g.rows)
	}
	return g.shelf.rows + len(g.rows)
}

// accepts reports whether a row belongs to the window that is being collected.
func (g *group) accepts(r *row) bool {
	return g.empty() || r.window == g.window && r.attrs[attrRun] == g.runRaw
}

// rowBytes is about what a row takes besides its stages: itself, its places in
// the order and in the window, its wall time.
const rowBytes = 80

// cost returns the bytes that a row takes, about.
func (g *group) cost() int64 { return rowBytes + 16*int64(len(g.layout.stages)+len(g.side)) }

// add collects a row that the group accepts. Where rows take more than lim.Pending, they are compressed; they may not
// take more than lim.Table by themselves.
func (g *group) add(r *row, lim ingest.Limits) *cellError {
	if g.empty() {
		if err := g.begin(r); err != nil {
			return err
		}
		g.first, g.lastStep, g.firstLine = r.step, r.step, r.line
	}
	if int64(g.count()+1)*g.cost()+g.cells > lim.Table {
		return g.errTooLarge(lim.Table)
	}
	most := lim.Pending
	if g.shelf != nil {
		most /= runPart
	}
	if int64(len(g.rows)+1)*g.cost()+g.cells > most {
		if err := g.compressRows(lim.Pending); err != nil {
			return err
		}
	}
	g.first, g.lastStep, g.lastAt = min(g.first, r.step), max(g.lastStep, r.step), r.line
	at := g.position(int(r.rank))
	m, err := g.meta(r, at)
	if err != nil {
		return err
	}
	for i, s := range r.values {
		if s.sampled {
			g.side[i] = append(g.side[i], sample{len(g.rows), s.value, s.ready})
		}
	}
	g.rows = append(g.rows, groupRow{r.line, r.step, r.wall, int32(at), m})
	g.times = append(g.times, r.times...)
	return nil
}

// Parts of what may be held that rows take before they are compressed again, and that a stretch of them takes whose windows
// are made, by the memory of rows as they are collected: they are there several times then.
const runPart, stretchPart = 4, 8

// compressRows compresses the held rows, of which all may take limit bytes.
func (g *group) compressRows(limit int64) *cellError {
	if g.cells > limit/2 {
		return g.errTooLarge(limit)
	}
	if g.shelf == nil {
		var err error
		if g.shelf, err = newShelf(); err != nil {
			return &cellError{-1, err}
		}
	}
	g.shelf.put(g)
	g.rows, g.times = nil, nil // of which few are there at a time from now on
	if g.shelf.held > limit {
		return g.errTooLarge(limit)
	}
	return nil
}

func (g *group) errTooLarge(limit int64) *cellError {
	return &cellError{-1, input.Bad(input.ErrTooLarge, "window %d of run %q has more rows than %d bytes hold: is there a column window?", g.window, g.run, limit)}
}

// begin starts the window of a row.
func (g *group) begin(r *row) *cellError {
	if !utf8.ValidString(r.attrs[attrRun]) {
		return &cellError{g.columnOf(attrRun), input.Bad(input.ErrFormat, "%q is not UTF-8: save the table as UTF-8", r.attrs[attrRun])}
	}
	g.window, g.runRaw = r.window, strings.Clone(r.attrs[attrRun])
	if g.run = g.runRaw; !g.layout.has[attrRun] {
		g.run = filepath.Base(g.file)
	}
	return nil
}

// position returns the place of a rank in g.ranks.
func (g *group) position(rank int) int {
	for len(g.column) <= rank {
		g.column = append(g.column, make([]int32, len(g.column)+64)...)
	}
	if g.column[rank] == 0 {
		g.ranks = append(g.ranks, rank)
		g.column[rank] = int32(len(g.ranks))
		g.last = append(g.last, -1)
	}
	return int(g.column[rank]) - 1
}

// meta returns the number of what the row's attributes say. Mostly they say what
// the rank's row before did.
func (g *group) meta(r *row, at int) (int32, *cellError) {
	if m := g.last[at]; m >= 0 && g.metas[m].matches(r) {
		return m, nil
	}
	m, err := g.parse(r)
	if err != nil {
		return 0, err
	}
	g.cells += 256
	for _, cell := range m.raw {
		g.cells += int64(len(cell))
	}
	g.last[at] = int32(len(g.metas))
	g.metas = append(g.metas, m)
	return g.last[at], nil
}

func (m *meta) matches(r *row) bool {
	return slices.Equal(m.raw[attrRun+1:], r.attrs[attrRun+1:])
}

// parse parses the attributes of a row.
func (g *group) parse(r *row) (m meta, bad *cellError) {
	m = meta{rank: trace.Rank{LocalRank: -1}, accum: 1, ok: true}
	for i := attrRun + 1; i < numAttr; i++ {
		m.raw[i] = strings.Clone(r.attrs[i])
		if len(m.raw[i]) == 0 {
			continue
		}
		if err := m.set(i, m.raw[i]); err != nil {
			return m, &cellError{g.columnOf(i), err}
		}
	}
	return m, nil
}

// set sets an attribute to what a cell says that is not empty.
func (m *meta) set(attr int, text string) (err error) {
	if !utf8.ValidString(text) {
		return input.Bad(input.ErrFormat, "%q is not UTF-8: save the table as UTF-8", text)
	}
	switch attr {
	case attrHost:
		m.rank.Host = text
	case attrRole:
		m.rank.Role, err = trace.ParseRole(text)
	case attrGather:
		m.ok, _, err = flag(text)
	case attrDataWait:
		m.wait, err = trace.ParseDataWait(text)
	case attrWorld:
		m.world, err = parseBounded(text, 1, trace.MaxRanks)
	case attrLocal:
		if text != "-1" {
			m.rank.LocalRank, err = parseBounded(text, 0, trace.MaxRanks)
		}
	case attrAccumulation:
		m.accum, err = parseBounded(text, 0, trace.MaxStages)
	}
	return err
}

// parseBounded parses a whole number between two bounds.
func parseBounded(text string, least, most int64) (int, error) {
	v, err := parseWhole(text)
	if err == nil && (v < least || v > most) {
		err = input.Bad(input.ErrTooLarge, "%s, expected %s to %s", text, strconv.FormatInt(least, 10), strconv.FormatInt(most, 10))
	}
	return int(v), err
}

// columnOf returns the column of an attribute.
func (g *group) columnOf(a int) int {
	for i, c := range g.layout.columns {
		if c.kind == attr && c.index == a {
			return i
		}
	}
	return -1
}

// reset makes room for the next window.
func (g *group) reset() {
	for _, rank := range g.ranks {
		g.column[rank] = 0
	}
	g.clear()
	g.ranks, g.last, g.metas, g.cells, g.shelf = g.ranks[:0], g.last[:0], g.metas[:0], 0, nil
}

// mostSpare is how many times keep their memory for the next rows: the windows of more take as much again meanwhile.
const mostSpare = 1 << 17

// clear forgets the rows.
func (g *group) clear() {
	for i := range g.side {
		g.side[i] = g.side[i][:0]
	}
	if g.rows, g.times = g.rows[:0], g.times[:0]; cap(g.times) > mostSpare {
		g.rows, g.times = nil, nil
	}
}
