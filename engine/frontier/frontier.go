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
//   - where the ranks synchronise is found in the data (syncpoint.go);
//   - with synchronisation points known, wait is split from productive time, and a gain takes
//     the induced wait along (gain.go); lateness is charged to ranks (blame.go).
//
// Assumptions: stages are contiguous and in order on every rank; for CutSync
// and CutCarried, steps follow each other without a gap that wall time does not
// cover. The package is pure: values in, values out.
package frontier

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/parallel"
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

// negligible is the part of the makespan below which a charge is not listed.
const negligible = 1e-4

// Analyze accounts for a validated window. It fails on options that do not fit
// the window, never on durations.
//
// Time is O(T·S·R) expected, memory O(S·R + T). One rank gives the ordered
// account and no statement across ranks.
func Analyze(w *trace.Window, o Options) (*Analysis, error) {
	p, err := prepare(w, o, nil, new(buffers))
	if err != nil {
		return nil, err
	}
	a, _ := p.analyze()
	return a, nil
}

// analyze accounts for the plan's window. The accounts are those of Main and
// of the groups, in order.
func (p *plan) analyze() (*Analysis, []*accounting) {
	a := &Analysis{}
	var beside parallel.Group
	if p.o.Cut == CutAuto && p.cut != CutStep && p.o.Depth == WholeAccount {
		paper := *p
		paper.spent, paper.keep = nil, new(buffers) // both at a time
		paper.gates = p.given
		paper.cut, paper.cutReason = CutStep, CutAsPublished
		paper.o.ModelFit = FitNone
		beside.Go(func() { a.Paper = paper.account(p.roles.mix).r })
	}
	accounts := []*accounting{p.account(p.roles.mix)}
	beside.Wait()
	a.Main = accounts[0].r
	if p.roles.mix != labels.RolesMixed || len(p.roles.groups) < 2 {
		return a, accounts
	}
	for _, g := range p.roles.groups {
		one := p.part(g).account(labels.RolesGrouped)
		accounts = append(accounts, one)
		a.Groups = append(a.Groups, one.r)
	}
	return a, accounts
}

// part is the plan of a role group.
func (p *plan) part(g roleGroup) *plan {
	part := *p
	part.w = p.w.Select(g.columns)
	part.keep = new(buffers)
	part.matrix = newRowsAfter(part.w, p.matrix.lead, part.keep)
	// The other groups are left out here, not missing.
	part.matrix.quality.Missing = p.matrix.quality.Missing
	part.takeMedians()
	part.apart, part.spent = nil, nil
	if p.point.WithinPeers {
		part.point = findSyncPoint(part.matrix, p.scaled, p.o.SyncAfter)
		part.clocks()
		part.settleSyncPoint()
	} else {
		part.syncs = make([]*gathering, len(p.syncs))
		for i, syncs := range p.syncs {
			part.syncs[i] = syncs.among(g.columns)
		}
	}
	part.roles = roles{mix: labels.RolesGrouped, peerOf: make([]int, len(g.columns))}
	part.group = g.name
	return &part
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
	syncs          []*gathering // per recorded stage (residual last); nil where ranks do not synchronise
	dataWaitUnsafe bool
	roles          roles
	cohort         []int64   // [stage] of the baseline, one of the two
	medians        [][]int64 // [stage][rank]
	apart          []int64   // [rank] of the carried prefixes of the series; nil at its start
	keep           *buffers  // of the window alone
	spent          *course   // of the cut, where findRoles needed them and the cut does not carry on
}

// prepare decides about a window, which a series (nil: none) goes on with.
func prepare(w *trace.Window, o Options, s *Series, keep *buffers) (*plan, error) {
	p := &plan{o: o, given: o.Gates.OrDefault(), keep: keep}
	if err := p.given.Validate(); err != nil {
		return nil, err
	}
	lead := 0
	if s != nil {
		w, lead = s.before.join(w, p.keep)
	}
	first := w.FirstStep
	p.w, p.dataWaitUnsafe = chargeDataWait(w)
	p.matrix = newRowsAfter(p.w, max(0, lead-int(p.w.FirstStep-first)), p.keep)
	p.scaled = p.given.ScaledTo(p.matrix.typicalStep(), p.w.Steps())
	p.gates = p.scaled
	if o.Cut == CutStep {
		p.gates = p.given
	}
	names := p.matrix.names
	S := len(names)
	if o.Baseline == Reference && len(o.Reference) != S {
		return nil, fmt.Errorf("frontier: the reference has %d durations, the window has %d stages, %v: give one with the same stages", len(o.Reference), S, names)
	}
	if o.SyncAfter != "" && !slices.Contains(names, o.SyncAfter) {
		return nil, &UnknownStageError{o.SyncAfter, names}
	}
	if s != nil && s.before != nil {
		p.apart = s.before.apart
	}
	p.findSyncPoint(s)
	p.settleSyncPoint()
	p.roles = p.findRoles()
	p.takeMedians()
	return p, nil
}

// findSyncPoint finds where the ranks synchronise.
func (p *plan) findSyncPoint(s *Series) {
	p.point = findSyncPoint(p.matrix, p.scaled, p.o.SyncAfter)
	p.clocks()
	if s != nil {
		s.slopes.settle(&p.point, p.scaled, p.o.SyncAfter)
	}
	for i := range p.point.Boundaries {
		p.point.Boundaries[i].slopes = nil // not to be kept with the result
	}
}

// takeMedians takes what the baseline asks for.
func (p *plan) takeMedians() {
	switch p.o.Baseline {
	case CohortMedian:
		p.cohort = cohortMedians(p.matrix, p.keep)
	case RankMedian:
		p.medians = rankMedians(p.matrix)
	}
}

// clocks measures how the ranks' clocks differ.
func (p *plan) clocks() {
	if at := p.point.At; at >= 0 && p.o.Depth == WholeAccount {
		skew := skewAt(newView(p.matrix, CutCarried, 0), at)
		p.point.Skew, p.point.Drift = skew.spread, skew.drift
	}
}

// settleSyncPoint marks the stages where the ranks synchronise and chooses the cut.
func (p *plan) settleSyncPoint() {
	p.syncs = make([]*gathering, len(p.matrix.names))
	for _, b := range p.point.Boundaries {
		if b.Syncs {
			p.syncs[b.Stage] = everyone(len(p.w.Ranks))
		}
		if b.Within != "" {
			p.syncs[b.Stage] = &gathering{sets: b.sets}
		}
	}
	if p.point.Evidence == SyncNamed {
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
	case ask != CutCarried && syncs && p.w.Steps() < 2 && p.point.At+1 < len(p.matrix.names):
		p.cut, p.cutReason = CutStep, CutSingleStep
	case ask != CutCarried && syncs:
		p.cut, p.cutReason = CutSync, CutAtSyncPoint
		if p.point.Evidence == SyncLikely {
			p.cutReason = CutAtLikelySync
		}
	case ask == CutSync:
		p.cut, p.cutReason = CutStep, CutNoSyncPoint
	case ask == CutAuto && p.matrix.open:
		p.cut, p.cutReason = CutStep, CutUnknownGaps
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

// lines says in which rows of a view the ranks synchronise.
func (p *plan) lines(v *view) []*gathering {
	out := make([]*gathering, len(v.order))
	for i, at := range v.order {
		out[i] = p.syncs[at.stage]
	}
	return out
}

// account runs the engines over the plan's ranks.
func (p *plan) account(mix labels.Roles) *accounting {
	v := newView(p.matrix, p.cut, p.point.At)
	if p.cut == CutCarried {
		v.start = p.start()
	}
	if p.o.Depth == FindingsOnly {
		v.lags = v.arriving(p.point.Name)
	}
	r := &Result{Run: p.w.Run, Window: p.w.Index, FirstStep: p.w.FirstStep + int64(v.from), Steps: v.steps, WorldSize: p.w.WorldSize,
		Members: p.w.Ranks, Group: p.group, Cut: p.cut, CutReason: p.cutReason, SyncPoint: p.point}
	if end := p.w.FirstStep + int64(p.w.Steps()); r.FirstStep+int64(r.Steps) < end {
		r.LeftOut = []int64{end - 1}
	}
	for _, rank := range p.w.Ranks {
		r.Ranks = append(r.Ranks, rank.ID)
	}
	a := &accounting{plan: p, v: v, r: r, mix: mix}
	a.run()
	return a
}

// start is where the ranks of a carried cut begin: as far apart as they have
// got since they last synchronised, or else where the window before left them.
func (p *plan) start() []int64 {
	switch {
	case p.point.At >= 0 && p.matrix.lead > 0:
		return sinceSync(p.matrix, p.point.At)
	case p.point.At >= 0:
		return skewAt(newView(p.matrix, CutCarried, 0), p.point.At).start
	}
	return p.apart
}
