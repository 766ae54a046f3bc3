package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// accounting fills a Result from one view.
type accounting struct {
	*plan
	v   *view
	r   *Result
	mix labels.Roles

	groups         [][]int // [group] rows, in order
	acc            account
	static, synced []int64 // [group] what clipping it saves; nil where it is not asked for or known
}

func (a *accounting) run() {
	v := a.v
	a.groups = make([][]int, len(v.groups))
	for i, g := range v.group {
		a.groups[g] = append(a.groups[g], i)
	}
	known := a.matrix.middles == nil // where ranks synchronise: nothing else is asked
	if v.brief && !known {
		v.arriving = slices.IndexFunc(v.order, func(at place) bool { return at.stage == a.point.At }) - 1
	}
	a.acc = scan(v, a.gates.Leader, nil)
	if a.course == nil && !known {
		a.course = follow(v)
	}
	if a.r.Makespan, a.r.Quality = a.acc.makespan, a.matrix.quality; known {
		a.gates = a.given.ScaledTo(a.acc.makespan/int64(max(1, v.steps)), a.w.Steps())
	} else {
		a.r.Work = make([]int64, v.ranks())
		for _, spent := range a.course.spent {
			addTo(a.r.Work, spent)
		}
	}
	a.gains()
	a.r.Device = deviceOf(v, a.acc.makespan)
	a.stages()
	if !v.brief {
		a.late()
		a.compare()
	}
	a.decide()
	a.slack()
}

// interpretable reports whether shares of the makespan mean anything.
func (a *accounting) interpretable() bool {
	return a.acc.makespan > int64(a.gates.DenominatorFloor)
}

// gains fills in the saving from clipping each group: as in the paper, and with the induced waits. A synchronising stage then
// has a baseline of its own: its recorded median is mostly wait.
func (a *accounting) gains() {
	if a.baseline == nil {
		return
	}
	base := make([][]int64, len(a.v.order))
	for i, at := range a.v.order {
		base[i] = a.baseline[at.stage]
	}
	a.static = a.v.staticSavings(base)
	if a.o.ModelFit == FitNone || a.v.brief || !slices.ContainsFunc(a.v.syncs, isOneSet) {
		return
	}
	for i, sets := range a.v.syncs {
		if sets != nil && a.o.Baseline != Reference {
			base[i] = slices.Repeat([]int64{a.course.usual[i]}, a.v.ranks())
		}
	}
	a.synced = a.v.inducedSavings(base)
}

// stages fills the account of every group of rows and, where accumulation
// expands them, of every row.
func (a *accounting) stages() {
	for g, rows := range a.groups {
		s := a.stage(a.v.groups[g], rows)
		if a.static != nil {
			s.Gain = a.ratio(a.static[g])
		}
		if a.synced != nil {
			s.SyncGain = a.ratio(a.synced[g])
		}
		a.r.Stages = append(a.r.Stages, s)
	}
	if len(a.groups) == len(a.v.order) || a.v.brief {
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
		addTo(slack, k.slack)
		s.Syncs = s.Syncs || a.v.syncs[i] != nil
		if a.course != nil {
			s.Wait += a.course.wait[i] / int64(a.v.ranks())
		}
	}
	s.Share = a.ratio(s.Advance)
	if a.v.brief || a.v.ranks() < 2 {
		return s
	}
	steps := int64(a.v.steps * len(rows))
	tolerance := max(saturatingProduct(steps, int64(a.gates.Leader.GapAbs)), int64(a.gates.Leader.GapRel*float64(frontier)))
	least := slices.Min(slack)
	for r, x := range slack {
		if x-least <= tolerance {
			s.Latest = append(s.Latest, a.w.Ranks[r].ID)
		}
	}
	return s
}

// saturatingProduct returns the product of two counts, or the largest number there is.
func saturatingProduct(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// ratio returns the fraction of the makespan, nil below the floor. Where durations contradict a named synchronisation point, a
// replay can save more than there is.
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
		a.r.Stages[g].MaxShare = valueAt(a.r.Baselines[StageMax].Scores, g)
		a.r.Stages[g].MeanShare = valueAt(a.r.Baselines[StageMean].Scores, g)
	}
}

func valueAt(v []float64, i int) *float64 {
	if v == nil {
		return nil
	}
	return &v[i]
}

// decide gathers the evidence and gives the labels.
func (a *accounting) decide() {
	q := a.r.Quality
	e := labels.Evidence{Ranks: a.v.ranks(), GatherFailed: !q.GatherOK, MissingRanks: q.Missing.Len(), SchemaMismatch: !q.SchemaOK,
		DataWaitUnsafe: a.dataWaitUnsafe, ClosureResidual: q.ClosureResidual, OverlapError: q.OverlapError,
		Roles: a.mix, Folded: isFolded(a.w), Reference: a.o.Baseline == Reference}
	a.r.Leader.Stage = -1
	a.r.ModelFit = Fit{Mode: a.o.ModelFit, Why: FitBelowFloor}
	if a.interpretable() {
		for _, s := range a.r.Stages {
			e.Shares = append(e.Shares, *s.Share)
			if s.Gain != nil {
				e.Gains = append(e.Gains, *s.Gain)
			}
		}
		lead := labels.Rank(e.Shares)[0]
		a.r.Leader.Stage = lead
		if !a.v.brief {
			a.leader(lead)
			e.SwitchRate = a.r.Leader.Rate
			a.setAgreement(&e, lead)
			if s := a.r.Stages[lead]; s.Advance > 0 {
				share := float64(s.LagIncrease) / float64(s.Advance)
				e.LagShare = &share
			}
			a.judgeFit(lead)
			e.ModelFit = a.r.ModelFit.Holds
		}
	}
	if d := a.r.Device; d != nil {
		e.Events, e.Forward = &d.Events, d.Stages
		if d.Time > 0 {
			e.DeviceExcess = d.Share * d.Excess / d.Time
		}
	}
	a.r.evidence = e
	a.r.Decision = labels.Decide(e, a.gates)
	if a.v.brief {
		a.r.withhold()
	}
}

// withhold takes back what rests on gains and comparisons, where these were not asked for.
func (r *Result) withhold() {
	r.Labels = slices.DeleteFunc(r.Labels, func(l labels.Label) bool { return l.Strong() || l == labels.CoCritical })
	r.Reasons = slices.DeleteFunc(r.Reasons, func(r labels.Reason) bool {
		return r == labels.LowGainNoModelFit || r == labels.NoBaseline
	})
	r.CoCritical = nil
}

// setAgreement asks the raw maxima and the raw spread whether they point at the
// leading stage.
func (a *accounting) setAgreement(e *labels.Evidence, lead int) {
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

// judgeFit judges whether later wait may be charged to the leading stage.
func (a *accounting) judgeFit(lead int) {
	f := Fit{Mode: a.o.ModelFit}
	s := a.r.Stages[lead]
	switch {
	case f.Mode == FitNone:
		f.Why = FitOff
	case f.Mode == FitGiven:
		f.Holds, f.Why = true, FitAsGiven
	case s.SyncGain == nil || !a.point.Evidence.Sure():
		f.Why = FitNoSync
		if a.point.Every > 0 {
			f.Why = FitMeetings
		}
	default:
		f.Stage, f.Gain = s.Name, *s.SyncGain
		switch {
		case !gates.AtLeast(f.Gain, a.gates.StaticGain):
			f.Why = FitLowGain
		case a.chargedShare(lead) < carriedByRanks*f.Gain:
			f.Why = FitByChance
		default:
			f.Holds, f.Why = true, FitInduced
		}
	}
	a.r.ModelFit = f
}

// chargedShare returns the part of the makespan charged to ranks that are significantly
// late because of a stage.
func (a *accounting) chargedShare(stage int) float64 {
	sum := int64(0)
	for _, c := range a.r.Culprits {
		if c.Parts[0].Stage == stage && c.P <= a.gates.SyncPoint.Significance {
			sum += c.Charged()
		}
	}
	return float64(sum) / float64(max(1, a.acc.makespan))
}

// slack fills what Result.Slack needs: for every stage the slip where ranks synchronise next, in
// the cyclic order of rows, or at the ends of steps where they do nowhere.
func (a *accounting) slack() {
	if a.o.ModelFit == FitNone || a.v.ranks() < 2 || !a.interpretable() {
		return
	}
	ends := 1
	if a.cut != CutCarried {
		ends = max(1, a.v.steps)
	}
	n := len(a.v.order)
	a.r.slip = slices.Repeat([]float64{a.acc.slip / float64(ends)}, len(a.groups))
	for g, rows := range a.groups {
		for k := range n {
			if i := (slices.Max(rows) + k) % n; isOneSet(a.v.syncs[i]) {
				a.r.slip[g] = a.acc.rows[i].slip / float64(max(1, a.v.steps))
				break
			}
		}
	}
}

// isFolded reports whether microsteps are summed or mixed before the frontier, by
// the stage names: unfolded, a stage has one index for every microstep; fewer mean
// that some are summed.
func isFolded(w *trace.Window) bool {
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
