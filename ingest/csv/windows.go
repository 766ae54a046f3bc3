package csv

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// finish ends a window whose rows are all there, and refuses one that was ended before; limit is what may be held of them.
func (g *group) finish(seen *closedWindows, limit int64) error {
	g.maxRank = slices.Max(g.ranks)
	if line, again := seen.note(windowKey{g.run, g.window}, stretch{g.first, g.lastStep, g.lastAt}); again {
		return input.At(input.Pos{File: g.file, Line: g.firstLine}, input.Bad(input.ErrDuplicate,
			"window %d of run %q was closed at line %d and goes on here: order the rows by run and window, and number the windows on after a restart", g.window, g.run, line))
	}
	if g.shelf == nil {
		return nil
	}
	g.shelf.put(g)
	g.rows, g.times = nil, nil
	most := max(1, limit/stretchPart/g.cost())
	stretches := (int64(g.shelf.rows) + most - 1) / most
	g.per = int((int64(g.shelf.rows) + stretches - 1) / stretches)
	return nil
}

// windows makes the windows of the collected rows: of one stretch of their steps where they were too many to be held. The
// group is empty after the last.
func (g *group) windows(limit int64) ([]*trace.Window, error) {
	if g.shelf == nil {
		defer g.reset()
		return g.join()
	}
	if err := g.shelf.take(g, g.per); err != nil {
		return nil, err
	}
	if int64(len(g.rows))*g.cost() > limit {
		return nil, input.At(g.pos(0), g.errTooLarge(limit).err)
	}
	out, err := g.join()
	if !g.layout.numbersWindows() {
		g.window++
	}
	g.clear()
	if !g.hasShelved() {
		g.reset()
	}
	return out, err
}

func (g *group) pos(row int) input.Pos { return input.Pos{File: g.file, Line: g.rows[row].line} }

// world returns the world size that a row says, or the least that there can be.
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

// compare orders windows by run, then by number.
func (k windowKey) compare(o windowKey) int {
	return cmp.Or(cmp.Compare(k.run, o.run), cmp.Compare(k.window, o.window))
}

// stretch is the steps of a window that was made, and the line it ended at.
type stretch struct{ first, last, line int64 }

// closedWindows remembers the windows that were made, some 65,536 to 131,072 of
// them, to recognise rows that come too late.
type closedWindows struct {
	lately, before map[windowKey]stretch
}

const generation = 1 << 16

// note enters a window. again reports that an earlier window of the same name shares steps with it, and line where that
// window ended. Numbers of windows may recur without shared steps, as after a restart.
func (e *closedWindows) note(key windowKey, s stretch) (line int64, again bool) {
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
