package csv

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace"
)

// group collects the rows of one run and window.
type group struct {
	layout *layout
	file   string

	run    string
	runRaw []byte // as it stands in the rows
	window int64

	rows  []groupRow
	times []int64 // [row][stage]
	side  [][]sample
	walls int // rows with a wall time

	ranks   []int   // that have reported, in order of appearance
	column  []int32 // by rank: 1 + its position in ranks, 0 for none
	maxRank int     // the largest, known once all rows are there

	metas  []meta
	known  map[string]int32 // metas by their cells
	last   []int32          // by position in ranks: the newest meta
	blocks [][]byte         // its text, by position in ranks and block
	keys   int64            // bytes of cells in known
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
	raw   [numAttr][]byte
	rank  trace.Rank // but for its ID
	world int        // 0: not said
	accum int
	ok    bool // the recorder could gather the window
	wait  trace.DataWait
}

func newGroup(l *layout, file string) *group {
	return &group{layout: l, file: file, side: make([][]sample, len(l.channels)), known: make(map[string]int32)}
}

func (g *group) empty() bool { return len(g.rows) == 0 }

// accepts reports whether a row belongs to the window that is being collected.
func (g *group) accepts(r *row) bool {
	return g.empty() || r.window == g.window && bytes.Equal(r.attrs[attrRun], g.runRaw)
}

// rowBytes is about what a row takes besides its stages: itself, its place in
// the window, its wall time.
const rowBytes = 64

// add collects a row that the group accepts.
func (g *group) add(r *row, limit int64) *cellError {
	if g.empty() {
		if err := g.begin(r); err != nil {
			return err
		}
	}
	S := len(g.layout.stages)
	if int64(len(g.rows)+1)*int64(rowBytes+16*S)+g.keys > limit {
		return &cellError{-1, trace.Bad(trace.ErrTooLarge, "window %d of run %q has more rows than %d bytes hold: is there a column window?", g.window, g.run, limit)}
	}
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
	if r.wall >= 0 {
		g.walls++
	}
	g.rows = append(g.rows, groupRow{r.line, r.step, r.wall, int32(at), m})
	g.times = append(g.times, r.times...)
	return nil
}

// begin starts the window of a row.
func (g *group) begin(r *row) *cellError {
	if !utf8.Valid(r.attrs[attrRun]) {
		return &cellError{g.columnOf(attrRun), trace.Bad(trace.ErrFormat, "%q is not UTF-8: save the table as UTF-8", r.attrs[attrRun])}
	}
	g.window, g.runRaw = r.window, append(g.runRaw[:0], r.attrs[attrRun]...)
	if g.run = string(g.runRaw); !g.layout.has[attrRun] {
		g.run = filepath.Base(g.file)
	}
	return nil
}

// position is the place of a rank in g.ranks.
func (g *group) position(rank int) int {
	for len(g.column) <= rank {
		g.column = append(g.column, make([]int32, len(g.column)+64)...)
	}
	if g.column[rank] == 0 {
		g.ranks = append(g.ranks, rank)
		g.column[rank] = int32(len(g.ranks))
		g.last = append(g.last, -1)
		n := len(g.ranks) * len(g.layout.blocks)
		g.blocks = slices.Grow(g.blocks, n-len(g.blocks))[:n] // keeps what is allocated
	}
	return int(g.column[rank]) - 1
}

// sameBlock is the length of the text at the start of rec when it is that of
// the block in the rank's row before, otherwise −1.
func (g *group) sameBlock(rank int64, block int, rec []byte, comma byte) int {
	if rank >= int64(len(g.column)) || g.column[rank] == 0 {
		return -1
	}
	at := int(g.column[rank]) - 1
	text := g.blocks[at*len(g.layout.blocks)+block]
	if n := len(text); bytes.HasPrefix(rec, text) && (n == len(rec) || rec[n] == comma) {
		return n
	}
	return -1
}

// meta is the number of what the row's attributes say. Mostly they say what
// the rank's row before did.
func (g *group) meta(r *row, at int) (int32, *cellError) {
	if r.same {
		return g.last[at], nil
	}
	for b, text := range r.blocks {
		own := &g.blocks[at*len(r.blocks)+b]
		*own = append((*own)[:0], text...)
	}
	if m := g.last[at]; m >= 0 && g.metas[m].says(r) {
		return m, nil
	}
	var key []byte
	for _, cell := range r.attrs[attrRun+1:] {
		key = append(append(key, cell...), 0xff) // in no UTF-8 text
	}
	m, ok := g.known[string(key)]
	if !ok {
		parsed, err := g.parse(r)
		if err != nil {
			return 0, err
		}
		m = int32(len(g.metas))
		g.metas = append(g.metas, parsed)
		g.known[string(key)] = m
		g.keys += 256 + 2*int64(len(key))
	}
	g.last[at] = m
	return m, nil
}

func (m *meta) says(r *row) bool {
	for i := attrRun + 1; i < numAttr; i++ {
		if !bytes.Equal(m.raw[i], r.attrs[i]) {
			return false
		}
	}
	return true
}

// parse parses the attributes of a row.
func (g *group) parse(r *row) (m meta, bad *cellError) {
	m = meta{rank: trace.Rank{LocalRank: -1}, accum: 1, ok: true}
	for i := attrRun + 1; i < numAttr; i++ {
		m.raw[i] = bytes.Clone(r.attrs[i])
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
func (m *meta) set(attr int, text []byte) (err error) {
	if !utf8.Valid(text) {
		return trace.Bad(trace.ErrFormat, "%q is not UTF-8: save the table as UTF-8", text)
	}
	switch attr {
	case attrHost:
		m.rank.Host = string(text)
	case attrRole:
		m.rank.Role, err = parseRole(string(text))
	case attrGather:
		m.ok, _, err = flag(text)
	case attrDataWait:
		m.wait, err = trace.ParseDataWait(string(text))
	case attrWorld:
		m.world, err = bounded(text, 1, trace.MaxRanks)
	case attrLocal:
		if string(text) != "-1" {
			m.rank.LocalRank, err = bounded(text, 0, trace.MaxRanks)
		}
	case attrAccumulation:
		m.accum, err = bounded(text, 0, trace.MaxStages)
	}
	return err
}

// bounded parses a whole number between two bounds.
func bounded(text []byte, least, most int64) (int, error) {
	v, err := whole(text)
	if err == nil && (v < least || v > most) {
		err = trace.Bad(trace.ErrTooLarge, "%s, expected %s to %s", text, strconv.FormatInt(least, 10), strconv.FormatInt(most, 10))
	}
	return int(v), err
}

// columnOf is the column of an attribute.
func (g *group) columnOf(a int) int {
	for i, c := range g.layout.columns {
		if c == (column{attr, a}) {
			return i
		}
	}
	return -1
}

// dropLast takes the last row back.
func (g *group) dropLast() {
	n := len(g.rows) - 1
	if n < 0 {
		return
	}
	if g.rows[n].wall >= 0 {
		g.walls--
	}
	for i, s := range g.side {
		if k := len(s); k > 0 && s[k-1].row == n {
			g.side[i] = s[:k-1]
		}
	}
	at := g.rows[n].rank
	g.rows, g.times = g.rows[:n], g.times[:n*len(g.layout.stages)]
	if !slices.ContainsFunc(g.rows, func(r groupRow) bool { return r.rank == at }) { // it came last
		g.column[g.ranks[at]] = 0
		g.ranks, g.last, g.blocks = g.ranks[:at], g.last[:at], g.blocks[:int(at)*len(g.layout.blocks)]
	}
}

// reset makes room for the next window.
func (g *group) reset() {
	for _, rank := range g.ranks {
		g.column[rank] = 0
	}
	for i := range g.side {
		g.side[i] = g.side[i][:0]
	}
	clear(g.known)
	g.rows, g.times, g.walls = g.rows[:0], g.times[:0], 0
	g.ranks, g.last, g.blocks, g.metas, g.keys = g.ranks[:0], g.last[:0], g.blocks[:0], g.metas[:0], 0
}
