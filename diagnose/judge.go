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
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/health"
)

// judge collects findings over the windows of a run. The same finding in
// several windows is one.
type judge struct {
	*run
	gates     gates.Gates
	minGain   float64
	entered   *arrivals.Result // nil: no entries of calls
	traffic   *comm.Result     // nil: no calls and kernels of NCCL
	found     []*finding
	undecided []answer.Undecided
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
		u := &v.Undecided[i]
		if k := slices.IndexFunc(v.Limits, func(l answer.Limit) bool { return l.Stage == u.Stage && l.MayHide > 0 }); u.HidesRank() && k >= 0 {
			u.Hides = v.Limits[k].MayHide
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
	var skews []int64
	for _, w := range j.windows {
		m := w.Main
		e.Ranks = max(e.Ranks, len(m.Ranks))
		e.Steps += m.Steps
		e.Step += m.Makespan
		if m.SyncPoint.At >= 0 && m.Steps > 0 {
			if i := slices.IndexFunc(m.Stages, func(s frontier.Stage) bool { return s.Name == m.SyncPoint.Name }); i > 0 {
				skews = append(skews, m.Stages[i-1].Lag/int64(m.Steps))
			}
		}
	}
	if e.Steps == 0 {
		return nil
	}
	e.Step /= int64(e.Steps)
	if j.modelled != nil && j.modelled.Step > 0 {
		e.Step = j.modelled.Step // the median: one value that is none says nothing of the others
	}
	if len(skews) > 0 {
		slices.Sort(skews)
		e.Skew = skews[len(skews)/2]
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

// finding is a finding with what is known about it beyond what it shows.
type finding struct {
	Finding
	best     *frontier.Result // the window that the evidence is from
	bestNs   int64
	seen     []int   // indices of the windows that show it
	makespan int64   // of the windows that show it
	steps    int     // of the windows that show it
	saved    float64 // ns that fixing it alone saves
	share    float64 // of the window in which it explains most
	inside   *inside // what the rank launched in the stage; nil where that was not recorded
}

// key is what makes two findings the same.
type key struct {
	cause Cause
	kind  Kind
	rank  int
	stage string
	group string
}

func (f *Finding) key() key {
	k := key{cause: f.Cause, kind: f.Kind, rank: -1, stage: f.Stage, group: f.Group + f.Host}
	if f.Rank != nil {
		k.rank, k.group = *f.Rank, f.Group
	}
	return k
}

// add merges what window w shows: Explained and Gain are of that window. The evidence is that of the
// window in which the finding is surest, and among those explains most.
func (j *judge) add(w *frontier.Result, s Finding) {
	i := slices.IndexFunc(j.found, func(have *finding) bool { return have.key() == s.key() && !have.modelled })
	if i < 0 {
		i = len(j.found)
		j.found = append(j.found, &finding{Finding: s})
		j.found[i].Explained = 0
		j.found[i].place(w)
	}
	f := j.found[i]
	// The account is that of a window, or of one of its role groups; parts of a window have its number.
	for i, have := range j.windows {
		if have.Main == w || slices.Contains(have.Groups, w) {
			f.seen = append(f.seen, i)
			if n := have.Main.Window; !slices.Contains(f.Windows, n) {
				f.Windows = append(f.Windows, n)
			}
		}
	}
	f.Explained += s.Explained
	f.makespan += w.Makespan
	f.steps += w.Steps
	f.saved += s.Gain * float64(w.Makespan)
	f.share = max(f.share, part(w, s.Explained))
	if f.best == nil || s.Confidence > f.Confidence || s.Confidence == f.Confidence && s.Explained > f.bestNs {
		f.best, f.bestNs = w, s.Explained
		f.Confidence, f.Evidence, f.Detail = s.Confidence, s.Evidence, f.seen[len(f.seen)-1]
	}
}

// place fills the host and local rank of a rank.
func (f *finding) place(w *frontier.Result) {
	if f.Rank == nil {
		return
	}
	for _, m := range w.Members {
		if m.ID != *f.Rank {
			continue
		}
		f.Host = m.Host
		if m.LocalRank >= 0 && m.Host != "" {
			f.LocalRank = &m.LocalRank
		}
		if f.Role == "" {
			f.Role = m.Role.String()
		}
	}
}

// costs computes the cost of the findings that windows show over the run.
func (j *judge) costs() {
	whole, steps := 0, 0
	for _, w := range j.windows {
		whole, steps = whole+int(w.Main.Makespan), steps+w.Main.Steps
	}
	for _, f := range j.found {
		struck := max(1, f.steps)
		f.Excess = f.Explained / int64(struck)
		f.Step = (f.makespan-f.Explained)/int64(struck) + f.Excess
		f.Score = float64(f.Explained) / float64(max(1, f.makespan))
		f.Gain = min(1, f.saved/float64(max(1, int64(struck)*f.Step)))
		f.RunGain = min(1, f.saved/float64(max(1, whole)))
		f.BelowMinGain = f.share < j.minGain
		f.Struck = j.struck(f, struck, steps)
	}
}

// mostSteps is the part of the steps from which on a fault is constant.
const mostSteps = 0.8

// struck says which steps of the run a finding struck, of as many: all of the windows that show it.
func (j *judge) struck(f *finding, n, of int) Struck {
	s := Struck{Count: n, Of: of, First: -1, Last: -1, Pattern: PatternWindow}
	for _, i := range f.seen {
		m := j.windows[i].Main
		if m.Steps == 0 {
			continue
		}
		if s.First < 0 {
			s.First = m.FirstStep
		}
		s.First, s.Last = min(s.First, m.FirstStep), max(s.Last, m.FirstStep+int64(m.Steps)-1)
	}
	if float64(n) >= mostSteps*float64(of) {
		s.Pattern = PatternConstant
	}
	return s
}

func part(w *frontier.Result, ns int64) float64 { return float64(ns) / float64(max(1, w.Makespan)) }

// device names a rank whose stage is long on the device, where the host does
// not show it.
func (j *judge) device(w *frontier.Result) {
	d := w.Device
	if d == nil || len(d.Stages) == 0 || w.Steps == 0 || w.Makespan == 0 ||
		slices.Contains(w.Labels, labels.ForwardEventScopeLimited) || slices.Contains(w.Labels, labels.RoleAwareNeeded) {
		return
	}
	stage := w.Stages[d.Stages[0]].Name
	excess := max(0, d.PerStep-w.Slack(d.Stages[0])) * float64(w.Steps)
	share := excess / float64(w.Makespan)
	// Longer than the step itself is not a time but a mistake of units.
	if share < leastTold || share >= 1 || d.P > gates.Supported || slices.ContainsFunc(j.found, func(f *finding) bool {
		return f.Kind == KindRank && *f.Rank == d.Rank && f.Stage == stage
	}) {
		return
	}
	rank := d.Rank
	f := Finding{Kind: KindRank, Cause: CauseDevice, Place: Place{Rank: &rank, Stage: stage}, Cost: Cost{Explained: int64(excess), Gain: share}, Confidence: evidence.Supported,
		Evidence: []evidence.Observation{
			evidence.DeviceTime{Channel: d.Channel, Stage: stage, Rank: &rank, Device: int64(d.Time), Peers: int64(d.Peers), Host: int64(d.Wall), Samples: d.Ready},
			evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported},
		}}
	if incomplete(w) {
		f.Confidence = evidence.Ambiguous
		f.Evidence = append(f.Evidence, evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Ambiguous})
	}
	j.add(w, f)
}

// groups names a role group that does more work than the others.
func (j *judge) groups(w Window) {
	if len(w.Groups) < 2 || w.Main.SyncPoint.WithinPeers {
		return
	}
	work := make([]int64, len(w.Groups))
	heavy := 0
	for i, g := range w.Groups {
		if work[i] = medianWork(w.Main, g.Ranks); work[i] > work[heavy] {
			heavy = i
		}
	}
	others := slices.Delete(slices.Clone(work), heavy, heavy+1)
	usual := robust.Upper(others)
	main := w.Main
	more := min(work[heavy]-usual, main.Makespan)
	share := float64(more) / float64(max(1, main.Makespan))
	if share < trivial {
		return
	}
	steps := int64(max(1, main.Steps))
	// Roles may differ by design: whether this is a fault or the model's
	// balance cannot be told from times.
	j.add(main, Finding{Kind: KindGroup, Cause: CauseMoreWork, Place: Place{Group: w.Groups[heavy].Group, Ranks: w.Groups[heavy].Ranks},
		Cost: Cost{Explained: more, Gain: share}, Confidence: evidence.Ambiguous, Evidence: []evidence.Observation{
			evidence.GroupWork{Group: w.Groups[heavy].Group, Own: work[heavy] / steps, Others: usual / steps},
			evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous}}})
}

// medianWork is the median over some ranks of the time that they did not wait.
func medianWork(w *frontier.Result, ranks []int) int64 {
	var work []int64
	for r, id := range w.Ranks {
		if slices.Contains(ranks, id) {
			work = append(work, w.Work[r])
		}
	}
	return robust.Upper(work)
}

// ranked orders the findings: first those to act on, then uncertain ones, then small
// ones; within each class by explained exposed time.
func (j *judge) ranked() []Finding {
	slices.SortStableFunc(j.found, func(a, b *finding) int { return byWeight(&a.Finding, &b.Finding) })
	out := make([]Finding, 0, len(j.found))
	for _, f := range j.found {
		out = append(out, f.Finding)
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
