// Package frontier accounts for the exposed time of synchronous training
// steps, stage by stage, and says which rank was late where.
//
// With d[t,r,s] the duration of stage s on rank r in step t, and prefix sums
// P[t,r,s] = Σ_{u≤s} d[t,r,u],
//
//	F[t,s] = max_r P[t,r,s]           the frontier, F[t,0] = 0
//	a[t,s] = F[t,s] − F[t,s−1] ≥ 0    the advance
//	A[s]   = Σ_t a[t,s] / Σ_t F[t,S]  the share
//
// so that the advances of a step sum to its exposed makespan F[t,S]: each
// exposed nanosecond is charged to one stage, once (StageFrontier, arXiv
// 2606.06751, section 3). Durations are int64 nanoseconds, and the identity is
// exact.
//
// Three things go beyond the paper, all computed from the same matrix:
//
//   - where a step is cut. The paper starts every step at zero, so time lost
//     after the last synchronisation returns as everybody's wait in the next
//     step. CutCarried lets prefixes run on, CutSync begins the steps where the
//     ranks synchronise;
//   - where the ranks synchronise is found in the data, by engine/points;
//   - with synchronisation points known, wait is split from productive time, and a gain takes
//     the induced wait along (follow.go); who is late is asked of engine/delay.
//
// [Account] takes plain matrices; [Analyze] a window; [Series] the windows of a run.
//
// Assumptions: stages are contiguous and in order on every rank; for CutSync
// and CutCarried, steps follow each other without a gap that wall time does not
// cover. The package is pure: values in, values out.
package frontier

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// Analysis is the account of one window: over all ranks and, where roles
// differ, over each group of peers.
type Analysis struct {
	Main *Result
	// Paper is the account by the paper's own rules (step cut, no model fit),
	// beside an automatic cut that chose otherwise; else nil.
	Paper  *Result
	Groups []*Result
}

// Analyze accounts for a validated window. It fails on options that do not fit
// the window, never on durations.
//
// Time is O(T·S·R) expected, memory O(T·S·R). One rank gives the ordered
// account and no statement across ranks.
func Analyze(w *trace.Window, o Options) (*Analysis, error) { return NewSeries(o).Add(w) }

// spare are buffers of residuals, which brief accounts do not keep.
var spare = sync.Pool{New: func() any { return new([]int64) }}

// Brief returns the account of a window whose run has shown where its ranks synchronise: all ranks, once a step, at the end of
// stage at.At. It has what Options.Brief leaves, but how far ranks lag. The data wait of the window must be that of the step
// itself ([trace.DataWaitConsuming]), its ranks do the same work, and the options must fit it. before is the end of the window
// before; nil: there is none. A window without a whole step is accounted for as by [Analyze].
//
// O(T·S·R) time.
func Brief(w *trace.Window, before *Border, at SyncPoint, o Options) *Analysis {
	o.Brief = true
	w = setAside(w)
	if !before.continues(w) {
		before = nil
	}
	p := &plan{o: o, given: o.Gates.OrDefault(), point: at, cut: CutSync, cutReason: CutAtSyncPoint}
	if at.Evidence == points.Likely {
		p.cutReason = CutAtLikelySync
	}
	residual := spare.Get().(*[]int64)
	defer spare.Put(residual)
	last := (*trace.Window)(nil)
	p.w, last, _ = before.chargeDataWait(w)
	p.matrix = newRows(p.w, last, *residual)
	*residual = p.matrix.residual
	p.gates, p.scaled = p.given, p.given
	p.roles = roles{mix: labels.RolesUndeclared, peerOf: make([]int, len(w.Ranks))}
	p.settleSyncPoint()
	a := p.account(labels.RolesUndeclared)
	if a.r.Steps == 0 {
		if whole, err := Analyze(w, o); err == nil {
			return whole
		}
	}
	return &Analysis{Main: a.r}
}

// RolesDiffer reports whether the ranks of a window, which synchronise as those of [Brief] do, differ in the work that they do, so that no
// account of all of them is safe. It fails on options that do not fit the window. O(T·S·R) time.
func RolesDiffer(w *trace.Window, at SyncPoint, o Options) (bool, error) {
	o.Brief = true
	p := &plan{o: o, given: o.Gates.OrDefault(), point: at}
	p.w = setAside(w)
	p.matrix = newRows(p.w, nil, nil)
	if err := o.checkStages(p.matrix.names); err != nil {
		return false, err
	}
	p.matrix.findMiddles()
	p.scaled = p.given.ScaledTo(p.matrix.typicalStep(), p.w.Steps())
	p.gates = p.scaled
	p.settleSyncPoint()
	return p.findRoles().mix == labels.RolesMixed, nil
}

// analyze accounts for the plan's window; main is the account over all ranks.
func (p *plan) analyze() (*Analysis, *accounting) {
	a := &Analysis{}
	var beside parallel.Group
	if p.o.Cut == CutAuto && p.cut != CutStep && !p.o.Brief {
		paper := *p
		paper.course, paper.gates = nil, p.given
		paper.cut, paper.cutReason = CutStep, CutAsPublished
		paper.o.ModelFit = FitNone
		beside.Go(func() { a.Paper = paper.account(p.roles.mix).r })
	}
	main := p.account(p.roles.mix)
	beside.Wait()
	a.Main = main.r
	if p.roles.mix != labels.RolesMixed || len(p.roles.groups) < 2 {
		return a, main
	}
	for _, g := range p.roles.groups {
		a.Groups = append(a.Groups, p.part(g).account(labels.RolesGrouped).r)
	}
	return a, main
}

// part returns the plan of a role group.
func (p *plan) part(g roleGroup) *plan {
	part := *p
	part.w = p.w.Select(g.columns)
	before := p.matrix.before
	if before != nil {
		before = before.Select(g.columns)
	}
	part.matrix = newRows(part.w, before, nil)
	part.matrix.findMiddles()
	// The other groups are left out here, not missing.
	part.matrix.quality.Missing = p.matrix.quality.Missing
	part.takeBaseline()
	part.apart, part.course = nil, nil
	if p.point.WithinPeers {
		part.point = part.findSyncPoint(new(history))
		part.settleSyncPoint()
	} else {
		part.syncs = make([][][]int, len(p.syncs))
		for i, sets := range p.syncs {
			part.syncs[i] = selectSets(sets, g.columns)
		}
	}
	part.roles = roles{mix: labels.RolesGrouped, peerOf: make([]int, len(g.columns))}
	part.group = g.name
	return &part
}

// selectSets returns sets of ranks as a selection of columns sees them.
func selectSets(sets [][]int, columns []int) (out [][]int) {
	for _, set := range sets {
		var here []int
		for i, r := range columns {
			if slices.Contains(set, r) {
				here = append(here, i)
			}
		}
		if len(here) > 0 {
			out = append(out, here)
		}
	}
	return out
}

// plan is everything decided about a window before the accounting.
type plan struct {
	w      *trace.Window
	matrix *rows
	o      Options
	group  string

	given, scaled gates.Gates // as given, and scaled to the step
	gates         gates.Gates // scaled, unless the step cut was asked for: that is the paper's

	cut            Cut
	cutReason      CutReason
	point          SyncPoint
	syncs          [][][]int // [recorded stage, the residual last] sets of ranks that synchronise; nil: nobody does
	dataWaitUnsafe bool
	roles          roles
	baseline       [][]int64 // [recorded stage][rank] what a stage is clipped to
	apart          []int64   // [rank] of the carried prefixes of the series; nil at its start
	course         *course   // of the cut; nil: not known
}

// prepare decides about a window, which a series goes on with.
func prepare(w *trace.Window, o Options, s *Series) (*plan, error) {
	p := &plan{o: o, given: o.Gates.OrDefault()}
	if err := o.Check(w); err != nil {
		return nil, err
	}
	var before *trace.Window
	p.w, before, p.dataWaitUnsafe = s.before.chargeDataWait(w)
	p.matrix = newRows(p.w, before, nil)
	p.matrix.findMiddles()
	p.scaled = p.given.ScaledTo(p.matrix.typicalStep(), p.w.Steps())
	p.gates = p.scaled
	if o.Cut == CutStep {
		p.gates = p.given
	}
	if s.before != nil {
		p.apart = s.before.apart
	}
	p.point = p.findSyncPoint(s.historyOf(p.w))
	p.settleSyncPoint()
	p.roles = p.findRoles()
	p.takeBaseline()
	return p, nil
}

// Check reports the first option that does not fit a window.
func (o Options) Check(w *trace.Window) error {
	if err := o.Gates.OrDefault().Validate(); err != nil {
		return err
	}
	return o.checkStages(StagesOf(w))
}

// checkStages reports the first option that does not fit stages.
func (o Options) checkStages(stages []string) error {
	switch {
	case o.Baseline == Reference && len(o.Reference) != len(stages):
		return fmt.Errorf("frontier: the reference has %d durations, the window has %d stages, %v: give one with the same stages", len(o.Reference), len(stages), stages)
	case o.SyncAfter != "" && !slices.Contains(stages, o.SyncAfter):
		return &UnknownStageError{o.SyncAfter, stages}
	}
	return nil
}

// findSyncPoint finds where the ranks synchronise, and how their clocks differ.
func (p *plan) findSyncPoint(h *history) SyncPoint {
	h.find(p.w, pointGates(p.scaled))
	out := p.matrix.syncPointOf(h, p.o.SyncAfter, p.scaled)
	if h.at = out.At; out.At >= 0 && !p.o.Brief {
		skew := p.matrix.skewAt(out.At)
		out.Skew, out.Drift = skew.spread, skew.drift
	}
	return out
}

// takeBaseline takes what stages are clipped to.
func (p *plan) takeBaseline() {
	switch R := len(p.w.Ranks); {
	case p.o.Baseline == Reference:
		p.baseline = nil
		for _, d := range p.o.Reference {
			p.baseline = append(p.baseline, slices.Repeat([]int64{d}, R))
		}
	case !p.o.Brief:
		p.baseline = p.matrix.rankMedians()
		if p.o.Baseline == CohortMedian {
			for _, medians := range p.baseline {
				level(medians, robust.MedianTimeOf(medians, make([]int64, R)))
			}
		}
	}
}

func level(v []int64, x int64) {
	for i := range v {
		v[i] = x
	}
}

// settleSyncPoint marks the stages where the ranks synchronise and chooses the cut.
func (p *plan) settleSyncPoint() {
	p.syncs = make([][][]int, len(p.matrix.names))
	for _, b := range p.point.Boundaries {
		if b.Syncs {
			p.syncs[b.Stage] = everyone(len(p.w.Ranks))
		}
		if b.Within != "" {
			p.syncs[b.Stage] = b.sets
		}
	}
	if p.point.Evidence == points.Named {
		p.syncs[p.point.At] = everyone(len(p.w.Ranks))
	}
	p.chooseCut()
}

// chooseCut settles CutAuto, and falls back with a reason where the asked cut
// is not possible.
func (p *plan) chooseCut() {
	syncs := p.point.At >= 0
	switch ask := p.o.Cut; {
	case len(p.w.Ranks) < 2 && ask != CutCarried:
		p.cut, p.cutReason = CutStep, CutSingleRank
	case ask == CutStep:
		p.cut, p.cutReason = CutStep, CutAsked
	case ask != CutCarried && syncs && p.w.Steps()-p.matrix.first() < 2 && p.point.At+1 < len(p.matrix.names):
		p.cut, p.cutReason = CutStep, CutSingleStep
	case ask != CutCarried && syncs:
		p.cut, p.cutReason = CutSync, CutAtSyncPoint
		if p.point.Evidence == points.Likely {
			p.cutReason = CutAtLikelySync
		}
	case ask == CutSync:
		p.cut, p.cutReason = CutStep, CutNoSyncPoint
	case ask == CutAuto && p.matrix.open():
		p.cut, p.cutReason = CutStep, CutUnknownGaps
	case ask == CutAuto && p.point.Every > 0:
		p.cut, p.cutReason = CutCarried, CutMeetings
	case ask == CutAuto:
		p.cut, p.cutReason = CutCarried, CutRunsOn
	default:
		p.cut, p.cutReason = CutCarried, CutAsked
	}
	if p.cut == CutCarried && !p.carriable() {
		p.cut, p.cutReason = CutStep, CutTooLong
	}
}

// carriable reports whether sums of carried prefixes over all steps fit int64.
func (p *plan) carriable() bool {
	longest := int64(0)
	for r := range p.w.Ranks {
		total := int64(0)
		for t := range p.w.Steps() {
			if p.w.Wall != nil {
				total += p.w.WallOf(t)[r]
			}
			for s := range p.w.Schema.Stages {
				total += p.w.Step(t)[s*len(p.w.Ranks)+r]
			}
		}
		longest = max(longest, total)
	}
	return longest <= trace.MaxTotal/int64(max(1, p.w.Steps()))
}

// account runs the engines over the plan's ranks.
func (p *plan) account(mix labels.Roles) *accounting {
	v := p.view()
	if p.cut == CutCarried {
		v.start = p.start()
	}
	r := &Result{Run: p.w.Run, Window: p.w.Index, FirstStep: p.w.StepAt(v.from), Every: p.w.Every, Steps: v.steps, WorldSize: p.w.WorldSize,
		Members: p.w.Ranks, Group: p.group, Cut: p.cut, CutReason: p.cutReason, SyncPoint: p.point}
	for _, rank := range p.w.Ranks {
		r.Ranks = append(r.Ranks, rank.ID)
	}
	a := &accounting{plan: p, v: v, r: r, mix: mix}
	a.run()
	return a
}

// view returns the window in the cut of the plan.
func (p *plan) view() *view {
	v := newView(p.matrix, p.cut, p.point.At)
	v.brief = p.o.Brief
	for i, at := range v.order {
		v.syncs[i] = p.syncs[at.stage]
	}
	return v
}

// start returns where the ranks of a carried cut begin: as far apart as they are since they last synchronised, or else where
// the window before left them.
func (p *plan) start() []int64 {
	at := p.point.At
	switch {
	case at >= 0 && p.matrix.before != nil:
		x := make([]int64, len(p.w.Ranks))
		for s := at + 1; s < len(p.matrix.names); s++ {
			addTo(x, p.matrix.durations(-1, s))
		}
		return subtractFirst(x)
	case at >= 0:
		return p.matrix.skewAt(at).start
	}
	return p.apart
}
