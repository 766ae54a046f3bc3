package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/health"
)

// judge collects the findings of a run.
type judge struct {
	*run
	gates    gates.Gates
	minGain  float64
	entered  *arrivals.Result // nil: no entries of calls
	traffic  *comm.Result     // nil: no calls and kernels of NCCL
	found    []*Finding
	byWindow []*windowed
	// differences from the baseline, by stage; nil without one.
	differences map[string]compare.Difference
	modelled    *delay.Result // of the steps; nil: passes over windows judge
	placed      placed        // where its steps are
}

// judge turns what was read of a run into its verdict, beside what monitoring
// recorded.
func (r *run) judge(g gates.Gates, minGain float64, beside []*health.Record) RunVerdict {
	j := &judge{run: r, gates: g, minGain: minGain}
	if j.steps != nil {
		j.lookAtSteps()
	}
	j.operations()
	v := RunVerdict{Run: r.name, MinGain: minGain, Windows: r.windows, Findings: j.ranked(), Problems: r.problems(), Earlier: r.earlier, Devices: r.devices}
	v.Undecided = j.questions()
	j.state(&v)
	if j.operators != nil {
		j.traced(&v)
	}
	if j.profiled != nil && len(j.windows) > 0 {
		j.witnessed(&v)
	}
	if j.traffic = j.together(&v); j.traffic != nil {
		j.heard(&v)
	}
	if !r.entries.Empty() {
		j.entered = r.entries.Analyze(arrivals.Options{MinGain: minGain})
		j.arrived(&v)
		j.behindArrivals(&v)
	}
	v.Traffic = j.traffic
	j.lines(&v)
	j.settle(&v)
	j.probes(&v)
	j.atTheTime(&v, beside)
	return v
}

// settle gives the run its status, its confidence and what to do next.
func (j *judge) settle(v *RunVerdict) {
	if len(v.Findings) > 0 {
		v.Confidence = v.Findings[0].Confidence
	}
	for i := range v.Findings {
		v.Findings[i].RunAtMost = max(v.Findings[i].RunAtMost, v.Findings[i].RunGain)
	}
	can := j.excludes()
	if v.says(answer.StageContains) != "" || v.says(answer.StagesDisordered) != "" {
		can = excludesNothing
	}
	v.decide(can)
	v.Observed = append(j.observed(v), v.Observed...)
	if v.Limits == nil {
		v.Limits = j.arrivalLimits()
	}
	for i := range v.Undecided {
		if u := &v.Undecided[i]; u.HidesRank() { // what it needs at least is an assumption
			u.Hides = u.Time
		}
	}
	v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == "" })
	v.Next = j.next(v)
}

// observed is what is known of the run as a whole.
func (j *judge) observed(v *RunVerdict) []evidence.Observation {
	if j.alone != nil {
		return []evidence.Observation{*j.alone}
	}
	if len(j.windows) == 0 && j.entered != nil {
		return []evidence.Observation{nobodyLate(j.entered)}
	}
	e := evidence.NobodyLate{}
	for _, w := range j.windows {
		m := w.Main
		e.Ranks = max(e.Ranks, len(m.Ranks))
		e.Steps += m.Steps
		e.Step += m.Makespan
	}
	if e.Steps == 0 {
		return nil
	}
	e.Step /= int64(e.Steps)
	if m := j.modelled; m != nil {
		// Medians: one value that is none says nothing of the others.
		e.Step, e.Skew, e.Last = cmp.Or(m.Step, e.Step), m.Skew, lastMostOften(m.Latest)
		if e.Last != nil {
			e.Last.Rank = j.placed.ranks[e.Last.Rank]
		}
	}
	// Entries show who is last within a stage too.
	if j.entered != nil && j.entered.Latest.Significant() && (e.Last == nil || !e.Last.Significant) {
		e.Last = lastMostOften(j.entered.Latest.Latest)
	}
	var out []evidence.Observation
	if v.Status != answer.Straggler {
		out = append(out, e)
	}
	out = append(out, j.inputBound()...)
	out = append(out, j.between.observed(j.entered)...)
	if len(j.found) == 0 {
		out = append(out, j.harmless(trivial/2*float64(e.Step))...)
	}
	return out
}

// lastMostOften returns the rank that is last most often; nil where nothing was tested.
func lastMostOften(l delay.Latest) *evidence.LastMostOften {
	if l.Rank < 0 {
		return nil
	}
	return &evidence.LastMostOften{Rank: l.Rank, N: l.N, Of: l.Of, Behind: l.Behind, P: l.P, Significant: l.Significant()}
}

// ranked orders the findings: first those to act on, then uncertain ones, then small
// ones; within each class by explained exposed time.
func (j *judge) ranked() []Finding {
	slices.SortStableFunc(j.found, byWeight)
	out := make([]Finding, 0, len(j.found))
	for _, f := range j.found {
		out = append(out, *f)
	}
	return out
}

// byWeight orders findings that may be acted on first, then those large enough,
// then by certainty, and within each by what they explain.
func byWeight(a, b *Finding) int {
	return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.Explained, a.Explained))
}

func (f *Finding) weight() int {
	switch {
	case f.Flagged():
		return 3
	case !f.BelowMinGain && f.Confidence > evidence.Insufficient:
		return 2
	case f.Confidence >= evidence.Supported:
		return 1
	}
	return 0
}
