package csv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/decimal"
	"github.com/sfstat/sfstat/trace/input"
)

// Names of the columns of a table of operators, a row for each operator that a rank ran in a step.
var (
	operatorNames = []string{"op", "optype", "operator", "op_name", "op_type", "operation", "kernel", "task"}
	startNames    = []string{"start", "start_ts", "start_time", "begin", "begin_ts", "ts"}
	endNames      = []string{"end", "end_ts", "end_time", "stop", "finish"}
)

// operatorPlaces are the columns of a table of operators; −1 for none.
type operatorPlaces struct {
	name, start, value int
	ends               bool // value is when the operator ended
	units              [2]Unit
	fixed              []int // columns that are of no operator
	ignored            []string
}

// operatorColumns finds the columns of a table of operators. Columns that are known to no format are
// left out: those of a trace say much more about an operator than when it ran.
func operatorColumns(names []string) (at operatorPlaces, ok bool) {
	if !Recognizes(names) {
		return at, false
	}
	at = operatorPlaces{name: -1, start: -1, value: -1}
	for _, known := range slices.Concat(operatorNames, longNames) {
		if at.name < 0 {
			at.name = slices.IndexFunc(names, func(n string) bool { return normalName(n) == known })
		}
	}
	timed := func(known []string) (int, Unit) {
		for i, n := range names {
			if p := normalName(n); slices.Contains(known, p) {
				return i, Unsaid
			}
			if stem, unit := splitUnit(normalName(n)); slices.Contains(known, stem) {
				return i, unit
			}
		}
		return -1, Unsaid
	}
	at.start, at.units[0] = timed(startNames)
	if at.value, at.units[1] = timed(longValues); at.value < 0 {
		at.value, at.units[1] = timed(endNames)
		at.ends = true
	}
	if at.name < 0 || at.start < 0 || at.value < 0 {
		return at, false
	}
	for i, c := range meanings(names) {
		switch {
		case i == at.name || i == at.start || i == at.value:
		case c.kind == step || c.kind == rank || c.kind == window || c.kind == attr:
			at.fixed = append(at.fixed, i)
		default:
			at.ignored = append(at.ignored, names[i])
		}
	}
	return at, true
}

// IsLong reports whether a table with these columns has a row for each stage or operator of a step.
func IsLong(names []string) bool {
	_, long := longColumns(names)
	_, timed := operatorColumns(names)
	return long && Recognizes(names) || timed
}

// operatorRun is an operator that a rank ran in a step.
type operatorRun struct {
	name       int32
	seq        int32 // of the name in the step
	start, end int64 // ns
	at         int   // instance
}

// cell is a step of a rank.
type cell struct {
	pos   input.Pos
	fixed []string
	rank  string // the cells that are of no step
	step  int64
	ops   []operatorRun
	begin int64 // of the step, ns
	wall  int64
	times []int64 // by instance
	has   []bool  // by instance, a row
	// incomplete: it lacks rows that its rank usually has.
	incomplete bool
}

// operatorCost is about what an operator takes in memory.
const operatorCost = 64

// serialize turns a table of operators, whose header was read, into a wide table. Its columns are the own time of each
// operator of a step, and the wall time to the first operator of the next step.
func serialize(in rows, names []string, at operatorPlaces, c *Reader, unit Unit) (rows, []string, error) {
	if stamps, ok := in.(interface{ unitOf(column int) Unit }); ok {
		at.units[0] = cmp.Or(stamps.unitOf(at.start), at.units[0])
		at.units[1] = cmp.Or(stamps.unitOf(at.value), at.units[1])
	}
	o := &operatorRows{in: in, at: at, unit: unit, ids: make(map[string]int32), known: make(map[string]*cell)}
	o.stepColumn = slices.IndexFunc(meanings(names), func(c column) bool { return c.kind == step })
	if err := o.read(len(names), c.lim.Pending); err != nil {
		return nil, nil, err
	}
	p := programOf(o.names, o.cells)
	p.account()
	header := make([]string, 0, len(at.fixed)+len(p.instances)+1)
	for _, i := range at.fixed {
		header = append(header, names[i])
	}
	for _, name := range p.stages {
		header = append(header, prefixStage+name)
	}
	o.walled = !p.unbounded
	if at.ignored != nil {
		c.notes = append(c.notes, input.Note{Kind: input.NoteColumnsIgnored, Text: "columns that say no more of when operators ran are left out: " + strings.Join(quoteNames(at.ignored), ", ")})
	}
	if p.lost > 0 {
		c.notes = append(c.notes, input.Note{Kind: input.NoteRowsEmpty, Text: fmt.Sprintf(
			"%d of %d operators have no row in a step in which their rank usually runs them; the time between those before and behind stands for them", p.lost, p.lost+p.ran)})
	}
	c.notes = append(c.notes, o.absences(p, slices.IndexFunc(at.fixed, func(i int) bool { return meanings(names)[i].kind == rank }))...)
	if o.walled {
		header = append(header, attrWall)
	}
	return o, header, nil
}

// absences returns what ranks have no rows of, given which of the fixed cells is the rank.
func (o *operatorRows) absences(p *program, place int) (out []input.Note) {
	for _, a := range p.absent {
		if len(out) == mostAbsences {
			return append(out, input.Note{Kind: input.NoteRowsEmpty, Text: fmt.Sprintf("%d more operators have no rows on a rank", len(p.absent)-mostAbsences)})
		}
		text := fmt.Sprintf("rank %s has no rows of %.60q, which %d others run", strings.TrimSpace(a.of.fixed[place]), p.names[a.name], a.others)
		if a.filled {
			text += ": the time between what runs before and behind stands for it"
		}
		out = append(out, input.Note{Kind: input.NoteRowsEmpty, Text: text})
	}
	return out
}

// mostAbsences is how many operators without rows on a rank are told apart.
const mostAbsences = 8

// operatorRows are the wide rows of a table of operators.
type operatorRows struct {
	in         rows
	at         operatorPlaces
	unit       Unit // of columns whose name says none
	stepColumn int

	names  []string
	ids    map[string]int32
	known  map[string]*cell
	cells  []*cell
	walled bool // wall times are known

	next int   // behind the row that was returned last
	end  error // what ended the input
	out  []string
}

// read reads all rows.
func (o *operatorRows) read(columns int, limit int64) error {
	for held := int64(0); ; held += operatorCost {
		cells, err := o.in.Next()
		if err != nil {
			o.end = err
			break
		}
		if len(cells) != columns {
			if o.in.AtEnd() {
				o.end = ingest.ErrCutRow
				break
			}
			return input.Bad(input.ErrRagged, "%d cells, the header has %d columns", len(cells), columns)
		}
		n := len(o.cells)
		if err := o.row(cells); err != nil {
			if o.in.AtEnd() {
				o.end = ingest.ErrCutRow
				break
			}
			return err
		}
		if len(o.cells) > n {
			held += 4 * longCost
		}
		if held > limit {
			return input.Bad(input.ErrTooLarge, "a table of operators that takes more than %d bytes: give fewer steps, or operators of longer parts of a step", limit)
		}
	}
	if o.end == io.EOF || errors.Is(o.end, input.ErrTruncated) {
		return nil
	}
	return o.end
}

// row reads one operator.
func (o *operatorRows) row(cells []string) error {
	name := strings.TrimSpace(cells[o.at.name])
	if name == "" {
		return input.Bad(input.ErrMissing, "an operator without a name")
	}
	start, err := instant(cells[o.at.start], cmp.Or(o.at.units[0], o.unit))
	if err != nil {
		return err
	}
	value, err := instant(cells[o.at.value], cmp.Or(o.at.units[1], o.unit))
	if err != nil {
		return err
	}
	if !o.at.ends {
		value += start
	}
	if value < start || value-start > maxTime {
		return input.Bad(input.ErrNegative, "%.60q begins at %d ns and ends at %d ns", name, start, value)
	}
	id, ok := o.ids[name]
	if !ok {
		id = int32(len(o.names))
		name = strings.Clone(name)
		o.ids[name] = id
		o.names = append(o.names, name)
	}
	c, err := o.cellOf(cells)
	if err == nil {
		c.ops = append(c.ops, operatorRun{name: id, start: start, end: value})
	}
	return err
}

// cellOf returns the step of a rank that a row is of.
func (o *operatorRows) cellOf(cells []string) (*cell, error) {
	var key, rank strings.Builder
	for _, i := range o.at.fixed {
		text := strings.TrimSpace(cells[i])
		key.WriteString(text)
		key.WriteByte(0)
		if i != o.stepColumn {
			rank.WriteString(text)
			rank.WriteByte(0)
		}
	}
	if c := o.known[key.String()]; c != nil {
		return c, nil
	}
	at, err := parseWhole(cells[o.stepColumn])
	if err != nil {
		return nil, err
	}
	c := &cell{pos: o.in.Pos(), rank: rank.String(), step: at}
	for _, i := range o.at.fixed {
		c.fixed = append(c.fixed, strings.Clone(cells[i]))
	}
	o.known[key.String()] = c
	o.cells = append(o.cells, c)
	return c, nil
}

// instant parses a time of a clock as nanoseconds.
func instant(text string, unit Unit) (int64, error) {
	d, isNumber := decimal.Parse(strings.TrimSpace(text))
	if !isNumber {
		return 0, input.Bad(input.ErrType, "%.60q, expected when an operator began or how long it took: a number", text)
	}
	if _, isWhole := d.Integer(); unit <= Nanoseconds && !isWhole {
		return 0, input.Bad(input.ErrType, "%.60q: times are nanoseconds without a fraction; where they are not, the name of the column says so (start_s, duration_ms) or --unit", text)
	}
	ns, fits := d.Shift(unit.exponent()).Round()
	switch {
	case !fits || ns > maxInstant:
		return 0, input.Bad(input.ErrOverflow, "%.60s %s", text, unit)
	case ns < 0:
		return 0, input.Bad(input.ErrNegative, "%.60q, expected a number from 0", text)
	}
	return ns, nil
}

// maxInstant is a time in 2116: sums of two fit.
const maxInstant = 1 << 62

func (o *operatorRows) Header() ([]string, error) { return o.in.Header() }

func (o *operatorRows) Next() ([]string, error) {
	if o.next == len(o.cells) {
		return nil, o.end
	}
	c := o.cells[o.next]
	o.next++
	o.out = append(o.out[:0], c.fixed...)
	for _, d := range c.times {
		o.out = append(o.out, strconv.FormatInt(d, 10))
	}
	if o.walled {
		o.out = append(o.out, strconv.FormatInt(c.wall, 10))
	}
	return o.out, nil
}

func (o *operatorRows) Pos() input.Pos {
	if o.next == 0 {
		return o.in.Pos()
	}
	return o.cells[o.next-1].pos
}

func (o *operatorRows) AtEnd() bool { return false }
