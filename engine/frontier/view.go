package frontier

import (
	"runtime"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// rows is a window's stages as rows of one matrix: the recorded ones, and last
// the residual where wall time was recorded. Steps × stages × ranks.
type rows struct {
	w        *trace.Window
	names    []string
	lead     int             // steps of the window before, which come first
	open     bool            // a step may take longer than its stages, and nobody knows by how much
	residual []int64         // [step][rank]; nil without wall time
	took     []int64         // [step][rank] of all rows together; nil without wall time
	middles  []robust.Middle // [step][stage] of the row over all ranks
	quality  Quality
}

// newRows derives the residual, max(0, wall − Σ explicit), measures how well
// the stages close, and takes the middle of every row. Expected O(T·S·R) time,
// O(T·(R + S)) memory.
func newRows(w *trace.Window) *rows { return newRowsAfter(w, 0, new(buffers)) }

// newRowsAfter is newRows of a window whose first steps are the last of the
// window before it.
func newRowsAfter(w *trace.Window, lead int, keep *buffers) *rows {
	m := &rows{w: w, lead: lead, names: slices.Clone(w.Schema.Stages), quality: qualityOf(w)}
	m.open = w.Wall == nil && !slices.ContainsFunc(m.names, waiting)
	if w.Wall != nil {
		m.names = append(m.names, stagename.Residual)
		m.residual = append(keep.residual[:0], w.Wall...)
		keep.residual = m.residual
		m.took = append(keep.took[:0], w.Wall...)
		keep.took = m.took
		m.closeSteps()
	}
	S := len(m.names)
	m.middles = sized(&keep.middles, w.Steps()*S)
	inParallel(w.Steps(), S*len(w.Ranks), func(from, to int) {
		scratch := make([]int64, len(w.Ranks))
		for t := from; t < to; t++ {
			for s := range S {
				m.middles[t*S+s] = robust.MiddleOf(m.at(t, s), scratch)
			}
		}
	})
	return m
}

// waiting reports whether a stage is measured waiting. A recorder that has such
// stages accounts for all of a step.
func waiting(stage string) bool { return strings.HasPrefix(stage, stagename.WaitStem) }

// typicalStep is the median over steps of what the median rank takes, stage by
// stage, in nanoseconds. O(T·S).
func (m *rows) typicalStep() int64 {
	S := len(m.names)
	steps := make([]int64, m.w.Steps())
	for t := range steps {
		for _, middle := range m.middles[t*S : (t+1)*S] {
			steps[t] += middle.Median()
		}
	}
	return robust.MedianTime(steps)
}

// closeSteps makes the residual of the wall time, which it holds, and the closure of the worst rank
// (StageFrontier, App. A): a mean over ranks would hide one bad rank by 1/R.
func (m *rows) closeSteps() {
	R := len(m.w.Ranks)
	wall, residual, overlap := make([]int64, R), make([]int64, R), make([]int64, R)
	for t := range m.w.Steps() {
		left, took := m.residual[t*R:(t+1)*R], m.took[t*R:(t+1)*R]
		if t >= m.lead {
			for r, x := range left {
				wall[r] += x
			}
		}
		for s := range m.w.Schema.Stages {
			for r, d := range m.at(t, s) {
				left[r] -= d
			}
		}
		for r, x := range left {
			over := max(0, -x)
			left[r] = max(0, x)
			took[r] += over
			if t >= m.lead {
				residual[r] += left[r]
				overlap[r] += over
			}
		}
	}
	m.quality.close(wall, residual, overlap)
}

// close says how well the stages cover the wall time of each rank; residual is what they leave, overlap
// what they exceed it by.
func (q *Quality) close(wall, residual, overlap []int64) {
	for r, total := range wall {
		if total > 0 {
			q.ClosureResidual = max(q.ClosureResidual, float64(residual[r])/float64(total))
			q.OverlapError = max(q.OverlapError, float64(overlap[r])/float64(total))
		} else if overlap[r] > 0 {
			q.OverlapError = 1
		}
	}
}

// worthAThread is how many values another thread is started for. Of smaller
// windows there are many, which are taken side by side.
const worthAThread = 1 << 16

// inParallel runs f over [0, n), of so many values each, in as many contiguous
// parts as there are processors and values for them. What f writes must not
// overlap between parts, so that the number of parts changes nothing.
func inParallel(n, values int, f func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n, n*values/worthAThread)
	if parts <= 1 {
		f(0, n)
		return
	}
	var wait parallel.Group
	for k := range parts {
		wait.Go(func() { f(k*n/parts, (k+1)*n/parts) })
	}
	wait.Wait()
}

// at is the durations of one stage in one step, [rank], aliasing the window.
func (m *rows) at(t, stage int) []int64 {
	R, S := len(m.w.Ranks), len(m.w.Schema.Stages)
	if stage == S {
		return m.residual[t*R : (t+1)*R]
	}
	from := (t*S + stage) * R
	return m.w.Durations[from : from+R]
}

// view is the rows of a window as one cut sees them: steps of the cut, and in
// each the rows in the order of the cut. It is immutable.
type view struct {
	*rows
	cut    Cut
	order  []place
	from   int // step of the rows at which the cut's first step begins
	steps  int
	groups []string // semantic groups of the rows, in the order of the cut
	group  []int    // [row] → group
	idle   []bool   // [row] the stage is measured waiting

	// start are the ranks' offsets when the first step begins, nanoseconds,
	// ≥ 0; nil means that all start together. Only the carried cut has them.
	start []int64

	// lags marks the rows of which it is asked how far the ranks lag, if only findings
	// are; nil: everything is asked.
	lags []bool
}

// place is where a row of the cut comes from: the stage, and how many steps
// later than the cut's step it was recorded.
type place struct{ stage, shift int }

// newView cuts the rows. For CutSync, after is the stage at whose end the steps
// begin; it is ignored otherwise. A sync cut has one step less, unless after is
// the last stage: what lies before the first synchronisation point and after the last belongs
// to no whole step. Of the steps of the window before, a sync cut begins in the
// last, and the others begin after it.
func newView(m *rows, by Cut, after int) *view {
	S := len(m.names)
	v := &view{rows: m, cut: by, from: m.lead, steps: m.w.Steps() - m.lead}
	first := 0
	if by == CutSync {
		first = (after + 1) % S
		switch {
		case first != 0 && m.lead > 0:
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
	for _, name := range names {
		v.idle = append(v.idle, waiting(name))
	}
	return v
}

func (v *view) ranks() int { return len(v.w.Ranks) }

// starts is when the ranks start each step, prefixes running on, [step][rank].
func (v *view) starts() []int64 {
	R := v.ranks()
	out, x := make([]int64, v.steps*R), make([]int64, R)
	for t := range v.steps {
		copy(out[t*R:], x)
		if at := t + v.from; v.took != nil {
			addTo(x, v.took[at*R:(at+1)*R])
			continue
		}
		for i := range v.order {
			addTo(x, v.row(t, i))
		}
	}
	return out
}

// arriving marks the rows at whose end the ranks arrive at a stage.
func (v *view) arriving(stage string) []bool {
	at := slices.Index(v.groups, stage)
	rows := make([]bool, len(v.order))
	for i, g := range v.group {
		rows[i] = at > 0 && g == at-1
	}
	return rows
}

// row is the durations of row i in step t of the cut, [rank].
func (v *view) row(t, i int) []int64 {
	at := v.order[i]
	return v.at(t+v.from+at.shift, at.stage)
}

// middle is the middle of row i in step t of the cut.
func (v *view) middle(t, i int) robust.Middle {
	at := v.order[i]
	return v.middles[(t+v.from+at.shift)*len(v.names)+at.stage]
}

// name is the stage of row i.
func (v *view) name(i int) string { return v.names[v.order[i].stage] }
