package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// accounting fills a Result from one view, or from what several sum to.
type accounting struct {
	*plan
	v   *view
	r   *Result
	mix labels.Roles

	sync   []*gathering // [row] who synchronises here; nil for nobody
	groups [][]int      // [group] rows, in order
	sums
}

// sums are what accounts of windows add up: nanoseconds and counts.
type sums struct {
	acc            account
	static, synced []int64 // [group] what clipping it saves; synced is nil without model fit
	work           []int64 // [rank] time not spent waiting at a synchronisation point
	wait           []int64 // [row] Σ over ranks of time waited for the last one
	late           *ledger // nil without model fit
	lateGroups     []string
	slips          *slips // nil without model fit
	quality        Quality
	device         *Device
}

func (a *accounting) run() {
	a.measure()
	a.conclude()
}

// measure takes the sums from the view.
func (a *accounting) measure() {
	v := a.v
	a.groups = make([][]int, len(v.groups))
	for i, g := range v.group {
		a.groups[g] = append(a.groups[g], i)
	}
	a.sync = a.lines(v)
	a.acc.ends = sized(&a.keep.reached, v.steps*v.ranks())
	a.acc.scan(v, a.gates.Leader, nil)
	c := a.spent
	if c == nil {
		c = follow(v, a.sync, new(buffers))
	}
	a.wait, a.work = c.wait, make([]int64, v.ranks())
	for i := range v.order {
		addTo(a.work, c.of(i))
	}
	a.quality = a.matrix.quality
	a.gains(c)
	a.device = deviceOf(a.w, a.v.layout(), a.v.steps, a.acc.makespan)
}

// conclude says what the sums mean.
func (a *accounting) conclude() {
	a.r.Makespan, a.r.Work, a.r.Quality, a.r.Device = a.acc.makespan, a.work, a.quality, a.device
	a.culprits()
	a.stages()
	if a.v.lags == nil {
		a.compare()
	}
	a.decide()
	a.slack()
}

// interpretable reports whether shares of the makespan mean anything.
func (a *accounting) interpretable() bool {
	return a.acc.makespan > int64(a.gates.DenominatorFloor)
}

// gains is what clipping each group saves: as the paper has it, and with
// the induced waits. It also charges late ranks.
func (a *accounting) gains(c *course) {
	b := a.baseline()
	a.static = a.v.static(b, a.acc.ends)
	if a.o.ModelFit == FitNone {
		return
	}
	a.charge(c)
	if a.o.Depth != FindingsOnly && a.syncsAnywhere() {
		a.synced = c.induced(a.productive(b, c))
	}
}

// productive is the baseline of productive time. A synchronising stage has one of its
// own: its recorded median is mostly wait.
func (a *accounting) productive(b base, c *course) base {
	out := base{perRow: slices.Clone(b.perRow), perRank: slices.Clone(b.perRank)}
	medians, scratch := make([]int64, a.v.steps), make([]int64, a.v.ranks())
	for i, syncs := range a.sync {
		if syncs == nil || a.o.Baseline == Reference {
			continue
		}
		for t := range medians {
			medians[t] = robust.MedianTimeOf(c.productive(t, i), scratch)
		}
		m := robust.MedianTime(medians)
		if out.perRow != nil {
			out.perRow[i] = m
		} else {
			out.perRank[i] = slices.Repeat([]int64{m}, a.v.ranks())
		}
	}
	return out
}

// charge finds the ranks that are late; c is the course of the account's view.
func (a *accounting) charge(c *course) {
	tolerance := a.scaled.Leader.Tolerance(a.acc.makespan / int64(max(1, a.v.steps)))
	if !a.syncsAnywhere() {
		a.slips = newSlips(len(a.v.order))
		if a.o.Depth != FindingsOnly {
			a.late, a.lateGroups = a.stagewise(tolerance)
		}
		return
	}
	a.slips = c.slips()
	if a.o.Depth == FindingsOnly {
		return
	}
	late := newBlame(c.v, a.roles.peerOf, tolerance)
	late.follow(c)
	a.late, a.lateGroups = &late.ledger, c.v.groups
}

// culprits lists the ranks that were late.
func (a *accounting) culprits() {
	if a.late != nil {
		a.r.Culprits = a.inCut(a.late.culprits(a.acc.makespan))
	}
}

// syncsAnywhere reports whether all ranks are known to synchronise in some row.
func (a *accounting) syncsAnywhere() bool {
	return slices.ContainsFunc(a.sync, func(g *gathering) bool { return g != nil && g.whole() })
}

// inCut renumbers the stages of culprits, which may be in the order of another
// cut.
func (a *accounting) inCut(culprits []Culprit) []Culprit {
	for i := range culprits {
		culprits[i].Stage = slices.Index(a.v.groups, a.lateGroups[culprits[i].Stage])
	}
	return culprits
}

// baseline is what the rows of the view are clipped to.
func (a *accounting) baseline() base {
	var b base
	for _, at := range a.v.order {
		switch a.o.Baseline {
		case Reference:
			b.perRow = append(b.perRow, a.o.Reference[at.stage])
		case RankMedian:
			b.perRank = append(b.perRank, a.medians[at.stage])
		default:
			b.perRow = append(b.perRow, a.cohort[at.stage])
		}
	}
	return b
}

// stages fills the account of every group of rows and, where accumulation
// expands them, of every row.
func (a *accounting) stages() {
	for g, rows := range a.groups {
		s := a.stage(a.v.groups[g], rows)
		s.Gain = a.ratio(a.static[g])
		if a.synced != nil && a.syncsAnywhere() {
			s.SyncGain = a.ratio(a.synced[g])
		}
		if a.late != nil {
			s.Saves = a.ratio(int64(a.late.groups[slices.Index(a.lateGroups, s.Name)].saved))
		}
		a.r.Stages = append(a.r.Stages, s)
	}
	if a.late != nil {
		a.r.Saves = a.ratio(int64(a.late.saved))
	}
	if len(a.groups) == len(a.v.order) {
		return
	}
	for i := range a.v.order {
		a.r.Substages = append(a.r.Substages, a.stage(a.v.name(i), []int{i}))
	}
}

func (a *accounting) stage(name string, rows []int) Stage {
	s := Stage{Name: name}
	slack := make([]int64, a.v.ranks())
	var frontier int64
	for _, i := range rows {
		k := &a.acc.rows[i]
		s.Advance += k.advance
		s.Lag += k.lag
		s.LagIncrease += k.lagIncrease
		if a.v.ranks() > 1 {
			s.Gap += k.gap
		}
		frontier += k.frontier
		for r, x := range k.slack {
			slack[r] += x
		}
		s.Syncs = s.Syncs || a.sync[i] != nil
		s.Wait += a.wait[i] / int64(a.v.ranks())
	}
	s.Share = a.ratio(s.Advance)
	steps := int64(a.v.steps * len(rows))
	tolerance := max(saturated(steps, int64(a.gates.Leader.GapAbs)), int64(a.gates.Leader.GapRel*float64(frontier)))
	least := slices.Min(slack)
	for r, x := range slack {
		if x-least <= tolerance && a.v.ranks() > 1 {
			s.Latest = append(s.Latest, a.w.Ranks[r].ID)
		}
	}
	return s
}

// saturated is the product of two counts, or the largest number there is.
func saturated(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// ratio is the fraction of the makespan, nil below the floor. Where durations
// contradict a named synchronisation point, a replay can save more than there is.
func (a *accounting) ratio(ns int64) *float64 {
	if !a.interpretable() {
		return nil
	}
	f := float64(max(0, min(ns, a.acc.makespan))) / float64(a.acc.makespan)
	return &f
}

// compare fills what the five comparison methods say, under the same cut,
// grouping and ties.
func (a *accounting) compare() {
	scores := make([][]float64, Rank0+1)
	for m := range scores {
		scores[m] = make([]float64, len(a.groups))
	}
	for g, rows := range a.groups {
		for _, i := range rows {
			k := &a.acc.rows[i]
			scores[StageMax][g] += float64(k.rowMax)
			scores[StageMean][g] += float64(k.rowSum)
			scores[Spread][g] += float64(k.spread)
			scores[SlowestRank][g] += float64(k.slowest)
			scores[Rank0][g] += float64(k.first)
		}
	}
	for m, score := range scores {
		a.r.Baselines = append(a.r.Baselines, Method(m).order(score, a.gates.Tau))
	}
	for g := range a.r.Stages {
		if !a.interpretable() {
			break
		}
		a.r.Stages[g].MaxShare = at(a.r.Baselines[StageMax].Scores, g)
		a.r.Stages[g].MeanShare = at(a.r.Baselines[StageMean].Scores, g)
	}
}

func at(v []float64, i int) *float64 {
	if v == nil {
		return nil
	}
	return &v[i]
}

// decide gathers the evidence and gives the labels.
func (a *accounting) decide() {
	q := a.r.Quality
	e := labels.Evidence{Ranks: a.v.ranks(), GatherFailed: !q.GatherOK, MissingRanks: len(q.Missing), SchemaMismatch: !q.SchemaOK,
		DataWaitUnsafe: a.dataWaitUnsafe, ClosureResidual: q.ClosureResidual, OverlapError: q.OverlapError,
		Roles: a.mix, Folded: folded(a.w), Reference: a.o.Baseline == Reference}
	a.r.Leader.Stage = -1
	a.r.ModelFit = Fit{Mode: a.o.ModelFit, Why: FitBelowFloor}
	if a.interpretable() {
		for _, s := range a.r.Stages {
			e.Shares = append(e.Shares, *s.Share)
			e.Gains = append(e.Gains, *s.Gain)
		}
		lead := labels.Rank(e.Shares)[0]
		a.leader(lead)
		e.SwitchRate = a.r.Leader.Rate
		if a.v.lags != nil {
			a.lagAt(lead)
		} else {
			a.agreement(&e, lead)
			if s := a.r.Stages[lead]; s.Advance > 0 {
				share := float64(s.LagIncrease) / float64(s.Advance)
				e.LagShare = &share
			}
			a.fit(lead)
			e.ModelFit = a.r.ModelFit.Holds
		}
	}
	if d := a.r.Device; d != nil {
		d.tell(&e)
	}
	a.r.evidence = e
	a.r.Decision = labels.Decide(e, a.gates)
	if a.v.lags != nil {
		a.r.withhold()
	}
}

// tell adds what the channel says to the evidence.
func (d *Device) tell(e *labels.Evidence) {
	e.Events, e.Forward = &d.Events, d.Stages
	if d.Time > 0 {
		e.DeviceExcess = d.Share * d.Excess / d.Time
	}
}

// withhold takes back what rests on gains and comparisons, where these were not asked for.
func (r *Result) withhold() {
	r.Labels = slices.DeleteFunc(r.Labels, func(l labels.Label) bool { return l.Strong() || l == labels.CoCritical })
	r.Reasons = slices.DeleteFunc(r.Reasons, func(r labels.Reason) bool {
		return r == labels.DirectEvidenceDisagrees || r == labels.LowGainNoModelFit || r == labels.NoBaseline
	})
	r.CoCritical = nil
}

// lagAt fills the lag of the leading stage where one rank leads it, for which a scan
// for findings has not asked. O(T·S·R).
func (a *accounting) lagAt(lead int) {
	if a.matrix == nil || !a.r.leads() {
		return
	}
	whole := *a.v
	whole.lags = nil
	acc := scan(&whole, a.gates.Leader, nil)
	s := &a.r.Stages[lead]
	s.Lag = 0
	for _, i := range a.groups[lead] {
		s.Lag += acc.rows[i].lag
		s.LagIncrease += acc.rows[i].lagIncrease
	}
}

// agreement asks the raw maxima and the raw spread whether they point at the
// leading stage.
func (a *accounting) agreement(e *labels.Evidence, lead int) {
	tie := a.gates.TieTolerance
	agrees := func(scores []float64) labels.Agreement {
		if scores != nil && gates.Above(slices.Max(scores)-scores[lead], tie) {
			return labels.Disagrees
		}
		return labels.Agrees
	}
	e.Raw = agrees(a.r.Baselines[StageMax].Scores)
	var spread int64
	for i := range a.acc.rows {
		spread += a.acc.rows[i].spread
	}
	e.Spread = labels.Negligible
	if float64(spread) > tie*float64(a.acc.makespan) {
		e.Spread = agrees(a.r.Baselines[Spread].Scores)
	}
}

// leader counts confident leaders at the boundary of the leading stage; of a
// stage in several rows, the row that advances the frontier most.
func (a *accounting) leader(lead int) {
	rows := a.groups[lead]
	best := rows[0]
	for _, i := range rows {
		if a.acc.rows[i].advance > a.acc.rows[best].advance {
			best = i
		}
	}
	k := &a.acc.rows[best]
	l := Leader{Stage: lead, Confident: k.confident, Switches: k.switches}
	for r, n := range k.leads {
		if n > l.Steps {
			id := a.w.Ranks[r].ID
			l.Rank, l.Steps = &id, n
		}
	}
	if k.confident > 1 {
		rate := float64(k.switches) / float64(k.confident-1)
		l.Rate = &rate
	}
	a.r.Leader = l
}

// carriedByRanks is the part of a stage's induced gain that late ranks must answer
// for before the wait counts as induced by the stage: the rest is chance, a
// different rank being last each time.
const carriedByRanks = 0.5

// fit says whether later wait may be charged to the leading stage.
func (a *accounting) fit(lead int) {
	f := Fit{Mode: a.o.ModelFit}
	s := a.r.Stages[lead]
	switch {
	case f.Mode == FitNone:
		f.Why = FitOff
	case f.Mode == FitGiven:
		f.Holds, f.Why = true, FitAsGiven
	case s.SyncGain == nil || !a.point.Evidence.Sure():
		f.Why = FitNoSync
	default:
		f.Stage, f.Gain = s.Name, *s.SyncGain
		switch {
		case !gates.AtLeast(f.Gain, a.gates.StaticGain):
			f.Why = FitLowGain
		case a.answered(lead) < carriedByRanks*f.Gain:
			f.Why = FitByChance
		default:
			f.Holds, f.Why = true, FitInduced
		}
	}
	a.r.ModelFit = f
}

// answered is the part of the makespan charged to ranks that are significantly
// late because of a stage.
func (a *accounting) answered(stage int) float64 {
	sum := int64(0)
	for _, c := range a.r.Culprits {
		if c.Stage == stage && c.P <= a.gates.SyncPoint.Significance {
			sum += c.Explained
		}
	}
	return float64(sum) / float64(max(1, a.acc.makespan))
}

// folded reports whether microsteps are summed or mixed before the frontier, by
// the stage names: unfolded, a stage has one index for every microstep; fewer mean
// that some are summed.
func folded(w *trace.Window) bool {
	if w.Accumulation <= 1 {
		return false
	}
	indices := map[string]int{}
	for _, name := range w.Schema.Stages {
		if base, micro := stagename.Split(name); micro >= 0 {
			indices[base]++
		}
	}
	for _, n := range indices {
		if n != w.Accumulation {
			return true
		}
	}
	return len(indices) == 0
}
