package csv

import (
	"cmp"
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
	if w := g.grid(first, end+1); w != nil {
		if err := w.Validate(); err != nil {
			return nil, input.At(g.pos(0), err)
		}
		return []*trace.Window{w}, nil
	}
	return g.join()
}

func (g *group) pos(row int) input.Pos { return input.Pos{File: g.file, Line: g.rows[row].line} }

// grid is the window when every rank has one row for each step and says the
// same in all of them, and all ranks agree: the usual case, in any order of
// the rows. Otherwise it is nil.
func (g *group) grid(first, end int64) *trace.Window {
	n, R, S := len(g.rows), len(g.ranks), len(g.layout.stages)
	if end-first > int64(n/R) || int(end-first)*R != n || g.walls != 0 && g.walls != n {
		return nil
	}
	w := &trace.Window{Run: g.run, Index: g.window, FirstStep: first, WorldSize: g.world(g.metas[g.rows[0].meta]), Schema: g.schema()}
	if w.Ranks = g.agreed(w); w.Ranks == nil {
		return nil
	}
	place := make([]int32, R) // of the ranks, by appearance
	for c, rank := range w.Ranks {
		place[g.column[rank.ID]-1] = int32(c)
	}
	w.Durations = make([]int64, n*S)
	if g.walls > 0 {
		w.Wall = make([]int64, n)
	}
	seen := make([]bool, n)
	for i := range g.rows {
		row := &g.rows[i]
		t, c := int(row.step-first), int(place[row.rank])
		if seen[t*R+c] {
			return nil // and another is missing: join says which
		}
		seen[t*R+c] = true
		times := g.times[i*S : (i+1)*S]
		at := t*S*R + c
		for _, d := range times {
			w.Durations[at] = d
			at += R
		}
		if w.Wall != nil {
			w.Wall[t*R+c] = row.wall
		}
	}
	w.Side = g.channels(place)
	w.NoteMissing()
	return w
}

// agreed are the ranks of the window when each says one thing about itself and
// all say one thing about the window, which is set in w; otherwise nil.
func (g *group) agreed(w *trace.Window) []trace.Rank {
	of := slices.Repeat([]int32{-1}, len(g.ranks)) // meta of each rank
	for i := range g.rows {
		row := &g.rows[i]
		if of[row.rank] >= 0 && of[row.rank] != row.meta {
			return nil
		}
		of[row.rank] = row.meta
	}
	one := &g.metas[of[0]]
	w.Accumulation, w.DataWait = one.accum, one.wait
	ranks := make([]trace.Rank, len(g.ranks))
	for i, id := range g.ranks {
		m := &g.metas[of[i]]
		if m.accum != one.accum || m.wait != one.wait || g.world(*m) != w.WorldSize {
			return nil
		}
		ranks[i] = m.rank
		ranks[i].ID, ranks[i].Role = id, slices.Clone(m.rank.Role)
		if !m.ok {
			w.GatherFailed = append(w.GatherFailed, id)
		}
	}
	slices.Sort(w.GatherFailed)
	slices.SortFunc(ranks, func(a, b trace.Rank) int { return cmp.Compare(a.ID, b.ID) })
	return ranks
}

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

// channels are the side channels that have samples, by name.
func (g *group) channels(place []int32) []trace.SideChannel {
	var side []trace.SideChannel
	for i, cells := range g.side {
		if len(cells) == 0 {
			continue
		}
		c := trace.SideChannel{Name: g.layout.channels[i], Samples: make([]trace.Sample, len(cells))}
		for k, s := range cells {
			row := &g.rows[s.row]
			c.Samples[k] = trace.Sample{Step: row.step, Rank: int(place[row.rank]), Value: s.value, Ready: s.ready}
		}
		slices.SortFunc(c.Samples, func(a, b trace.Sample) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
		})
		side = append(side, c)
	}
	slices.SortFunc(side, func(a, b trace.SideChannel) int { return cmp.Compare(a.Name, b.Name) })
	return side
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
