package csv

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// windows makes the windows of the collected rows and empties the group.
func (g *group) windows(seen *earlier) ([]*trace.Window, error) {
	defer g.reset()
	g.maxRank = slices.Max(g.ranks)
	first, end := g.rows[0].step, g.rows[0].step
	for i := range g.rows {
		first, end = min(first, g.rows[i].step), max(end, g.rows[i].step)
	}
	if line, again := seen.note(windowKey{g.run, g.window}, stretch{first, end, g.rows[len(g.rows)-1].line}); again {
		return nil, input.At(g.pos(0), input.Bad(input.ErrDuplicate,
			"window %d of run %q was closed at line %d and goes on here: order the rows by run and window, and number the windows on after a restart", g.window, g.run, line))
	}
	return g.join()
}

func (g *group) pos(row int) input.Pos { return input.Pos{File: g.file, Line: g.rows[row].line} }

// world is the world size that a row says, or the least that there can be.
func (g *group) world(m meta) int {
	if m.world > 0 {
		return m.world
	}
	return g.maxRank + 1
}

func (g *group) schema() trace.Schema {
	return trace.Schema{Stages: slices.Clone(g.layout.stages)}
}

// windowKey names a window of an input.
type windowKey struct {
	run    string
	window int64
}

// stretch is the steps of a window that was made, and the line it ended at.
type stretch struct{ first, last, line int64 }

// earlier remembers the windows that were made, some 65,536 to 131,072 of
// them, to recognise rows that come too late.
type earlier struct {
	lately, before map[windowKey]stretch
}

const generation = 1 << 16

// note enters a window. again reports that one of the same name has steps in
// common with it, and where that one ended; the numbers of windows alone may
// come again, as after a restart.
func (e *earlier) note(key windowKey, s stretch) (line int64, again bool) {
	old, ok := e.lately[key]
	if !ok {
		old, ok = e.before[key]
	}
	if ok && s.first <= old.last && old.first <= s.last {
		return old.line, true
	}
	if len(e.lately) >= generation {
		e.before, e.lately = e.lately, make(map[windowKey]stretch)
	}
	e.lately[key] = s
	return 0, false
}
