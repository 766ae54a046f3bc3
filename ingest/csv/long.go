package csv

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// Names of the two columns that make a table long: a row for each stage of a
// step of a rank.
var (
	longNames  = []string{"stage", "stage_name", "phase", "name", "section", "event", "op"}
	longValues = []string{"duration", "dur", "time", "elapsed", "value", "duration_ns", "dur_ns", "time_ns", "elapsed_ns", "ns"}
)

// longPlaces are the columns of the name and the duration.
type longPlaces struct{ name, value int }

// longColumns finds the two columns of a long table, and the unit that the
// name of the second says. Every other column must be known.
func longColumns(names []string) (at longPlaces, unit Unit, ok bool) {
	if !Recognizes(names) {
		return at, Unsaid, false
	}
	at = longPlaces{-1, -1}
	for i, c := range meanings(names) {
		stem, u := splitUnit(plain(names[i]))
		switch {
		case c.kind != stage:
		case at.name < 0 && slices.Contains(longNames, plain(names[i])):
			at.name = i
		case at.value < 0 && slices.Contains(longValues, stem):
			at.value, unit = i, u
		default:
			return at, Unsaid, false
		}
	}
	return at, unit, at.name >= 0 && at.value >= 0
}

// longRows are the wide rows of a long table.
type longRows struct {
	rows
	stages []string
	table  []*longRow
	next   int   // after the row that was returned last
	end    error // what ended the input
	cells  []string
}

// longRow is a wide row: the cells that are of no stage, and the times by stage.
type longRow struct {
	pos   input.Pos
	fixed []string
	times map[string]string
}

// longCost is about what a stage of a row takes in memory.
const longCost = 128

// widen reads a long table, whose header was read, and gives the names of the
// columns that it has when it is wide: stages stand in the order of their first
// rows. A stage that a step has no row for takes no time there.
func widen(in rows, names []string, at longPlaces, limit int64) (*longRows, []string, error) {
	l := &longRows{rows: in}
	fixed := func(cells []string) []string {
		return slices.Concat(cells[:min(at.name, at.value)], cells[min(at.name, at.value)+1:max(at.name, at.value)], cells[max(at.name, at.value)+1:])
	}
	columns := make(map[string]bool)
	known := make(map[string]*longRow)
	for held := int64(0); ; held += longCost {
		cells, err := in.Next()
		if err != nil {
			l.end = err
			break
		}
		if len(cells) != len(names) {
			if in.AtEnd() {
				l.end = ingest.ErrCutRow
				break
			}
			return nil, nil, input.Bad(input.ErrRagged, "%d cells, the header has %d columns", len(cells), len(names))
		}
		name, value := strings.TrimSpace(cells[at.name]), strings.Clone(strings.TrimSpace(cells[at.value]))
		if !columns[name] {
			name = strings.Clone(name)
			columns[name] = true
			l.stages = append(l.stages, name)
		}
		key := strings.Join(fixed(cells), "\x00")
		row := known[key]
		if row == nil {
			row = &longRow{pos: in.Pos(), fixed: slices.Clone(fixed(cells)), times: make(map[string]string)}
			known[key], l.table = row, append(l.table, row)
			held += int64(len(key)) + 2*longCost
		}
		switch _, twice := row.times[name]; {
		case twice:
			return nil, nil, input.Bad(input.ErrDuplicate, "stage %q of this step and rank a second time, first at %s: give one row with their sum, number them (%s@0, %s@1), or add a column run or window where the job was restarted", name, row.pos, name, name)
		case held > limit:
			return nil, nil, input.Bad(input.ErrTooLarge, "a table of one row per stage that takes more than %d bytes: write one with a column for each stage", limit)
		}
		row.times[name] = value
	}
	header := fixed(names)
	for _, stage := range l.stages {
		header = append(header, prefixStage+stage)
	}
	return l, header, nil
}

func (l *longRows) Next() ([]string, error) {
	if l.next == len(l.table) {
		return nil, l.end
	}
	row := l.table[l.next]
	l.next++
	l.cells = append(l.cells[:0], row.fixed...)
	for _, stage := range l.stages {
		l.cells = append(l.cells, cmp.Or(row.times[stage], "0"))
	}
	return l.cells, nil
}

func (l *longRows) Pos() input.Pos {
	if l.next == 0 {
		return l.rows.Pos()
	}
	return l.table[l.next-1].pos
}

func (l *longRows) AtEnd() bool { return false }
