package crosscheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// matrix is the windows of a source by step.
type matrix struct {
	windows []*trace.Window
	rows    map[int64]row // by step index, or by order
	order   []int64       // keys of rows, ascending
}

// row is one step: where it lies.
type row struct {
	w *trace.Window
	t int
}

// gather indexes the steps of a source.
func gather(s Source, by Match) (*matrix, error) {
	m := &matrix{windows: slices.Clone(s.Windows), rows: make(map[int64]row)}
	slices.SortStableFunc(m.windows, func(a, b *trace.Window) int { return int(min(max(a.FirstStep-b.FirstStep, -1), 1)) })
	for _, w := range m.windows {
		if w.Run != m.windows[0].Run {
			return nil, input.Bad(input.ErrFormat, "it holds the runs %q and %q: give one run for each source", m.windows[0].Run, w.Run)
		}
		for t := range w.Steps() {
			key := w.FirstStep + int64(t)
			if by == ByOrder {
				key = int64(len(m.rows))
			}
			if _, twice := m.rows[key]; twice {
				return nil, input.Bad(input.ErrDuplicate, "step %d is in it twice", key)
			}
			m.rows[key] = row{w, t}
		}
	}
	if len(m.rows) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no steps")
	}
	m.order = slices.Sorted(maps.Keys(m.rows))
	return m, nil
}

func (m *matrix) indices() []int64 { return slices.Clone(m.order) }

// ranks are those in every window.
func (m *matrix) ranks() []int {
	var ids []int
	for _, r := range m.windows[0].Ranks {
		ids = append(ids, r.ID)
	}
	for _, w := range m.windows[1:] {
		ids = slices.DeleteFunc(ids, func(id int) bool { return !slices.ContainsFunc(w.Ranks, func(r trace.Rank) bool { return r.ID == id }) })
	}
	return ids
}

// stages are those of all windows, in the order of their first appearance, the
// residual last. Parts of an accumulated step count as their stage.
func (m *matrix) stages() []string {
	var names []string
	wall := false
	for _, w := range m.windows {
		groups, _ := w.Schema.Groups()
		for _, name := range groups {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		wall = wall || w.Wall != nil
	}
	if wall {
		names = append(names, stagename.Residual)
	}
	return names
}

// named are the stages without the residual, which every recorder may have.
func (m *matrix) named() []string {
	return slices.DeleteFunc(m.stages(), func(name string) bool { return name == stagename.Residual })
}

// shares reports whether two sources have a stage in common.
func (m *matrix) shares(o *matrix) bool {
	theirs := o.named()
	return slices.ContainsFunc(m.named(), func(name string) bool { return slices.Contains(theirs, name) })
}

func (m *matrix) ranksText() string { return "ranks " + trace.RankList(m.ranks()) }

func (m *matrix) stepsText() string {
	return fmt.Sprintf("steps %d to %d", m.order[0], m.order[len(m.order)-1])
}

// eachOf says something of every source.
func eachOf(all []Source, matrices []*matrix, text func(*matrix) string) string {
	var parts []string
	for i, s := range all {
		parts = append(parts, s.Name+" has "+text(matrices[i]))
	}
	return strings.Join(parts, ", ")
}

// one is a window of a single step with the given ranks.
func one(w *trace.Window, t int, ranks []int) *trace.Window {
	var columns []int
	for i, r := range w.Ranks {
		if slices.Contains(ranks, r.ID) {
			columns = append(columns, i)
		}
	}
	single := *w
	single.FirstStep, single.Durations, single.Wall, single.Side = w.FirstStep+int64(t), w.Step(t), w.WallOf(t), nil
	return single.Select(columns)
}

// longest is the largest difference between two sources of the duration of a
// stage that both have, in nanoseconds.
func longest(a, b *matrix, steps []int64, ranks []int) int64 {
	worst := int64(0)
	for _, step := range steps {
		mine, other := totals(a.rows[step], ranks), totals(b.rows[step], ranks)
		for key, d := range mine {
			if e, ok := other[key]; ok {
				worst = max(worst, d-e, e-d)
			}
		}
	}
	return worst
}

// cell is a stage of a rank.
type cell struct {
	stage string
	rank  int
}

// totals are the durations of a step, the parts of an accumulated stage added.
func totals(r row, ranks []int) map[cell]int64 {
	out := make(map[cell]int64)
	groups, of := r.w.Schema.Groups()
	R := len(r.w.Ranks)
	for s := range of {
		for i, rank := range r.w.Ranks {
			if slices.Contains(ranks, rank.ID) {
				out[cell{groups[of[s]], rank.ID}] += r.w.Step(r.t)[s*R+i]
			}
		}
	}
	return out
}
