package csv

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/decimal"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// row is one parsed record. Its texts are valid until the next is read.
type row struct {
	line    int64
	empty   int // the first column of a stage without a value, −1 for none
	empties int // columns of stages without a value
	window  int64
	step    int64
	rank    int64
	wall    int64 // −1: empty
	times   []int64
	attrs   [numAttr]string
	values  []sideCell // by channel

	numbers numbers // of all rows
}

// sideCell are a row's two cells of a side channel.
type sideCell struct {
	value          float64
	ready          bool
	sampled, known bool // the first cell is not empty, the second
}

// cellError is an error at a column; −1 is the row as such.
type cellError struct {
	column int
	err    error
}

// maxStep keeps sums of steps within int64.
const maxStep = math.MaxInt64 / 4

// maxTime is a duration, of 31 years, that no stage takes.
const maxTime = 1e18

// parse reads the next row with a time in every stage, and counts rows before it that are incomplete or unreadable. The
// last row of an input that ends inside a line may be incomplete: the error is then ingest.ErrCutRow.
func (c *Reader) parse() error {
	for {
		cells, err := c.rows.Next()
		if err == ingest.ErrCutRow {
			return c.place(err, -1)
		}
		if err != nil && c.broken.leaveOut(err) {
			continue
		}
		if err != nil {
			return err
		}
		c.row.line = c.rows.Pos().Line
		if bad := c.row.read(c.layout, cells); bad != nil {
			if c.rows.AtEnd() {
				return c.place(ingest.ErrCutRow, -1)
			}
			if err := c.place(bad.err, bad.column); !c.broken.leaveOut(&ingest.RowError{Err: err}) {
				return err
			}
			continue
		}
		c.read++
		c.broken.keep()
		c.tail.add(cells)
		if c.row.empty < 0 {
			return nil
		}
		c.emptied.add(&c.row)
	}
}

// emptyCells counts rows that were left out because a stage has no value.
type emptyCells struct {
	rows, cells int
	first       row // its step, rank, line, and column that is empty
}

func (e *emptyCells) add(r *row) {
	e.cells += r.empties
	if e.rows++; e.rows == 1 {
		e.first = row{step: r.step, rank: r.rank, line: r.line, empty: r.empty}
	}
}

// read parses the cells of a row.
func (r *row) read(l *layout, cells []string) *cellError {
	if n := len(l.columns); len(cells) != n {
		return &cellError{-1, input.Bad(input.ErrRagged, "%d cells, the header has %d columns", len(cells)-l.added, n-l.added)}
	}
	r.wall, r.window, r.empty, r.empties = -1, 0, -1, 0
	clear(r.values)
	for i, text := range cells {
		if l.columns[i].kind == stage && isMissing(strings.TrimSpace(text)) {
			if r.empties++; r.empty < 0 {
				r.empty = i
			}
			continue
		}
		if err := r.set(&l.columns[i], text); err != nil {
			return &cellError{i, err}
		}
	}
	return r.checkSide(l)
}

// set sets a cell of any kind. Blanks around it count in names only.
func (r *row) set(c *column, text string) (err error) {
	if c.kind == attr && (c.index == attrRun || c.index == attrHost) {
		r.attrs[c.index] = text
		return nil
	}
	text = strings.TrimSpace(text)
	switch c.kind {
	case attr:
		r.attrs[c.index] = text
	case value:
		err = r.values[c.index].setValue(text)
	case ready:
		r.values[c.index].ready, r.values[c.index].known, err = flag(text)
	case stage:
		r.times[c.index], err = r.numbers.duration(text, c.unit)
	case wall:
		if !isMissing(text) {
			r.wall, err = r.numbers.duration(text, c.unit)
		}
	case window:
		digits, negative := strings.CutPrefix(text, "-")
		if text != "" {
			r.window, err = parseWhole(digits)
		}
		if negative {
			r.window = -r.window
		}
	case step:
		number, _ := r.numbers.clean(numberOf(text))
		if r.step, err = parseWhole(number); r.step > maxStep {
			err = input.Bad(input.ErrOverflow, "step %d", r.step)
		}
	case rank:
		if r.rank, err = parseWhole(numberOf(strings.Trim(text, "'"))); r.rank >= trace.MaxRanks {
			err = input.Bad(input.ErrTooLarge, "rank %d, expected 0 to %d", r.rank, trace.MaxRanks-1)
		}
	}
	return err
}

// parseWhole parses a whole number from 0 to 2⁶³−1, and says what is wrong with any
// other. "3.0" is whole, as programs write integers beside nulls.
func parseWhole(text string) (int64, error) {
	text = strings.TrimSpace(text)
	v, err := strconv.ParseUint(text, 10, 63)
	if err == nil {
		return int64(v), nil
	}
	tooLarge := errors.Is(err, strconv.ErrRange)
	d, ok := decimal.Parse(text)
	v2, isWhole := d.Integer()
	f, _ := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0, input.Bad(input.ErrMissing, "an empty cell, expected a whole number")
	case tooLarge:
		return 0, input.Bad(input.ErrOverflow, "%.60s is too large, expected at most %d", text, int64(math.MaxInt64))
	case math.IsNaN(f) || math.IsInf(f, 0):
		return 0, input.Bad(input.ErrNotFinite, "%.60q, expected a whole number", text)
	case !ok:
		return 0, input.Bad(input.ErrType, "%.60q, expected a whole number", text)
	case f < 0:
		return 0, input.Bad(input.ErrNegative, "%.60q, expected a whole number from 0", text)
	case !isWhole || strings.ContainsAny(text, "eE"):
		return 0, input.Bad(input.ErrType, "%.60q, expected a whole number", text)
	}
	return v2, nil
}

// duration parses a time in its unit, that of the cell or of its column, as nanoseconds. Nanoseconds are whole.
func (n numbers) duration(text string, unit Unit) (int64, error) {
	var v int64
	number, own := n.clean(text)
	unit = cmp.Or(own, unit)
	d, isNumber := decimal.Parse(number)
	var err error
	if unit <= Nanoseconds || !isNumber {
		v, err = parseWhole(number)
	} else if ns, fits := d.Shift(unit.exponent()).Round(); !fits {
		err = input.Bad(input.ErrOverflow, "%.60s %s", text, unit)
	} else if v = ns; d.Mant < 0 {
		err = input.Bad(input.ErrNegative, "%.60q, expected a number from 0", text)
	}
	if err == nil && v > maxTime {
		return 0, input.Bad(input.ErrOverflow, "%.60s %s is longer than any stage: are times in another unit (--unit), or is this column a clock?", text, max(unit, Nanoseconds))
	}
	switch {
	case !errors.Is(err, input.ErrType):
	case isNumber:
		err = input.Bad(input.ErrType, "%.60q, expected a whole number: durations are nanoseconds without a fraction; where they are not, the name of the column says so (data_ms, data_s) or --unit", text)
	default:
		err = input.Bad(input.ErrType, "%.60q is no time: expected a number, with a unit where the name of the column has none (15.0ms), or an empty cell where it is not known", text)
	}
	return v, err
}

func (s *sideCell) setValue(text string) error {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return input.Bad(input.ErrType, "%.60q, expected a number, or nothing where no sample was taken", text)
	}
	s.value, s.sampled = v, true
	return nil
}

// flag parses true or false; known is false for an empty cell.
func flag(text string) (v, known bool, err error) {
	i := slices.Index([]string{"", "true", "1", "false", "0"}, strings.ToLower(text))
	if i < 0 {
		return false, false, input.Bad(input.ErrType, "%.60q, expected true or false", text)
	}
	return i == 1 || i == 2, i > 0, nil
}

// checkSide refuses samples that no window may have.
func (r *row) checkSide(l *layout) *cellError {
	for i, s := range r.values {
		var err error
		switch {
		case s.sampled != s.known:
			err = input.Bad(input.ErrRagged, "a sample and whether it is ready go together: one of the two cells of channel %q is empty", l.channels[i])
		case s.ready && (math.IsNaN(s.value) || math.IsInf(s.value, 0)):
			err = input.Bad(input.ErrNotFinite, "channel %q is %v and said to be ready", l.channels[i], s.value)
		case s.ready && s.value < 0:
			err = input.Bad(input.ErrNegative, "channel %q is %v", l.channels[i], s.value)
		}
		if err != nil {
			return &cellError{-1, err}
		}
	}
	return nil
}
