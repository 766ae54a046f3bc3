package optrace

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
)

// ReadCSV reads an operator trace from comma-separated lines under a header.
// name stands in errors; m may be nil.
func ReadCSV(r io.Reader, name string, m *Meta, lim ingest.Limits) (*trace.OpTrace, error) {
	lim = lim.OrDefault()
	p := &lines{in: ingest.NewLines(r, name, lim, nil), rows: maxRows(lim), ids: make(map[string]int32)}
	for f := range p.at {
		p.at[f] = -1
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	for {
		line, err := p.in.Next()
		if err == io.EOF {
			break
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = p.row(line)
		}
		if err != nil {
			return nil, trace.At(p.in.Pos(), err)
		}
	}
	p.t.where = func(row int) trace.Pos {
		if row < 0 {
			return trace.Pos{File: name}
		}
		return trace.Pos{File: name, Line: p.lineOf[row]}
	}
	if len(p.start) == 0 {
		return nil, trace.At(p.t.where(-1), trace.Bad(trace.ErrEmpty, "no rows"))
	}
	if err := p.times(); err != nil {
		return nil, trace.At(p.t.where(-1), err)
	}
	return p.t.opTrace(m)
}

// Columns beside the fields.
const (
	atName     = int(fields)
	atStart    = int(fields) + 1
	atDuration = int(fields) + 2
	atWords    = int(fields) + 3
	targets    = atWords + int(words)
)

// lines reads CSV into a table.
type lines struct {
	in   *ingest.Lines
	t    table
	rows int64 // at most
	at   [targets]int
	last int // the rightmost column that is used

	cells      [][]byte
	ids        map[string]int32
	wordIDs    [words]map[string]int32
	launched   bool // the columns of a profiler's trace are there
	start, dur []decimal
	lineOf     []int64
}

// header finds the columns.
func (p *lines) header() error {
	line, err := p.in.Next()
	if err == io.EOF {
		return trace.At(p.in.Pos(), trace.Bad(trace.ErrEmpty, "no header"))
	}
	if err != nil {
		return err
	}
	if p.cells, err = split(p.cells[:0], line, math.MaxInt); err != nil {
		return trace.At(p.in.Pos(), err)
	}
	var names []string
	for i, cell := range p.cells {
		name := string(bytes.TrimSpace(cell))
		names = append(names, name)
		target := -1
		switch name {
		case nameColumn:
			target = atName
		case startColumn:
			target = atStart
		case durationColumn:
			target = atDuration
		}
		if f := slices.Index(fieldNames[:], name); f >= 0 {
			target = f
		}
		if w := slices.Index(wordNames[:], name); w >= 0 {
			target = atWords + w
		}
		if target < 0 {
			continue
		}
		if p.at[target] >= 0 {
			return trace.At(p.in.Pos(), trace.Bad(trace.ErrDuplicate, "column %q is there twice", name))
		}
		p.at[target], p.last = i, max(p.last, i)
	}
	p.launched = launched(names)
	if lacking := missing(names); lacking != "" {
		head := strings.Join(names[:min(len(names), 12)], ", ")
		return trace.At(p.in.Pos(), trace.Bad(trace.ErrMissing, "no column %q, which an operator trace has: expected a header of names with commas between them, found %.200q", lacking, head))
	}
	return nil
}

// split cuts a line at its commas, into n cells at most; the rest of the line
// is left away. A cell may be quoted; a line break in it ends the line.
func split(cells [][]byte, line []byte, n int) ([][]byte, error) {
	for len(cells) < n {
		if len(line) > 0 && line[0] == '"' {
			end := bytes.IndexByte(line[1:], '"')
			if end < 0 || end+2 < len(line) && line[end+2] != ',' {
				return cells, trace.Bad(trace.ErrFormat, "a quote that does not end its cell")
			}
			cells = append(cells, line[1:end+1])
			if line = line[end+2:]; len(line) == 0 {
				break
			}
			line = line[1:]
			continue
		}
		i := bytes.IndexByte(line, ',')
		if i < 0 {
			return append(cells, line), nil
		}
		cells = append(cells, line[:i])
		line = line[i+1:]
	}
	return cells, nil
}

// row reads one line.
func (p *lines) row(line []byte) error {
	if int64(len(p.start)) == p.rows {
		return trace.Bad(trace.ErrTooLarge, "more than %d rows, which is as many as are held", p.rows)
	}
	var err error
	if p.cells, err = split(p.cells[:0], line, p.last+1); err != nil {
		return err
	}
	if len(p.cells) <= p.last {
		return trace.Bad(trace.ErrRagged, "%d cells, the header has %d or more", len(p.cells), p.last+1)
	}
	for f := range fields {
		if p.at[f] < 0 || f >= fieldLane && !p.launched {
			continue
		}
		v, err := integer(p.cells[p.at[f]], f)
		if err != nil {
			return err
		}
		p.t.ints[f] = append(p.t.ints[f], v)
	}
	if err := p.name(p.cells[p.at[atName]]); err != nil {
		return err
	}
	if err := p.words(); err != nil {
		return err
	}
	s, ok := parseDecimal(p.cells[p.at[atStart]])
	d, ok2 := parseDecimal(p.cells[p.at[atDuration]])
	if !ok || !ok2 {
		return trace.Bad(trace.ErrType, "start_ts %.40q, duration %.40q, expected numbers", p.cells[p.at[atStart]], p.cells[p.at[atDuration]])
	}
	p.start, p.dur = append(p.start, s), append(p.dur, d)
	p.lineOf = append(p.lineOf, p.in.Pos().Line)
	return nil
}

// maxName is the longest name of an operator, in bytes.
const maxName = 512

func (p *lines) name(cell []byte) error {
	cell = bytes.TrimSpace(cell)
	id, ok := p.ids[string(cell)]
	if !ok {
		if len(cell) == 0 || len(cell) > maxName {
			return trace.Bad(trace.ErrTooLarge, "an optype of %d bytes, expected 1 to %d", len(cell), maxName)
		}
		id = int32(len(p.t.names))
		p.ids[string(cell)] = id
		p.t.names = append(p.t.names, string(cell))
	}
	p.t.name = append(p.t.name, id)
	return nil
}

// maxWord is the longest text of a profiler's columns, in bytes, and maxWords
// how many of one column are told apart.
const (
	maxWord  = 4096
	maxWords = 1 << 16
)

// words reads the columns of a profiler's trace.
func (p *lines) words() error {
	for w := range words {
		if !p.launched {
			return nil
		}
		cell, d := p.cells[p.at[atWords+int(w)]], &p.t.words[w]
		id, ok := p.wordIDs[w][string(cell)]
		if !ok {
			if len(cell) > maxWord || len(d.texts) >= maxWords {
				return trace.Bad(trace.ErrTooLarge, "%s of %d bytes beside %d others, at most %d bytes and %d texts are read",
					wordNames[w], len(cell), len(d.texts), maxWord, maxWords)
			}
			if p.wordIDs[w] == nil {
				p.wordIDs[w] = make(map[string]int32)
			}
			id = int32(len(d.texts))
			p.wordIDs[w][string(cell)] = id
			d.texts = append(d.texts, string(cell))
		}
		d.at = append(d.at, id)
	}
	return nil
}

// integer reads a whole number, "3" or, as programs write integers beside
// nulls, "3.0". An empty cell of an optional column is −1.
func integer(cell []byte, f field) (int64, error) {
	d, ok := parseDecimal(cell)
	if f.optional() && f != fieldRank && (len(bytes.TrimSpace(cell)) == 0 || strings.EqualFold(string(bytes.TrimSpace(cell)), "nan")) {
		return -1, nil
	}
	v, whole := d.integer()
	if !ok || !whole {
		return 0, trace.Bad(trace.ErrType, "%s is %.40q, expected an integer", fieldNames[f], cell)
	}
	return v, nil
}

// times finds out the unit and turns all times into nanoseconds.
func (p *lines) times() error {
	u := unit{how: "integers", resolution: 1}
	fractional, finest, longest := false, int16(0), 0.0
	for _, column := range [][]decimal{p.start, p.dur} {
		for _, d := range column {
			_, whole := d.integer()
			u.seconds = u.seconds || !whole
			fractional = fractional || d.point
			finest = min(finest, d.exp)
		}
	}
	for _, d := range p.dur {
		longest = max(longest, d.float())
	}
	if fractional && !u.seconds { // "12.0": whole numbers that were floats
		u.seconds = longest <= tooLong
	}
	if u.seconds && longest > tooLong {
		return errUnits(longest)
	}
	shift := int16(0)
	if u.seconds {
		shift = 9
		u.how = "decimal fractions"
		u.resolution = int64(math.Pow10(int(max(0, 9+finest))))
	}
	convert := func(column []decimal) ([]int64, error) {
		out := make([]int64, len(column))
		for row, d := range column {
			var ok bool
			d.exp += shift
			if out[row], ok = d.round(); !ok {
				return nil, trace.At(p.t.where(row), trace.Bad(trace.ErrOverflow, "a time that exceeds 292 years"))
			}
		}
		return out, nil
	}
	p.t.unit = u
	var err error
	if p.t.start, err = convert(p.start); err != nil {
		return err
	}
	p.t.dur, err = convert(p.dur)
	return err
}
