package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// verdict ranks the theories and says how certain each is.
func (j *opJudge) verdict() *RunVerdict {
	total := int64(0)
	for _, ns := range j.Replay.Recorded.PerStep {
		total += ns
	}
	for _, t := range j.theories {
		t.Gain = t.saved / max(1, j.base(t))
		t.Score = float64(t.Explained) / float64(max(1, total))
		t.RunGain = t.Gain
		t.Excess, t.Step = t.Explained/int64(len(j.Steps)), int64(j.base(t))
		if t.from == nil {
			t.Struck = Struck{Count: len(j.Steps), Of: len(j.Steps), First: j.Steps[0], Last: j.Steps[len(j.Steps)-1], Pattern: PatternConstant}
		}
		j.strikes(t)
	}
	for _, t := range j.theories {
		j.trust(t)
	}
	slices.SortStableFunc(j.theories, func(a, b *theory) int { return byWeight(&a.Finding, &b.Finding) })
	// The few largest of what is too small to report are enough.
	first := slices.IndexFunc(j.theories, func(t *theory) bool { return t.BelowMinGain })
	if first >= 0 {
		j.theories = j.theories[:min(len(j.theories), first+maxSmall)]
	}
	v := &RunVerdict{Operators: j.Operators, Undecided: j.undecided(), Next: j.next()}
	for _, t := range j.theories {
		t.Ranks = j.alike(t)
		if t.Rank != nil {
			t.StandsFor = j.StandsFor(*t.Rank)
		}
		v.Findings = append(v.Findings, t.Finding)
	}
	if len(v.Findings) > 0 {
		v.Confidence = v.Findings[0].Confidence
	}
	return v
}

// base is the step that a theory takes its savings from: as recorded for what
// is lost before operators start, without launch delays for all else.
func (j *opJudge) base(t *theory) float64 {
	if t.Cause == CauseLaunch {
		return max(j.Replay.Recorded.Mean, t.saved)
	}
	return j.now
}

// reported reports whether a theory is large enough to act on: by itself, or with all others fixed.
func (j *opJudge) reported(t *theory) bool {
	return max(j.share(t), t.after/max(1, j.base(t))) >= j.minGain
}

// trust decides how certain a theory is, and closes its evidence with the
// replay and with what a higher confidence lacks.
func (j *opJudge) trust(t *theory) {
	t.Evidence, t.modelled = append(t.Evidence, j.replayed(t)), t.delayed != nil
	t.BelowMinGain = !j.reported(t)
	t.Confidence = evidence.Strong
	j.lacks(t)
}

// replayed is what a step would take without what the theory is about.
func (j *opJudge) replayed(t *theory) evidence.StepReplay {
	r := evidence.StepReplay{Without: evidence.WithoutFault, Step: int64(j.base(t)), Saved: int64(t.saved), Share: j.share(t), Record: int64(j.Replay.Recorded.Mean)}
	if t.masked(len(j.Steps)) && j.share(t) >= trivial {
		r.Masked, r.Joint = true, int64(t.joint)
	}
	switch t.Cause {
	case CauseLaunch:
		r.Without = evidence.WithoutLateStart
	case CauseTurns:
		r.Without, r.Op = evidence.WithoutUnevenness, t.Op
	}
	return r
}

// lacks are the reasons why a theory is not strong.
func (j *opJudge) lacks(t *theory) {
	few := j.Replicas < enoughReplicas
	switch t.Cause {
	case CauseCompute, CauseTransfer:
		confirmed := slices.ContainsFunc(t.workers, j.blamed) || t.Cause == CauseCompute && j.confirmedBy(t.workers[0])
		t.lackIf(few, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: j.Replicas - 1})
		t.lackIf(!few && !confirmed, evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported})
	case CauseLink, CauseCollective:
		t.lack(evidence.Lack{Reason: evidence.WorkUnknown, AtMost: evidence.Supported})
	case CauseLaunch:
		t.lackIf(!t.confirmed && !few, evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Ambiguous})
		t.lack(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Supported})
	case CauseHeavy:
		t.lackIf(few, evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		t.lackIf(few && j.Passes == nil, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported})
		t.lackIf(!few && !j.surelyHeavy(t.stage), evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous})
	case CauseTurns:
		t.lackIf(t.Op != "" || j.v.Grid.Stages < 2 || !j.sameData(), evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
	case CauseRegression, CauseSlowSteps, CausePeriodic:
		t.lack(evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
	}
	if t.delayed != nil {
		p := t.delayed.p()
		t.lackIf(p > gates.Strong, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, P: p})
		t.lackIf(p > gates.Supported, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous})
		t.lackIf(t.once(), evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: t.incidents})
		t.lackIf(t.Struck.Count < 2, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Ambiguous})
	}
	t.lackIf(len(j.Steps) < enoughSteps, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: len(j.Steps)})
}

// once reports whether what a theory is about is one stretch of the run and another, which cannot be told
// from bursts as long.
func (t *theory) once() bool {
	return t.incidents < fewestIncidents && 3*t.Struck.Count < t.Struck.Of && !t.ongoing
}

// alike are the ranks of the workers that are slow together with a theory's,
// ascending; nil for one alone.
func (j *opJudge) alike(t *theory) []int {
	if t.Cause != CauseCompute || !t.masked(len(j.Steps)) || t.BelowMinGain {
		return nil
	}
	var ids []int
	for _, o := range j.theories {
		if o.Cause == CauseCompute && !o.BelowMinGain && o.Explained*2 >= t.Explained {
			ids = append(ids, *o.Rank)
		}
	}
	if len(ids) < 2 {
		return nil
	}
	slices.Sort(ids)
	return ids
}

// undecided lists what the trace cannot tell.
func (j *opJudge) undecided() (out []answer.Undecided) {
	ask := func(holds bool, u answer.Undecided) {
		if holds {
			out = append(out, u)
		}
	}
	ask(j.Replicas < 3, answer.Undecided{Question: answer.WhichOfFew, N: j.Replicas})
	missing := false
	for _, n := range j.Notes {
		ask(n.Kind == input.NoteMissingRanks, answer.Undecided{Question: answer.RanksNotRecorded, Name: n.Text})
		missing = missing || n.Kind == input.NoteMissingRanks
	}
	ask(j.unlinked(), answer.Undecided{Question: answer.MessagesNotRecorded})
	ask(len(j.Steps) < enoughSteps, answer.Undecided{Question: answer.FewSteps, N: len(j.Steps)})
	local := slices.ContainsFunc(j.theories, func(t *theory) bool {
		return t.delayed != nil && !t.BelowMinGain
	})
	ask(local && j.Layout.TP > 1, answer.Undecided{Question: answer.RankOfWorker, N: j.Layout.TP})
	share := j.network()
	ask(share >= j.gates.StaticGain && !missing, answer.Undecided{Question: answer.TransferHidden, Share: share})
	return out
}

// network is the part of a step that goes when transfers take no time, with
// the findings already fixed.
func (j *opJudge) network() float64 {
	var named []*theory
	for _, t := range j.theories {
		if t.fix != nil && j.share(t) >= trivial {
			named = append(named, t)
		}
	}
	found := fixes(named)
	return (j.step(found...) - j.step(append(found, j.freeCommunication())...)) / max(1, j.now)
}

// next is what a profiler should record.
func (j *opJudge) next() []answer.Action {
	if len(j.theories) == 0 {
		return nil
	}
	t := j.theories[0]
	a := answer.Action{Action: answer.Profile, Steps: &[2]int64{j.Steps[0], j.Steps[len(j.Steps)-1]}}
	if t.Stage != "" {
		a.Stages = []string{t.Stage}
	}
	switch {
	case len(t.workers) > 0 && (t.local() || t.Cause == CauseLaunch):
		for _, w := range t.workers {
			a.Ranks = append(a.Ranks, j.Workers[w].ID)
		}
		a.Peers = sample(idsOf(j.ofStage(j.v.Stage(t.workers[0]))), 2, a.Ranks)
	case t.Cause == CauseHeavy:
		members := idsOf(j.ofStage(t.stage))
		a.Ranks, a.Peers = sample(members, 1, nil), sample(idsOf(j.Workers), 1, members)
	default:
		a.Ranks = sample(idsOf(j.Workers), 4, nil)
	}
	for _, rank := range slices.Concat(a.Ranks, a.Peers) {
		if ranks := j.StandsFor(rank); ranks != nil {
			a.Workers = append(a.Workers, answer.Worker{Worker: rank, StandsFor: ranks})
		}
	}
	return []answer.Action{a}
}

// ofStage are the workers of a pipeline stage.
func (j *opJudge) ofStage(stage int) []trace.Rank {
	return j.Workers[stage*j.Replicas : (stage+1)*j.Replicas]
}

func idsOf(ranks []trace.Rank) (ids []int) {
	for _, r := range ranks {
		ids = append(ids, r.ID)
	}
	return ids
}
