package frontier

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// qualityOf collects what is incomplete about a window.
func qualityOf(w *trace.Window) Quality {
	q := Quality{Wall: w.Wall != nil, Missing: w.Missing(), GatherOK: len(w.GatherFailed) == 0, SchemaOK: true, Notes: slices.Clone(w.Notes)}
	for _, n := range w.Notes {
		switch n.Kind {
		case input.NoteStagesChanged, input.NoteStagesDiffer, input.NoteWorldSizeChanged, input.NoteAccumulationChanged:
			q.SchemaOK = false
		}
	}
	return q
}

// chargeDataWait moves a data wait that was recorded at the end of the step
// before to the step that consumes the batch (StageFrontier, App. A). The
// window loses its first step, whose wait was recorded outside. It is unsafe,
// and the window is left alone, when the recorder did not know, or when
// microsteps or several data stages leave open which one consumes.
func chargeDataWait(w *trace.Window) (charged *trace.Window, unsafe bool) {
	if w.DataWait == trace.DataWaitConsuming {
		return w, false
	}
	data := -1
	for s, name := range w.Schema.Stages {
		if strings.HasPrefix(name, stagename.DataStem) {
			if data >= 0 {
				return w, true
			}
			data = s
		}
	}
	if data < 0 {
		return w, false
	}
	S, R, T := len(w.Schema.Stages), len(w.Ranks), w.Steps()
	if w.DataWait == trace.DataWaitUnknown || w.Accumulation > 1 || T < 2 {
		return w, true
	}
	out := *w
	out.FirstStep = w.StepAt(1)
	// The wait now comes first: it ends before the batch is used.
	order := []int{data}
	for s := range S {
		if s != data {
			order = append(order, s)
		}
	}
	out.Schema.Stages = make([]string, 0, S)
	for _, s := range order {
		out.Schema.Stages = append(out.Schema.Stages, w.Schema.Stages[s])
	}
	out.Durations = make([]int64, 0, (T-1)*S*R)
	for t := 1; t < T; t++ {
		for _, s := range order {
			from := t
			if s == data {
				from = t - 1
			}
			out.Durations = append(out.Durations, w.Step(from)[s*R:(s+1)*R]...)
		}
	}
	if w.Wall != nil {
		out.Wall = make([]int64, 0, (T-1)*R)
		for t := 1; t < T; t++ {
			now, before := w.Step(t)[data*R:(data+1)*R], w.Step(t - 1)[data*R:(data+1)*R]
			for r, wall := range w.WallOf(t) {
				out.Wall = append(out.Wall, max(0, wall-now[r]+before[r]))
			}
		}
	}
	out.Side = slices.Clone(w.Side)
	for i, c := range out.Side {
		out.Side[i].Samples = slices.DeleteFunc(slices.Clone(c.Samples), func(s trace.Sample) bool { return s.Step < out.FirstStep })
	}
	return &out, false
}

// roles is who is whose peer.
type roles struct {
	mix    labels.Roles
	peerOf []int // [rank] → set of peers; all 0 when they are all peers
	groups []roleGroup
}

type roleGroup struct {
	name    string
	columns []int
}

// findRoles groups the ranks by declared role and asks whether the groups (or,
// undeclared, the ranks) do different productive work: only then is one
// frontier over all of them unsafe.
func (p *plan) findRoles() roles {
	R := len(p.w.Ranks)
	out := roles{peerOf: make([]int, R)}
	for r, rank := range p.w.Ranks {
		if len(rank.Role) == 0 {
			out.mix = labels.RolesUndeclared
		}
		name := rank.Role.Group()
		if len(rank.Role) == 0 {
			name = "undeclared"
		}
		i := slices.IndexFunc(out.groups, func(g roleGroup) bool { return g.name == name })
		if i < 0 {
			i = len(out.groups)
			out.groups = append(out.groups, roleGroup{name: name})
		}
		out.groups[i].columns = append(out.groups[i].columns, r)
		out.peerOf[r] = i
	}
	if R < 2 {
		return out
	}
	v := p.view()
	c := follow(v)
	spent := c.spent
	if p.cut != CutCarried { // whose ranks begin apart
		p.course = c
	}
	makespan := int64(0)
	for r := range R {
		total := int64(0)
		for i := range v.order {
			total += spent[i][r]
		}
		makespan = max(makespan, total)
	}
	gate := int64(p.gates.TieTolerance * float64(makespan))
	switch {
	case len(out.groups) > 1 && p.syncWithinPeers(out.groups):
		p.point.WithinPeers = true
		out.mix = labels.RolesMixed
	case len(out.groups) > 1 && groupsDiffer(spent, out.groups, gate):
		out.mix = labels.RolesMixed
	case len(out.groups) > 1:
		// Declared roles differ, their work does not: all are peers here.
		clear(out.peerOf)
	case out.mix == labels.RolesUndeclared && p.clusters(spent, gate):
		out.mix = labels.RolesMixed
		out.groups = nil
	}
	return out
}

// syncWithinPeers reports whether no synchronisation point of all ranks is known, while some
// role group shows one of its own: then a frontier over all ranks compares
// ranks that never wait for each other.
func (p *plan) syncWithinPeers(groups []roleGroup) bool {
	if p.point.At >= 0 {
		return false
	}
	return slices.ContainsFunc(groups, func(g roleGroup) bool {
		if len(g.columns) < 2 {
			return false
		}
		steps := points.WindowSteps(p.w.Select(g.columns))
		return slices.ContainsFunc(points.Find(&steps, pointGates(p.scaled)).Slopes, func(s points.Point) bool { return s.Evidence == points.Shown })
	})
}

// groupsDiffer reports whether some stage's productive time differs between
// the medians of two role groups by more than the gate.
func groupsDiffer(spent [][]int64, groups []roleGroup, gate int64) bool {
	for _, own := range spent {
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for _, g := range groups {
			values := make([]int64, len(g.columns))
			for k, r := range g.columns {
				values[k] = own[r]
			}
			m := robust.MedianTime(values)
			low, high = min(low, m), max(high, m)
		}
		if high-low > gate {
			return true
		}
	}
	return false
}

// clusters reports whether ranks without declared roles fall in two sets that
// do different work: at least two ranks on each side, the same two sets in two
// stages or more, apart in each by more than either side is wide and more than
// the leader tolerance, and together by more than the gate. One slow rank, or
// one slow stage, is a straggler and not a role.
func (p *plan) clusters(spent [][]int64, gate int64) bool {
	type sides struct {
		stages int
		apart  int64
	}
	least := saturatingProduct(int64(p.w.Steps()), int64(p.scaled.Leader.GapAbs))
	seen := map[string]sides{}
	order := make([]int, len(p.w.Ranks))
	for _, v := range spent {
		if slices.Max(v)-slices.Min(v) <= least {
			continue
		}
		for r := range order {
			order[r] = r
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
		for k := 2; k <= len(order)-2; k++ {
			low, high := v[order[k-1]]-v[order[0]], v[order[len(order)-1]]-v[order[k]]
			apart := v[order[k]] - v[order[k-1]]
			if apart <= max(low, high, least) {
				continue
			}
			set := slices.Clone(order[k:])
			slices.Sort(set)
			s := seen[trace.RankList(set)]
			s.stages++
			s.apart += apart
			if s.stages >= 2 && s.apart > gate {
				return true
			}
			seen[trace.RankList(set)] = s
		}
	}
	return false
}
