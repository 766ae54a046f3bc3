package optrace

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/decimal"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// ReadCSV reads an operator trace from comma-separated lines under a header.
// name stands in errors; m may be nil.
func ReadCSV(r io.Reader, name string, m *Meta, lim ingest.Limits) (*operator.Trace, error) {
	stored := ingest.StoredSize(r)
	p := &lines{in: ingest.NewTable(r, name, lim.Scale(stored)), rows: maxRows(lim.OrDefault(), stored)}
	if err := p.header(); err != nil {
		return nil, input.At(p.in.Pos(), err)
	}
	for {
		cells, err := p.in.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.row(cells)
		}
		if err != nil {
			return nil, input.At(p.in.Pos(), err)
		}
	}
	p.t.where = func(row int) input.Pos {
		if row < 0 {
			return input.Pos{File: name}
		}
		return input.Pos{File: name, Line: p.lineOf[row]}
	}
	if len(p.start) == 0 {
		return nil, input.At(p.t.where(-1), input.Bad(input.ErrEmpty, "no rows"))
	}
	if err := p.times(); err != nil {
		return nil, input.At(p.t.where(-1), err)
	}
	return p.t.opTrace(m)
}

// lines reads CSV into a table.
type lines struct {
	in   *ingest.Table
	t    table
	rows int64 // at most
	at   layout
	last int // the rightmost column that is used

	ids        [words]map[string]int32
	start, dur []decimal.Number
	lineOf     []int64
}

// header finds the columns.
func (p *lines) header() error {
	names, err := p.in.Header()
	if err == io.EOF {
		return input.Bad(input.ErrEmpty, "no header")
	}
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	p.at, err = newLayout(names)
	p.last = max(slices.Max(p.at.ints[:]), slices.Max(p.at.words[:]), p.at.start, p.at.dur)
	return err
}

// row reads one line.
func (p *lines) row(cells []string) error {
	if int64(len(p.start)) == p.rows {
		return input.Bad(input.ErrTooLarge, "more than %d rows, which is as many as are held", p.rows)
	}
	if len(cells) <= p.last {
		return input.Bad(input.ErrRagged, "%d cells, the header has %d or more", len(cells), p.last+1)
	}
	for f, at := range p.at.ints {
		if at < 0 {
			continue
		}
		v, err := integer(cells[at], field(f))
		if err != nil {
			return err
		}
		p.t.ints[f] = append(p.t.ints[f], v)
	}
	for w, at := range p.at.words {
		if at < 0 {
			continue
		}
		if err := p.word(word(w), cells[at]); err != nil {
			return err
		}
	}
	s, ok := decimal.Parse(cells[p.at.start])
	d, ok2 := decimal.Parse(cells[p.at.dur])
	if !ok || !ok2 {
		return input.Bad(input.ErrType, "start_ts %.40q, duration %.40q, expected numbers", cells[p.at.start], cells[p.at.dur])
	}
	p.start, p.dur = append(p.start, s), append(p.dur, d)
	p.lineOf = append(p.lineOf, p.in.Pos().Line)
	return nil
}

// maxName is the longest name of an operator, and maxWord the longest text of a
// profiler's columns, in bytes; maxWords is how many of one of these are told apart.
const (
	maxName  = 512
	maxWord  = 4096
	maxWords = 1 << 16
)

// word reads a cell of text.
func (p *lines) word(w word, cell string) error {
	if w == wordName {
		cell = strings.TrimSpace(cell)
	}
	d := &p.t.words[w]
	id, ok := p.ids[w][cell]
	if !ok {
		switch {
		case w == wordName && (len(cell) == 0 || len(cell) > maxName):
			return input.Bad(input.ErrTooLarge, "an optype of %d bytes, expected 1 to %d", len(cell), maxName)
		case w != wordName && (len(cell) > maxWord || len(d.texts) >= maxWords):
			return input.Bad(input.ErrTooLarge, "%s of %d bytes beside %d others, at most %d bytes and %d texts are read",
				wordNames[w], len(cell), len(d.texts), maxWord, maxWords)
		case p.ids[w] == nil:
			p.ids[w] = make(map[string]int32)
		}
		id = int32(len(d.texts))
		cell = strings.Clone(cell)
		p.ids[w][cell] = id
		d.texts = append(d.texts, cell)
	}
	d.at = append(d.at, id)
	return nil
}

// integer reads a whole number, "3" or, as programs write integers beside
// nulls, "3.0". An empty cell of an optional column is −1.
func integer(cell string, f field) (int64, error) {
	d, ok := decimal.Parse(cell)
	if f.optional() && f != fieldRank && (strings.TrimSpace(cell) == "" || strings.EqualFold(strings.TrimSpace(cell), "nan")) {
		return -1, nil
	}
	v, whole := d.Integer()
	if !ok || !whole {
		return 0, input.Bad(input.ErrType, "%s is %.40q, expected an integer", fieldNames[f], cell)
	}
	return v, nil
}

// times finds out the unit and turns all times into nanoseconds.
func (p *lines) times() error {
	u := unit{how: "integers", resolution: 1}
	fractional, finest, longest := false, int16(0), 0.0
	for _, column := range [][]decimal.Number{p.start, p.dur} {
		for _, d := range column {
			_, whole := d.Integer()
			u.seconds = u.seconds || !whole
			fractional = fractional || d.Point
			finest = min(finest, d.Exp)
		}
	}
	for _, d := range p.dur {
		longest = max(longest, d.Float())
	}
	if fractional && !u.seconds { // "12.0": whole numbers that were floats
		u.seconds = longest <= tooLong
	}
	if u.seconds && longest > tooLong {
		return errUnits(longest)
	}
	shift := 0
	if u.seconds {
		shift = 9
		u.how = "decimal fractions"
		u.resolution = int64(math.Pow10(int(max(0, 9+finest))))
	}
	convert := func(column []decimal.Number) ([]int64, error) {
		out := make([]int64, len(column))
		for row, d := range column {
			var ok bool
			if out[row], ok = d.Shift(shift).Round(); !ok {
				return nil, input.At(p.t.where(row), input.Bad(input.ErrOverflow, "a time that exceeds 292 years"))
			}
		}
		return out, nil
	}
	p.t.unit = u
	var err, err2 error
	p.t.start, err = convert(p.start)
	p.t.dur, err2 = convert(p.dur)
	return errors.Join(err, err2)
}
