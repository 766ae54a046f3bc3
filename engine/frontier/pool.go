package frontier

import "slices"

// pool sums the accounts of windows that compare: the same ranks and stages
// under the same cut. It holds no durations.
type pool struct {
	sum     *accounting
	steps   int
	windows int
	leftOut []int64
}

// pool adds an account to the pool of its like.
func (s *Series) pool(a *accounting) {
	i := slices.IndexFunc(s.pools, func(p *pool) bool { return p.like(a) })
	if i < 0 {
		s.pools = append(s.pools, newPool(a))
		return
	}
	s.pools[i].add(a)
}

// joined are the sums of both lists, which stay as they are.
func joined(first, second []*pool) []*pool {
	out := make([]*pool, 0, len(first))
	for _, p := range first {
		sum := &pool{sum: copied(p.sum), steps: p.steps, windows: p.windows, leftOut: slices.Clone(p.leftOut)}
		out = append(out, sum)
	}
	for _, p := range second {
		i := slices.IndexFunc(out, func(have *pool) bool { return have.like(p.sum) })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].sums(p.sum)
		out[i].follow(p)
	}
	return out
}

// follow adds the steps of the pool of later windows. What the last step before them left
// out is in their account if that begins there.
func (p *pool) follow(o *pool) {
	p.leftOut = append(slices.DeleteFunc(p.leftOut, func(t int64) bool { return t == o.sum.r.FirstStep }), o.leftOut...)
	p.steps += o.steps
	p.windows += o.windows
}

// newPool starts with an account.
func newPool(a *accounting) *pool {
	p := &pool{sum: copied(a)}
	p.extend(a)
	return p
}

// copied is what of an account does not grow with its steps.
func copied(a *accounting) *accounting {
	head, plan, view := *a.w, *a.plan, *a.v
	head.Durations, head.Wall, head.Side = nil, nil, nil
	plan.w, plan.matrix, plan.cohort, plan.medians = &head, nil, nil, nil
	view.rows = &rows{w: &head, names: a.v.names}
	sum := &accounting{plan: &plan, v: &view, mix: a.mix, sync: a.sync, groups: a.groups, sums: a.sums}
	sum.acc.rows, sum.acc.ends = slices.Clone(a.acc.rows), nil
	for i := range sum.acc.rows {
		k := &sum.acc.rows[i]
		k.leads, k.slack = slices.Clone(k.leads), slices.Clone(k.slack)
	}
	sum.static, sum.synced = slices.Clone(a.static), slices.Clone(a.synced)
	sum.work, sum.wait = slices.Clone(a.work), slices.Clone(a.wait)
	if a.late != nil {
		late := a.late.clone()
		sum.late = &late
		sum.slips = newSlips(len(a.slips.sum))
		sum.slips.merge(a.slips)
	}
	sum.quality.Notes = slices.Clone(a.quality.Notes)
	sum.r = a.r
	return sum
}

// like reports whether an account can be added: its rows are the same, and
// mean the same.
func (p *pool) like(a *accounting) bool {
	s := p.sum
	sameSync := func(g, h *gathering) bool {
		return (g == nil) == (h == nil) && (g == nil || len(g.sets) == len(h.sets))
	}
	return s.cut == a.cut && s.r.Group == a.r.Group && s.r.WorldSize == a.r.WorldSize && slices.Equal(s.r.Ranks, a.r.Ranks) &&
		slices.Equal(s.v.order, a.v.order) && slices.Equal(s.v.names, a.v.names) && slices.EqualFunc(s.sync, a.sync, sameSync) &&
		slices.Equal(s.lateGroups, a.lateGroups) && (s.late == nil) == (a.late == nil)
}

func (p *pool) add(a *accounting) {
	p.sums(a)
	p.extend(a)
}

// sums adds what an account sums up.
func (p *pool) sums(a *accounting) {
	s := p.sum
	s.acc.merge(&a.acc)
	addTo(s.static, a.static)
	if s.synced != nil {
		addTo(s.synced, a.synced)
	}
	addTo(s.work, a.work)
	addTo(s.wait, a.wait)
	if s.late != nil {
		s.late.merge(a.late)
		s.slips.merge(a.slips)
	}
	s.quality = s.quality.worst(a.quality)
	if d := a.device; d != nil && (s.device == nil || d.Excess > s.device.Excess) {
		s.device = d
	}
	if a.point.Evidence == SyncShown {
		s.point.Evidence = SyncShown
	}
}

// extend adds the steps of an account.
func (p *pool) extend(a *accounting) {
	p.leftOut = slices.DeleteFunc(p.leftOut, func(t int64) bool { return t == a.r.FirstStep })
	p.leftOut = append(p.leftOut, a.r.LeftOut...)
	p.steps += a.r.Steps
	p.windows++
}

// result is the account of the sum.
func (p *pool) result() *Result {
	a := *p.sum
	first := p.sum.r
	view := *p.sum.v
	view.steps = p.steps
	a.v = &view
	a.r = &Result{Run: first.Run, Window: first.Window, FirstStep: first.FirstStep, Steps: p.steps, WorldSize: first.WorldSize,
		Ranks: first.Ranks, Members: first.Members, Group: first.Group, Cut: first.Cut, CutReason: first.CutReason,
		SyncPoint: p.sum.point, Windows: p.windows, LeftOut: slices.Clone(p.leftOut)}
	a.work = slices.Clone(a.work)
	a.conclude()
	return a.r
}

// worst is the quality of two windows together.
func (q Quality) worst(o Quality) Quality {
	q.ClosureResidual = max(q.ClosureResidual, o.ClosureResidual)
	q.OverlapError = max(q.OverlapError, o.OverlapError)
	q.Wall = q.Wall && o.Wall
	q.GatherOK, q.SchemaOK = q.GatherOK && o.GatherOK, q.SchemaOK && o.SchemaOK
	for _, id := range o.Missing {
		if !slices.Contains(q.Missing, id) {
			q.Missing = append(slices.Clone(q.Missing), id)
		}
	}
	slices.Sort(q.Missing)
	return q
}
