package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// rows is a window's stages as rows of one matrix: the recorded ones, and last
// the residual where wall time was recorded. Steps × stages × ranks.
type rows struct {
	w        *trace.Window
	before   *trace.Window // the step that w follows, step −1; nil: none is known
	names    []string
	residual []int64         // [1 + step][rank], of before first; nil without wall time
	middles  []robust.Middle // [1 + step][stage] of the row over all ranks; nil: not asked for
	quality  Quality
}

// newRows derives the residual, max(0, wall − Σ explicit), and measures how well
// the stages close. O(T·S·R) time, O(T·R) memory, which is in residual where there is room.
func newRows(w, before *trace.Window, residual []int64) *rows {
	m := &rows{w: w, before: before, names: StagesOf(w), quality: qualityOf(w)}
	if w.Wall != nil {
		R := len(w.Ranks)
		m.residual = slices.Grow(residual[:0], len(w.Wall)+R)[:R]
		if before != nil {
			copy(m.residual, before.Wall)
		}
		m.residual = append(m.residual, w.Wall...)
		m.closeSteps()
	}
	return m
}

// StagesOf returns the stages of a window, the residual last where wall time was recorded.
func StagesOf(w *trace.Window) []string {
	names := slices.Clone(w.Schema.Stages)
	if w.Wall != nil {
		names = append(names, stagename.Residual)
	}
	return names
}

// findMiddles takes the middle of every row. Expected O(T·S·R) time, O(T·S) memory, none of one rank.
func (m *rows) findMiddles() {
	if len(m.w.Ranks) == 1 {
		m.middles = []robust.Middle{}
		return
	}
	S, scratch := len(m.names), make([]int64, len(m.w.Ranks))
	m.middles = make([]robust.Middle, (1+m.w.Steps())*S)
	for t := m.first(); t < m.w.Steps(); t++ {
		for s := range S {
			m.middles[(1+t)*S+s] = robust.MiddleOf(m.durations(t, s), scratch)
		}
	}
}

// middle returns that of a stage in a step.
func (m *rows) middle(t, s int) robust.Middle {
	if len(m.w.Ranks) == 1 {
		return robust.MiddleOf(m.durations(t, s), nil)
	}
	return m.middles[(1+t)*len(m.names)+s]
}

// first returns the first step that has rows.
func (m *rows) first() int {
	if m.before != nil {
		return -1
	}
	return 0
}

// open reports whether a step may take longer than its stages, by nobody knows how much. A recorder that
// has stages that are measured waiting accounts for all of a step.
func (m *rows) open() bool {
	return m.w.Wall == nil && !slices.ContainsFunc(m.w.Schema.Stages, stagename.IsWait)
}

// typicalStep returns the median over steps of the time of the median rank, stage by stage, in nanoseconds. O(T·S).
func (m *rows) typicalStep() int64 {
	steps := make([]int64, 0, 1+m.w.Steps())
	for t := m.first(); t < m.w.Steps(); t++ {
		sum := int64(0)
		for s := range m.names {
			middle := m.middle(t, s)
			sum += middle.Median()
		}
		steps = append(steps, sum)
	}
	return robust.MedianTime(steps)
}

// closeSteps makes the residual of the wall time, which it holds, and the closure of the worst rank
// (StageFrontier, App. A): a mean over ranks would hide one bad rank by 1/R.
func (m *rows) closeSteps() {
	R := len(m.w.Ranks)
	residual, overlap, wall := make([]int64, R), make([]int64, R), make([]int64, R)
	for t := m.first(); t < m.w.Steps(); t++ {
		left := m.durations(t, len(m.names)-1)
		for s := range m.w.Schema.Stages {
			subtract(left, m.durations(t, s))
		}
		for r, x := range left {
			left[r] = max(0, x)
			if t >= 0 {
				residual[r] += left[r]
				overlap[r] += left[r] - x
				wall[r] += m.w.Wall[t*R+r]
			}
		}
	}
	for r, total := range wall {
		if q := &m.quality; total > 0 {
			q.ClosureResidual = max(q.ClosureResidual, float64(residual[r])/float64(total))
			q.OverlapError = max(q.OverlapError, float64(overlap[r])/float64(total))
		} else if overlap[r] > 0 {
			q.OverlapError = 1
		}
	}
}

// durations returns the durations of one stage in one step, [rank], aliasing the window.
func (m *rows) durations(t, stage int) []int64 {
	R, S := len(m.w.Ranks), len(m.w.Schema.Stages)
	switch {
	case stage == S:
		return m.residual[(1+t)*R:][:R]
	case t < 0:
		return m.before.Durations[stage*R:][:R]
	}
	return m.w.Durations[(t*S+stage)*R:][:R]
}

// view is the rows of a window as one cut sees them: steps of the cut, and in
// each the rows in the order of the cut. It is immutable.
type view struct {
	*rows
	cut    Cut
	order  []place
	from   int // step of the rows at which the cut's first step begins
	steps  int
	groups []string  // semantic groups of the rows, in the order of the cut
	group  []int     // [row] → group
	syncs  [][][]int // [row] the sets of ranks that wait for one another in it; nil: nobody waits
	start  []int64   // [rank] offsets when the first step begins, ns, ≥ 0; nil: all start together. Of the carried cut alone

	brief    bool // Options.Brief
	arriving int  // the row at whose end a brief account is asked how far ranks lag; −1: none
}

// place is where a row of the cut comes from: the stage, and how many steps
// later than the cut's step it was recorded.
type place struct{ stage, shift int }

// newView cuts the rows. For CutSync, after is the stage at whose end the steps
// begin; it is ignored otherwise. A sync cut has one step less, unless after is
// the last stage: what lies before the first synchronisation point and after the last belongs
// to no whole step. After a step before the window a sync cut begins in that one.
func newView(m *rows, by Cut, after int) *view {
	S := len(m.names)
	v := &view{rows: m, cut: by, steps: m.w.Steps(), syncs: make([][][]int, S), arriving: -1}
	first := 0
	if by == CutSync {
		first = (after + 1) % S
		switch {
		case first != 0 && m.before != nil:
			v.from--
		case first != 0:
			v.steps--
		}
	}
	names := make([]string, S)
	for i := range S {
		at := place{stage: first + i}
		if at.stage >= S {
			at.stage, at.shift = at.stage-S, 1
		}
		v.order = append(v.order, at)
		names[i] = m.names[at.stage]
	}
	v.groups, v.group = trace.Schema{Stages: names}.Groups()
	return v
}

func (v *view) ranks() int { return len(v.w.Ranks) }

// row returns the durations of row i in step t of the cut, [rank].
func (v *view) row(t, i int) []int64 {
	at := v.order[i]
	return v.durations(t+v.from+at.shift, at.stage)
}

// middle returns the middle of row i in step t of the cut.
func (v *view) middle(t, i int) robust.Middle {
	at := v.order[i]
	return v.rows.middle(t+v.from+at.shift, at.stage)
}

// name returns the stage of row i.
func (v *view) name(i int) string { return v.names[v.order[i].stage] }

// endsStretch reports whether a stretch in which prefixes are not reset ends with a step.
func (v *view) endsStretch(t int) bool { return v.cut != CutCarried || t == v.steps-1 }

// isOneSet reports whether all ranks wait for each other in a row, among sets that do.
func isOneSet(sets [][]int) bool { return len(sets) == 1 }

// everyone returns the single set of all ranks.
func everyone(ranks int) [][]int {
	all := make([]int, ranks)
	for r := range all {
		all[r] = r
	}
	return [][]int{all}
}

// addTo adds d to p, which has its length or less. The inner loop of everything: a
// row of one step at a time, over the ranks.
func addTo(p, d []int64) {
	d = d[:len(p)]
	for i := range p {
		p[i] += d[i]
	}
}

func subtract(p, d []int64) {
	d = d[:len(p)]
	for i := range p {
		p[i] -= d[i]
	}
}
