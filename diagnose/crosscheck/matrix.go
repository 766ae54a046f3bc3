package crosscheck

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// matrix is a source by step.
type matrix struct {
	Source
	rows   map[int64]row // by step index, or by order
	order  []int64       // keys of rows, ascending
	ranks  []int         // those in every window
	stages []string      // of all windows, in the order of their first appearance, the residual last; microsteps count as their stage
}

// row is one step: where it lies.
type row struct {
	w *trace.Window
	t int
}

// gather indexes the steps of a source.
func gather(s Source, by Match) (*matrix, error) {
	m := &matrix{Source: s, rows: make(map[int64]row)}
	m.Windows = slices.SortedStableFunc(slices.Values(s.Windows), func(a, b *trace.Window) int { return cmp.Compare(a.FirstStep, b.FirstStep) })
	wall := false
	for i, w := range m.Windows {
		if w.Run != m.Windows[0].Run {
			return nil, input.Bad(input.ErrFormat, "it holds the runs %q and %q: give one run for each source", m.Windows[0].Run, w.Run)
		}
		for t := range w.Steps() {
			key := w.StepAt(t)
			if by == ByOrder {
				key = int64(len(m.rows))
			}
			if _, twice := m.rows[key]; twice {
				return nil, input.Bad(input.ErrDuplicate, "step %d is in it twice", key)
			}
			m.rows[key] = row{w, t}
		}
		var ids []int
		for _, r := range w.Ranks {
			if i == 0 || slices.Contains(m.ranks, r.ID) {
				ids = append(ids, r.ID)
			}
		}
		m.ranks = ids
		groups, _ := w.Schema.Groups()
		for _, name := range groups {
			if !slices.Contains(m.stages, name) {
				m.stages = append(m.stages, name)
			}
		}
		wall = wall || w.Wall != nil
	}
	if len(m.rows) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no steps")
	}
	if wall {
		m.stages = append(m.stages, stagename.Residual)
	}
	m.order = slices.Sorted(maps.Keys(m.rows))
	return m, nil
}

// namedStages returns the stages without the residual, which every recorder may have.
func (m *matrix) namedStages() []string {
	return slices.DeleteFunc(slices.Clone(m.stages), func(name string) bool { return name == stagename.Residual })
}

// windowsOf returns the windows of the source with some of their steps and ranks.
func (m *matrix) windowsOf(steps []int64, ranks []int) []*trace.Window {
	var out []*trace.Window
	var last *trace.Window
	for _, step := range steps {
		at := m.rows[step]
		if at.w != last {
			part := *at.w
			part.FirstStep, part.Durations, part.Wall, part.Side = at.w.StepAt(at.t), nil, nil, nil
			out, last = append(out, &part), at.w
		}
		part := out[len(out)-1]
		part.Durations, part.Wall = append(part.Durations, at.w.Step(at.t)...), append(part.Wall, at.w.WallOf(at.t)...)
	}
	for i, w := range out {
		out[i] = w.Select(columnsOf(w, ranks))
	}
	return out
}

// columnsOf returns the places of ranks in a window.
func columnsOf(w *trace.Window, ranks []int) (columns []int) {
	for i, r := range w.Ranks {
		if slices.Contains(ranks, r.ID) {
			columns = append(columns, i)
		}
	}
	return columns
}

// longest returns the largest difference between two sources of the duration of a stage that both have, in nanoseconds.
func longest(a, b *matrix, steps []int64, ranks []int) int64 {
	worst := int64(0)
	for _, step := range steps {
		mine, other := a.rows[step].totals(ranks), b.rows[step].totals(ranks)
		for stage, durations := range mine {
			for i, d := range other[stage] {
				worst = max(worst, d-durations[i], durations[i]-d)
			}
		}
	}
	return worst
}

// totals returns the durations of a step by stage, of ranks, with the parts of an accumulated stage added.
func (r row) totals(ranks []int) map[string][]int64 {
	out := make(map[string][]int64)
	groups, of := r.w.Schema.Groups()
	columns, durations := columnsOf(r.w, ranks), r.w.Step(r.t)
	for s, g := range of {
		if out[groups[g]] == nil {
			out[groups[g]] = make([]int64, len(columns))
		}
		for i, c := range columns {
			out[groups[g]][i] += durations[s*len(r.w.Ranks)+c]
		}
	}
	return out
}
