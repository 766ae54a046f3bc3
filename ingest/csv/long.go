package csv

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// Names of the two columns that make a table long: a row for each stage of a
// step of a rank.
var (
	longNames  = []string{"stage", "stage_name", "phase", "name", "section", "event", "op", "variable", "metric", "metric_name", "key", "tag", "timer", "measure", "series", "scalar"}
	longValues = []string{"duration", "dur", "time", "elapsed", "value", "values", "duration_ns", "dur_ns", "time_ns", "elapsed_ns"}
	longUnits  = []string{"unit", "units"}
)

// longPlaces are the columns of the name and the duration, and of its unit; −1 for none. fixed are those that are of no stage.
type longPlaces struct {
	name, value, unit int
	fixed             []int
	ranks             bool // the names of stages have the rank, or runs do
	run               int
	said              Unit // in the name of the value
}

// longColumns finds the columns of a long table. Every other column must be known.
func longColumns(names []string) (at longPlaces, ok bool) {
	at = longPlaces{name: -1, value: -1, unit: -1, run: -1}
	known := meanings(names)
	for i, c := range known {
		stem, u := splitUnit(normalName(names[i]))
		if unit, only := isUnit(names[i]); only {
			stem, u = longValues[0], unit
		}
		switch {
		case c.kind == ignored || c.kind == wall && stem != "time":
		case c.kind != stage:
			at.fixed = append(at.fixed, i)
			if c.kind == attr && c.index == attrRun {
				at.run = i
			}
		case at.name < 0 && slices.Contains(longNames, normalName(names[i])):
			at.name = i
		case at.unit < 0 && slices.Contains(longUnits, normalName(names[i])):
			at.unit = i
		case at.value < 0 && slices.Contains(longValues, stem):
			at.value, at.said = i, u
		default:
			return at, false
		}
	}
	at.ranks = !hasKind(known, rank)
	return at, at.name >= 0 && at.value >= 0 && hasKind(known, step)
}

// rankOfRow returns the rank that the name of a stage has, or that of its run, and the name without it.
func (at *longPlaces) rankOfRow(cells []string, name string) (rank, stage string, err error) {
	if r, rest, ok := RankIn(name); ok && rest != "" {
		return strconv.Itoa(r), rest, nil
	}
	if at.run >= 0 {
		if r, _, ok := RankIn(cells[at.run]); ok {
			return strconv.Itoa(r), name, nil
		}
	}
	return "", "", input.Bad(input.ErrMissing, "no rank: give the table a column rank, or the names of stages, or of runs, as rank3/%.60s", name)
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

// widen reads a long table, whose header was read, and returns the column names of the wide table. Stages stand in the
// order of their first rows. A stage without a row in a step takes no time there.
func widen(in rows, names []string, at longPlaces, limit int64) (*longRows, []string, error) {
	l := &longRows{rows: in}
	fixedOf := func(cells []string, rank string) (out []string) {
		for _, i := range at.fixed {
			if !at.ranks || i != at.run {
				out = append(out, cells[i])
			}
		}
		if at.ranks {
			out = append(out, rank)
		}
		return out
	}
	columns := make(map[string]bool)
	before, together := "", false // rows of one stage stand together: their order is not that of a step
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
		name, value, rank := strings.TrimSpace(cells[at.name]), strings.Clone(strings.TrimSpace(cells[at.value])), ""
		if isNotTime(name) { // a loss among the times
			continue
		}
		if at.ranks {
			if rank, name, err = at.rankOfRow(cells, name); err != nil {
				return nil, nil, err
			}
		}
		if stem, unit := splitUnit(name); unit != Unsaid && at.said == Unsaid {
			name, value = stem, value+unit.String()
		}
		if at.unit >= 0 {
			value += strings.TrimSpace(cells[at.unit])
		}
		together = together || name == before && len(l.stages) == 1
		if before = name; !columns[name] {
			name = strings.Clone(name)
			columns[name] = true
			l.stages = append(l.stages, name)
		}
		fixed := fixedOf(cells, rank)
		key := strings.Join(fixed, "\x00")
		row := known[key]
		if row == nil {
			row = &longRow{pos: in.Pos(), fixed: fixed, times: make(map[string]string)}
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
	var header []string
	for _, i := range at.fixed {
		if !at.ranks || i != at.run {
			header = append(header, names[i])
		}
	}
	if at.ranks {
		header = append(header, "rank")
	}
	first := beginningOf(l.stages)
	for i, stage := range l.stages {
		l.stages[i] = strings.TrimPrefix(stage, first)
	}
	for _, row := range l.table {
		if first == "" {
			break
		}
		times := make(map[string]string, len(row.times))
		for stage, time := range row.times {
			times[strings.TrimPrefix(stage, first)] = time
		}
		row.times = times
	}
	if together {
		sortStages(l.stages)
	}
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
