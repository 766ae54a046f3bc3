package trainlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// Columns are what the columns of numbers are in a log that has nothing else, and no header.
type Columns struct {
	of    []string // stages, or one of the words below
	units []string // of times; "" is seconds
	d     dialect
}

// What a column is that has no time.
const (
	ofNumber = "number" // number of the step
	ofRank   = "rank"
)

// ParseColumns reads what columns are, as in "number,data,step" or "data_ms,step_ms"; nil where nothing is said.
func ParseColumns(text string) (*Columns, error) {
	if text == "" {
		return nil, nil
	}
	c := &Columns{}
	times := 0
	for _, name := range strings.Split(text, ",") {
		name, unit := strings.TrimSpace(name), ""
		for _, u := range [...]string{"ms", "us", "ns", "s"} {
			if stem, ok := strings.CutSuffix(name, "_"+u); ok {
				name, unit = stem, u
				break
			}
		}
		switch {
		case name == "", name != ofNone && name != ofNumber && name != ofRank && slices.Contains(c.of, name):
			return nil, input.Bad(input.ErrFormat, "columns %q, expected a different name for each, as in number,data,step", text)
		case name != ofNone && name != ofNumber && name != ofRank:
			times++
		}
		c.of, c.units = append(c.of, name), append(c.units, unit)
	}
	if times == 0 {
		return nil, input.Bad(input.ErrMissing, "columns %q without a time: step is that of the whole step, data that of its batch", text)
	}
	return c, nil
}

// cellsOf returns the numbers of a line that has nothing else; nil of others.
func cellsOf(line []byte, cells []string) []string {
	cells = cells[:0]
	for _, f := range strings.FieldsFunc(string(line), func(r rune) bool {
		return r == ' ' || r == '\t' || r == ',' || r == ';' || r == '|' || r == '\r' || r == '\n'
	}) {
		if end := numberEnd([]byte(f), 0); end == 0 || end != len(f) || len(cells) == maxColumns {
			return nil
		}
		cells = append(cells, f)
	}
	return cells
}

// Reads reports whether a line is one of such numbers.
func (c *Columns) Reads(line []byte) bool {
	x := reading{}
	_, ok := c.read(line, &x)
	return ok
}

// read reads a line, and the rank in it, −1 without one.
func (c *Columns) read(line []byte, x *reading) (rank int, ok bool) {
	x.d, x.step, x.steps, x.epoch, x.stamp, x.times, x.assumed, x.validation = &c.d, -1, -1, -1, -1, x.times[:0], false, false
	rank = -1
	cells := cellsOf(line, nil)
	if len(cells) != len(c.of) {
		return rank, false
	}
	for i, cell := range cells {
		switch of := c.of[i]; of {
		case ofNone:
		case ofNumber, ofRank:
			if len(cell) > 7 || strings.ContainsAny(cell, ".eE") {
				return rank, false
			}
			if n := wholeNumber([]byte(cell)); of == ofRank {
				rank = int(n)
			} else {
				x.step = n
			}
		default:
			ns, fits := nanoseconds([]byte(cell), c.units[i])
			if !fits {
				return rank, false
			}
			x.times = append(x.times, measurement{of, ns})
		}
	}
	return rank, true
}

// Bare counts lines of numbers alone, to ask what their columns are.
type Bare struct {
	Lines  int64 // that have as many numbers as the first of them
	first  []string
	before []byte   // the line before the first of them
	header []string // its words, where they are as many
	grows  bool     // the first column is a number that grows by one from line to line
	last   int64
}

// most and fewest columns that are asked for, and how much of a line may be their header.
const fewestColumns, mostColumns, mostOfHeader = 2, 8, 400

// Line takes a line.
func (b *Bare) Line(line []byte) {
	if len(line) == 0 || !isDigit(line[skip(line, 0, func(c byte) bool { return isSpace(c) || c == '|' })%len(line)]) {
		if b.first == nil {
			b.before = append(b.before[:0], line[:min(len(line), mostOfHeader)]...)
		}
		return
	}
	cells := cellsOf(line, nil)
	if len(cells) < fewestColumns || len(cells) > mostColumns || b.first != nil && len(cells) != len(b.first) {
		return
	}
	n := int64(-1)
	if len(cells[0]) < 10 && !strings.ContainsAny(cells[0], ".eE") {
		n = wholeNumber([]byte(cells[0]))
	}
	if b.first == nil {
		b.first, b.grows = cells, n >= 0
		if words := strings.Fields(string(b.before)); len(words) == len(cells) {
			b.header = words
		}
	} else {
		b.grows = b.grows && n == b.last+1
	}
	b.last = n
	b.Lines++
}

// Ask returns the question what the columns are, with a flag that answers it; "" where there are too few.
func (b *Bare) Ask() string {
	if b.Lines < severalSteps {
		return ""
	}
	names := make([]string, len(b.first))
	for i := range names {
		names[i] = ofNone
	}
	n := len(names)
	names[n-1] = ofStep
	if b.grows {
		names[0] = ofNumber
	}
	if n > 2 || !b.grows {
		names[n-2] = "data"
	}
	what := fmt.Sprintf("%d columns of numbers without a header", n)
	if b.header != nil {
		what = fmt.Sprintf("%d columns of numbers between blanks, %s", n, strings.Join(b.header, ", "))
		if told := columnsOf(b.header); told != nil {
			names = told
		}
	}
	return fmt.Sprintf("%s: what are they? Say it with a name for each, such as --columns %s (step: the time of the whole step; data, forward and the like: of a part; "+
		"number: of the step; rank; -: nothing of these; in seconds, or data_ms)", what, strings.Join(names, ","))
}

// columnsOf returns what the words of a header say of the columns, as --columns takes it; nil where they name no time.
func columnsOf(header []string) []string {
	list, out, times := standard().list, make([]string, len(header)), false
	own := list[slices.IndexFunc(list, func(d *dialect) bool { return d.Pairs })]
	for i, word := range header {
		of, unit, known := stageOf(own.Names, []byte(word))
		switch {
		case strings.EqualFold(word, ofRank):
			out[i] = ofRank
		case isStep([]byte(word)) && !slices.Contains(out, ofNumber):
			out[i] = ofNumber
		case known && of != ofWall && !slices.Contains(out, of):
			if out[i], times = of, true; unit != "" {
				out[i] += "_" + unit
			}
		default:
			out[i] = ofNone
		}
	}
	if !times {
		return nil
	}
	return out
}
