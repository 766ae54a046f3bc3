package csv

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// newLayout gives the columns of a header their meaning. unit is that of
// columns whose name says none; sample are the first rows.
func newLayout(names []string, unit Unit, sample [][]string) (*layout, error) {
	if len(names) > maxColumns {
		return nil, input.Bad(input.ErrTooLarge, "more than %d columns", maxColumns)
	}
	l := &layout{names: names, columns: make([]column, len(names)), channelOf: make(map[string]int), units: make(map[Unit][]string)}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		switch {
		case seen[name] && !isNameless(name):
			return nil, input.Bad(input.ErrDuplicate, "two columns are called %q", name)
		case !utf8.ValidString(name):
			return nil, input.Bad(input.ErrFormat, "the column name %q is not UTF-8: save the table as UTF-8", name)
		}
		seen[name] = true
	}
	known := meanings(names)
	l.leaveOut(names, known, sample)
	folder := folderOf(names, known)
	found := make(map[kind]bool)
	for i, name := range names {
		c := l.meaning(strings.TrimPrefix(name, folder), known[i], seen)
		switch c.kind {
		case step, rank, window, wall:
			if found[c.kind] {
				return nil, input.Bad(input.ErrDuplicate, "the column %q is there twice", strings.ToLower(name))
			}
		case attr:
			if l.has[c.index] {
				return nil, input.Bad(input.ErrDuplicate, "the column %q is there twice", strings.ToLower(name))
			}
			l.has[c.index] = true
		case ignored:
			if !slices.Contains(l.texts, name) && !slices.Contains(l.clocks, name) {
				l.ignored = append(l.ignored, name)
			}
		}
		if c.kind == stage || c.kind == wall {
			if c.unit != Unsaid && strings.ToLower(name) != attrWall && !strings.HasPrefix(name, prefixStage) {
				l.units[c.unit] = append(l.units[c.unit], name)
			}
			if c.kind == stage && c.unit == Unsaid {
				l.unsaid = append(l.unsaid, l.stages[c.index])
			}
			c.unit = cmp.Or(c.unit, unit)
		}
		found[c.kind] = true
		l.columns[i] = c
	}
	if found[wall] && len(l.stages) == 0 {
		l.useWallTime()
	}
	if !found[step] || !found[rank] || len(l.stages) == 0 {
		return nil, errLacks(found, names)
	}
	if err := l.checkPairs(); err != nil {
		return nil, err
	}
	return l, l.understand(sample, unit)
}

// useWallTime makes the wall time the only stage of a table that has no other.
func (l *layout) useWallTime() {
	for i := range l.columns {
		if c := &l.columns[i]; c.kind == wall {
			unit := c.unit
			*c = l.stage(stagename.Whole, unit)
			if unit == Unsaid {
				l.unsaid = append(l.unsaid, stagename.Whole)
			}
		}
	}
}

// errLacks returns the error of a header without a required column, with a remedy.
func errLacks(found map[kind]bool, names []string) error {
	among := strings.Join(quoteNames(names[:min(len(names), 12)]), ", ")
	switch {
	case !found[step]:
		return input.Bad(input.ErrMissing, "no column of the step among %s: which one counts the steps? Call it step", among)
	case !found[rank]:
		return input.Bad(input.ErrMissing, "no column of the rank among %s: which one says it? Call it rank; or name a file for each rank, as rank3.csv", among)
	}
	return input.Bad(input.ErrMissing, "no stage among %s: a table has the columns step, rank and the time of each stage", among)
}

// quoteNames returns names for an error's one line.
func quoteNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strconv.Quote(n[:min(len(n), 40)])
	}
	return out
}

// meaning returns what the column of that name holds; known is what its name alone
// says, and seen has all names.
func (l *layout) meaning(name string, known column, seen map[string]bool) column {
	if s, ok := strings.CutPrefix(name, prefixStage); ok {
		return l.stage(s, Unsaid)
	}
	if s, ok := strings.CutPrefix(name, prefixSide); ok {
		return column{kind: value, index: l.channel(s)}
	}
	if s, ok := strings.CutPrefix(name, prefixReady); ok {
		return column{kind: ready, index: l.channel(s)}
	}
	if name = strings.TrimSpace(name); known.kind != stage {
		return known
	}
	if seen[name+readySuffix] {
		return column{kind: value, index: l.channel(name)}
	}
	if s, ok := strings.CutSuffix(name, readySuffix); ok && seen[s] {
		return column{kind: ready, index: l.channel(s)}
	}
	return l.stage(splitUnit(name))
}

func (l *layout) stage(name string, unit Unit) column {
	l.stages = append(l.stages, name)
	return column{stage, len(l.stages) - 1, unit}
}

// channel returns the number of the side channel of that name.
func (l *layout) channel(name string) int {
	i, ok := l.channelOf[name]
	if !ok {
		i = len(l.channels)
		l.channels = append(l.channels, name)
		l.channelOf[name] = i
	}
	return i
}

// checkPairs refuses side channels that lack one of their columns, and names
// that no window may have.
func (l *layout) checkPairs() error {
	if err := (trace.Schema{Stages: l.stages}).Validate(); err != nil {
		return err
	}
	parts := make([][2]int, len(l.channels))
	for _, c := range l.columns {
		if c.kind == value || c.kind == ready {
			parts[c.index][c.kind-value]++
		}
	}
	for i, n := range parts {
		switch name := l.channels[i]; {
		case n != [2]int{1, 1}:
			return input.Bad(input.ErrRagged, "side channel %q needs one column of values and one of readiness", name)
		case name == "" || len(name) > trace.MaxStageName:
			return input.Bad(input.ErrEmpty, "a side channel has a name of %d bytes, expected 1 to %d", len(name), trace.MaxStageName)
		}
	}
	return nil
}
