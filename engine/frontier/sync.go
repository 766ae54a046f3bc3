package frontier

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// history is the first steps of a series, as many as [points.Find] looks at: windows too short to show by themselves
// where the ranks synchronise show it together.
type history struct {
	schema trace.Schema
	ranks  []trace.Rank
	walled bool // wall time was recorded
	steps  points.Steps
	next   int64 // the step that follows
	found  points.Found
	known  bool // found says it, whatever follows
	at     int  // where the windows before were cut; −1: nowhere
}

// matches reports whether the steps of a window are like those before: their stages in the same order, which a data
// wait that is charged to the next step changes, and of ranks in the same roles, with wall time or without.
func (h *history) matches(w *trace.Window) bool {
	sameRole := func(p, q trace.Rank) bool { return slices.Equal(p.Role, q.Role) }
	return h.schema.Equal(w.Schema) && h.walled == (w.Wall != nil) && slices.EqualFunc(h.ranks, w.Ranks, sameRole)
}

// find looks at the steps of one window more, which begins a new history where it is not like those before.
func (h *history) find(w *trace.Window, g points.Gates) {
	if !h.matches(w) {
		*h = history{schema: w.Schema, ranks: w.Ranks, walled: w.Wall != nil, steps: points.WindowSteps(w), at: -1}
		h.steps.Durations, h.steps.Wall = nil, nil
	}
	if h.known {
		return
	}
	before := h.steps.Len()
	if before >= points.Looked {
		return
	}
	if before > 0 && w.FirstStep != h.next {
		h.steps.Breaks = append(h.steps.Breaks, before)
	}
	R, n := len(w.Ranks), min(w.Steps(), points.Looked-before)
	h.steps.Durations = append(h.steps.Durations, w.Durations[:n*len(w.Schema.Stages)*R]...)
	if w.Wall != nil {
		h.steps.Wall = append(h.steps.Wall, w.Wall[:n*R]...)
	}
	h.next, h.found = w.StepAt(w.Steps()), points.Find(&h.steps, g)
}

func pointGates(g gates.Gates) points.Gates {
	return points.Gates{Slope: g.SyncPoint.Slope, Confidence: g.SyncPoint.Confidence}
}

// undeclared is [Boundary.Within] of sets that show by whom leaves together alone.
const undeclared = "sets"

// syncPointOf returns the synchronisation point of rows by a history that includes the window; a named one has priority.
func (m *rows) syncPointOf(h *history, named string, g gates.Gates) SyncPoint {
	out, found, at := SyncPoint{At: -1}, h.found, h.at
	for _, p := range found.Slopes {
		out.Boundaries = append(out.Boundaries, Boundary{Name: m.names[p.Stage], Point: p, Syncs: named != "" && p.Evidence.Sure()})
	}
	if len(found.Within) > 0 {
		splits := trace.Splits(h.ranks)
		for _, w := range found.Within {
			b := &out.Boundaries[w.Stage]
			if b.Within, b.sets = undeclared, w.Sets; w.Split >= 0 {
				b.Within = splits[w.Split].Axes
			}
		}
	}
	if len(found.Slopes) == 0 && len(m.w.Ranks) > 1 { // a single step
		found.Points = m.boundariesByName(&out)
	}
	if k := m.collapsingStage(found, g); k >= 0 && found.Meetings.Every == 0 {
		found.Points = []points.Point{found.Slopes[k]}
		found.Points[0].Evidence = points.Likely
	}
	if len(found.Points) == 0 && found.Meetings.Every == 0 {
		found.Points = lastOf(found)
	}
	for _, p := range found.Points {
		b := &out.Boundaries[p.Stage]
		b.Syncs, b.Within, b.sets = true, "", nil
		if p.Stage == at || out.At < 0 || out.At != at && p.High-p.Low < out.Boundaries[out.At].High-out.Boundaries[out.At].Low {
			out.At, out.Evidence = p.Stage, p.Evidence
		}
	}
	if named != "" {
		out.At, out.Evidence = slices.Index(m.names, named), points.Named
	}
	if out.At >= 0 {
		out.Name = m.names[out.At]
	} else if meet := found.Meetings; meet.Every > 0 {
		out.Meetings, out.Every = m.names[meet.Point.Stage], meet.Every
	}
	return out
}

// boundariesByName lists the boundaries of a step that shows no slope, and where gradients are reduced by the name of the stage.
func (m *rows) boundariesByName(out *SyncPoint) (last []points.Point) {
	for k, name := range m.names {
		p := points.Point{Stage: k, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
		out.Boundaries = append(out.Boundaries, Boundary{Name: name, Point: p})
		if role := points.RoleOf(name); role == points.Backward || role == points.Collective {
			p.Evidence = points.Likely
			last = []points.Point{p}
		}
	}
	return last
}

// collapsingStage returns, where waits have stages of their own and no slope is certain, the stage in which leads collapse most.
// Count each rank from its previous end of the stage: where ranks synchronise, the last rank's lead over the median one
// is large when the stage begins and gone when it ends, in every step in which a rank was surely late. Never of two
// ranks: it tells one late rank from one early rank by which of them is the minority. −1 without one. O(T·S·R).
func (m *rows) collapsingStage(found points.Found, g gates.Gates) int {
	certain := func(p points.Point) bool { return p.Evidence.Sure() }
	R, S, T := len(m.w.Ranks), len(found.Slopes), m.w.Steps()
	if R < 3 || len(found.Within) > 0 || slices.ContainsFunc(found.Slopes, certain) || !slices.ContainsFunc(m.names, stagename.IsWait) {
		return -1
	}
	x, since, scratch, ends := make([]int64, R), make([]int64, R), make([]int64, R), make([]int64, S*R)
	late, left := make([]int, S), make([]float64, S) // steps with a lead, and the largest part of one that is left
	lead := func() int64 { return slices.Max(since) - robust.MedianTimeOf(since, scratch) }
	for t := range T {
		for k := range S {
			end, d := ends[k*R:(k+1)*R], m.durations(t, k)
			copy(since, x)
			subtract(since, end)
			before := lead()
			addTo(since, d)
			if t > 0 && before > saturatingProduct(2, int64(g.Leader.GapAbs)) {
				late[k], left[k] = late[k]+1, max(left[k], float64(lead())/float64(before))
			}
			addTo(x, d)
			copy(end, x)
		}
	}
	best, least, slope := -1, math.Inf(1), g.SyncPoint.Slope
	for k, p := range found.Slopes {
		if late[k] >= 2 && 2*late[k] >= T-1 && left[k] <= -slope && left[k] < least && !(p.Low > slope || p.High < 1/slope) {
			best, least = k, left[k]
		}
	}
	return best
}

// lastOf settles what times alone leave open. Where sets synchronise along one axis
// in one stage and along another in the next, each stage looks like a synchronisation point
// of sets, since a set's own transfer keeps its exits together, though between
// them all ranks wait for all. Then the last stage with a certain slope over
// all ranks, which is where gradients are reduced, closes the step.
func lastOf(found points.Found) []points.Point {
	for _, p := range slices.Backward(found.Slopes) {
		if p.Evidence == points.Shown {
			return []points.Point{p}
		}
	}
	return nil
}

// skew is how the ranks' time scales differ, seen where they synchronise.
type skew struct {
	start  []int64 // [rank] offset at the window's first step, ≥ 0
	spread int64   // largest offset
	drift  float64 // parts per million between the fastest and slowest clock
}

// skewAt fits each rank's end of a stage, less that of the first rank, with a line over
// the steps. At a synchronisation point those ends are one moment, so
// the intercept is the rank's offset and the slope its drift. O(T·S·R).
func (m *rows) skewAt(stage int) skew {
	T, R := m.w.Steps(), len(m.w.Ranks)
	x, ends := make([]int64, R), make([][]float64, R)
	steps, total := make([]float64, T), int64(0)
	for t := range T {
		steps[t] = float64(t)
		for s := range m.names {
			addTo(x, m.durations(t, s))
			if s != stage {
				continue
			}
			total = x[0]
			for r, at := range x {
				ends[r] = append(ends[r], float64(at-x[0]))
			}
		}
	}
	offsets, slopes := make([]float64, R), make([]float64, R)
	for r := range R {
		if offsets[r], slopes[r] = ends[r][0], 0; T > 1 {
			offsets[r], slopes[r] = stat.LinearRegression(steps, ends[r], nil, false)
		}
	}
	out, top := skew{start: make([]int64, R)}, slices.Max(offsets)
	for r, at := range offsets {
		out.start[r] = int64(top - at)
	}
	out.spread = slices.Max(out.start)
	if total > 0 {
		out.drift = (slices.Max(slopes) - slices.Min(slopes)) * float64(T) / float64(total) * 1e6
	}
	return out
}
