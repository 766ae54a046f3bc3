package frontier

import (
	"github.com/sfstat/sfstat/trace"
)

// view is a window as one cut sees it: T steps of S rows, each row one stage's
// durations over the ranks. Rows alias the window; only the residual row is
// computed, into a scratch of the view, and is valid until the next call of
// row. A view is not safe for concurrent use; clone it.
type view struct {
	w        *trace.Window
	cut      Cut
	boundary int // sync: the last recorded stage before the cut; else −1

	names  []string
	rows   []rowAt
	group  []int // group[i] is the index in groups of row i
	groups []string
	steps  int

	// start are the ranks' offsets when the first step begins, nanoseconds,
	// ≥ 0; nil means that all start together. Only the carried cut has them.
	start []int64

	residual []int64
}

// rowAt is where a row of the cut comes from: recorded stage, and how many
// steps later than the cut's step it was recorded.
type rowAt struct{ stage, shift int }

// hasResidual reports whether the window has a derived residual stage.
func hasResidual(w *trace.Window) bool { return w.Wall != nil }

// stageCount is the number of stages with the residual.
func stageCount(w *trace.Window) int {
	if hasResidual(w) {
		return len(w.Schema.Stages) + 1
	}
	return len(w.Schema.Stages)
}

func stageName(w *trace.Window, s int) string {
	if s == len(w.Schema.Stages) {
		return trace.ResidualStage
	}
	return w.Schema.Stages[s]
}

// newView cuts the window. For CutSync, after is the stage at whose end the
// steps begin; it is ignored otherwise. A sync cut has one step less: what
// lies before the first meeting and after the last belongs to no whole step.
func newView(w *trace.Window, cut Cut, after int) *view {
	S := stageCount(w)
	v := &view{w: w, cut: cut, boundary: -1, steps: w.Steps(), residual: make([]int64, len(w.Ranks))}
	first := 0
	if cut == CutSync {
		v.boundary = after
		first = (after + 1) % S
		if first != 0 {
			v.steps--
		}
	}
	for i := range S {
		stage, shift := first+i, 0
		if stage >= S {
			stage, shift = stage-S, 1
		}
		v.rows = append(v.rows, rowAt{stage, shift})
		v.names = append(v.names, stageName(w, stage))
	}
	v.groups, v.group = trace.Schema{Stages: v.names}.Groups()
	return v
}

func (v *view) clone() *view {
	c := *v
	c.residual = make([]int64, len(v.residual))
	return &c
}

func (v *view) ranks() int { return len(v.w.Ranks) }

// row is the durations of row i in step t of the cut, [rank].
func (v *view) row(t, i int) []int64 { return v.segment(t, i, 0, v.ranks()) }

// segment is the part [lo, hi) of a row.
func (v *view) segment(t, i, lo, hi int) []int64 {
	at := v.rows[i]
	R, S := v.ranks(), len(v.w.Schema.Stages)
	step := v.w.Step(t + at.shift)
	if at.stage < S {
		return step[at.stage*R+lo : at.stage*R+hi]
	}
	out := v.residual[lo:hi]
	copy(out, v.w.WallOf(t + at.shift)[lo:hi])
	for s := range S {
		for r, d := range step[s*R+lo : s*R+hi] {
			out[r] -= d
		}
	}
	for r, d := range out {
		out[r] = max(d, 0)
	}
	return out
}
