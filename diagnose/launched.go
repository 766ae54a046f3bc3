package diagnose

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// addLaunched takes the operators behind the stages of a run's windows. Of the rank
// and stage that the windows speak against, the verdict then says which operators
// are slow beside its peers'. Nothing is suspected because of an operator alone.
// O(n·R) for n rows of R ranks.
func (r *run) addLaunched(t *operator.Totals) error {
	if e, ok := longestOperators(t); ok {
		r.longest = append(r.longest, e)
	}
	if t.Functions {
		r.functions = append(r.functions, t)
		return nil
	}
	compared, err := opnames.Compare(t, opnames.Alpha)
	if err != nil {
		return err
	}
	r.launched = append(r.launched, compared)
	groups, err := opnames.CompareGroups(t, opnames.Alpha)
	if groups != nil {
		r.across = append(r.across, groups)
	}
	return err
}

// operations adds to the findings on ranks in a stage what they launched there,
// and a finding on the operator that explains most of it; to those on stages that
// are long on all ranks alike, whose operators take longer for certain, though
// nobody is late for it.
func (j *judge) operations() {
	for _, f := range slices.Clone(j.found) {
		if f.Cause == CauseSlowSteps {
			step := j.modelled.Whole / int64(max(1, f.Struck.Of))
			f.Evidence = append(slices.Clone(f.Evidence), j.harmless(trivial/2*float64(step))...)
		}
		j.compareGroups(f)
		if f.Kind != KindRank || f.Rank == nil {
			continue
		}
		for _, r := range j.launched {
			in := newLaunchedSuspect(r, *f.Rank, f.Stage)
			if in == nil {
				continue
			}
			in.describe(f, j.windows[f.Detail].Main.Members)
			j.doubt(f, in)
			if f.Stage != "" {
				j.explain(f, in)
			}
			break
		}
	}
}

// harmless returns the ranks whose operators in a stage take longer for certain, by a least time in ns a step, the longest
// first, where nobody is late for it.
func (j *judge) harmless(least float64) (out []evidence.Observation) {
	type place struct {
		rank  int
		stage string
	}
	var seen []place
	for _, r := range j.launched {
		for _, d := range r.SureDifferences() {
			at := place{d.Rank, d.Stage}
			if slices.Contains(seen, at) || len(seen) == listedOps {
				continue
			}
			seen = append(seen, at)
			if in := newLaunchedSuspect(r, d.Rank, d.Stage); in.sureExcess >= least {
				out = append(out, in.sum(false), in.compareOperator(d))
			}
		}
	}
	return out
}

// launchedSuspect is what a rank launched in the stage that it is suspected in.
type launchedSuspect struct {
	*opnames.Result
	rank       int
	stage      string               // "": all of them
	all        []opnames.Difference // by excess
	sure       []opnames.Difference // those that take longer for certain
	own, peers float64              // of all, ns a step
	sureExcess float64              // ns a step
}

func newLaunchedSuspect(r *opnames.Result, rank int, stage string) *launchedSuspect {
	if len(r.RankDifferences(rank, "")) == 0 {
		return nil // no peers, or it is not among those that were recorded
	}
	in := &launchedSuspect{Result: r, rank: rank, stage: stage, all: r.RankDifferences(rank, stage)}
	for _, d := range in.all {
		in.own += d.Whole.Own
		in.peers += d.Whole.Peers
		if d.Sure && d.Excess() > 0 {
			in.sure = append(in.sure, d)
			in.sureExcess += d.Excess()
		}
	}
	return in
}

// excess returns the excess of all operators together, ns a step.
func (in *launchedSuspect) excess() float64 { return in.own - in.peers }

// describe adds to a finding what its operators show: all together, and the
// largest of those that take longer for certain, or where no test can tell, the
// largest.
func (in *launchedSuspect) describe(f *Finding, members []trace.Rank) {
	lines := in.observations()
	if wait, ok := in.collectiveWait(f, members); ok {
		lines = append(lines, wait)
	}
	f.Evidence = slices.Insert(slices.Clone(f.Evidence), min(2, len(f.Evidence)), lines...)
}

// observations returns all operators together, and the largest of the operators that describe lists.
func (in *launchedSuspect) observations() []evidence.Observation {
	lines := []evidence.Observation{in.sum(true)}
	shown := in.sure
	if len(in.sure) == 0 && len(in.all) > 0 && !in.all[0].Tested {
		shown = in.all[:1]
	}
	for _, d := range shown[:min(listedOps, len(shown))] {
		lines = append(lines, in.compareOperator(d))
	}
	return lines
}

// launchedBy returns what a late rank launched where it is late, beside its peers; nil: it is not known.
func (j *judge) launchedBy(f *Finding) []evidence.Observation {
	if _, described := evidence.Find[evidence.LaunchedOperators](f.Evidence); described || f.Cause != CauseLate || f.Rank == nil {
		return nil
	}
	for _, r := range j.launched {
		if in := newLaunchedSuspect(r, *f.Rank, f.Stage); in != nil {
			return in.observations()
		}
	}
	return nil
}

// stacksFor returns the actions with the stacks of a rank that was profiled already in place of a profile.
func stacksFor(list []answer.Action, rank int) []answer.Action {
	out := slices.Clone(list)
	for i := range out {
		if a := &out[i]; a.Action == answer.Profile && a.With == answer.SourceProfiler {
			a.Action, a.With, a.Ranks, a.Peers = answer.SampleStack, answer.SourceStacks, []int{rank}, nil
		}
	}
	return out
}

// explain adds a finding on the operator that explains most of one on a rank.
func (j *judge) explain(f *Finding, in *launchedSuspect) {
	if d, ok := in.mainOperator(); ok {
		part := min(1, d.Excess()/max(d.Excess(), in.excess()))
		s := &Finding{Kind: KindOp, Cause: CauseOperator, Place: Place{Rank: f.Rank, Stage: f.Stage, Op: d.Name, Group: f.Group}, Cost: f.Cost.times(part), Confidence: f.Confidence,
			BelowMinGain: f.BelowMinGain, Evidence: []evidence.Observation{in.compareOperator(d)}, Windows: f.Windows, Detail: f.Detail}
		at := slices.Index(j.found, f)
		j.found = slices.Insert(j.found, at+1, s)
	}
}

// doubt lowers the certainty of a rank whose operators are shorter in other
// steps: it is late intermittently because its work is larger then, and that no
// rank can fix.
func (j *judge) doubt(f *Finding, in *launchedSuspect) {
	if f.Cause == CauseLate && in.varies(f.timePerStep()) {
		f.lack(evidence.Lack{Reason: evidence.WorkVaries, AtMost: evidence.Ambiguous})
	}
}

// varies reports whether the operators that take longer for certain make up for it
// in other steps, as work of varying size does: where they are longer, that is
// half of a delay, in ns a step, or more; in some step they are shorter, by a
// quarter of what they are longer on average; and the mean over all steps is not
// above 0 beyond chance (Student's t, one side, 1 %).
func (in *launchedSuspect) varies(delay int64) bool {
	course := make([]float64, len(in.Steps))
	for _, d := range in.sure {
		for t, ns := range d.Course {
			course[t] += float64(ns)
		}
	}
	n := len(course)
	longer := 0.0
	for _, ns := range course {
		longer += max(0, ns)
	}
	if n < 3 || longer == 0 || 2*longer < float64(delay)*float64(n) {
		return false
	}
	mean, sd := stat.MeanStdDev(course, nil)
	if slices.Min(course) > -mean/4 {
		return false
	}
	return mean <= student.Upper(0.01, float64(n-1))*sd/math.Sqrt(float64(n))
}

// mainOperator returns the operator that explains most of what the rank takes longer, where
// not all are slow alike.
func (in *launchedSuspect) mainOperator() (opnames.Difference, bool) {
	if len(in.sure) == 0 || in.deviceWide() || in.sure[0].Excess() < mainOperatorShare*in.excess() {
		return opnames.Difference{}, false
	}
	return in.sure[0], true
}

// sum returns the sum of all operators of the rank.
func (in *launchedSuspect) sum(late bool) evidence.LaunchedOperators {
	e := evidence.LaunchedOperators{Rank: &in.rank, Stage: in.stage, N: len(in.sure), Of: len(in.all), Own: int64(in.own), Peers: int64(in.peers), Excess: int64(in.sureExcess),
		Tested: len(in.all) > 0 && in.all[0].Tested, Late: late}
	if in.deviceWide() {
		e.DeviceWide = true
		e.Low, e.High = in.factors()
	}
	return e
}

// factors returns the least and the largest by which operators take longer.
func (in *launchedSuspect) factors() (low, high float64) {
	low = math.Inf(1)
	for _, d := range in.sure {
		low, high = min(low, d.Factor()), max(high, d.Factor())
	}
	return low, high
}

// deviceWide reports whether factors are so many and so close to each other
// that no operator is to blame.
func (in *launchedSuspect) deviceWide() bool {
	low, high := in.factors()
	return len(in.sure) >= 3 && 2*len(in.sure) >= len(in.all) && high-1 < 1.5*(low-1)
}

// compareOperator returns one operator beside its peers.
func (in *launchedSuspect) compareOperator(d opnames.Difference) evidence.OperatorDifference {
	e := evidence.OperatorDifference{Op: d.Name, Own: int64(d.Own), Peers: int64(d.Peers), Steps: len(d.Steps), Of: len(in.Steps),
		Count: d.Count, PeerCount: d.PeerCount, Excess: int64(d.Excess())}
	if len(in.all) > 1 {
		e.All = int64(in.excess())
	}
	return e
}

// collectiveWait returns the waits of the others' collectives for the rank, where the wait is most of them.
func (in *launchedSuspect) collectiveWait(f *Finding, members []trace.Rank) (e evidence.CollectiveWait, ok bool) {
	var waited, took []float64
	own, ownTook := 0.0, 0.0
	for _, m := range members {
		w, b, any := in.collectives(m.ID)
		switch {
		case !any:
		case m.ID == in.rank:
			own, ownTook = w, b
		default:
			waited, took = append(waited, w), append(took, b)
		}
	}
	if len(waited) == 0 {
		return e, false
	}
	w, b := robust.Upper(waited), robust.Upper(took)
	e = evidence.CollectiveWait{Rank: in.rank, Own: int64(ownTook), OwnWaited: int64(own), Peers: int64(b), PeersWaited: int64(w)}
	return e, w >= 2*own && w-own >= mostlyWait*float64(f.timePerStep())
}

// collectives returns how long a rank waited in collectives and how long they took with the wait, ns a step.
func (in *launchedSuspect) collectives(rank int) (waited, took float64, any bool) {
	for _, d := range in.RankDifferences(rank, "") {
		if d.Kind == opnames.Collective {
			waited, took, any = waited+d.Whole.Waited, took+d.Whole.Own+d.Whole.Waited, true
		}
	}
	return waited, took, any
}
