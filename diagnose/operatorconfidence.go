package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// verdict ranks the theories and says how certain each is.
func (j *opJudge) verdict() *RunVerdict {
	findings := map[*theory]*Finding{}
	for _, t := range j.theories {
		j.setCost(t)
		findings[t] = j.theoryFinding(t)
	}
	slices.SortStableFunc(j.theories, func(a, b *theory) int { return compareWeight(findings[a], findings[b]) })
	// The few largest of what is too small to report are enough.
	first := slices.IndexFunc(j.theories, func(t *theory) bool { return !j.isReportable(t) })
	if first >= 0 {
		j.theories = j.theories[:min(len(j.theories), first+maxSmall)]
	}
	v := &RunVerdict{Operators: j.Operators, Undecided: j.listUndecided(), Coverage: j.coverage(), Latent: j.differ(), Next: j.next()}
	for _, t := range j.theories {
		v.Findings = append(v.Findings, *findings[t])
	}
	v.Confidence = confidenceOf(v.Findings)
	return v
}

// setCost fills in what fixing a theory saves of the run, and what a step that it struck costs.
func (j *opJudge) setCost(t *theory) {
	base := max(1, j.base(t))
	t.Size, t.Length, t.Saves = t.Charged()/int64(len(j.Steps)), int64(j.base(t)), claim.Exact(t.saved/base)
	t.Saves.After, t.gain = t.after/base, t.Saves.Alone
	if t.delayed == nil || t.fix == nil || t.Steps.Pattern == claim.Constant {
		return
	}
	struck, now, without := t.delayed.struck(), j.replayDelays(nil).PerStep, j.replayDelays(nil, t.fix).PerStep
	if len(now) != len(struck) || len(without) != len(struck) {
		return
	}
	saved, length := int64(0), int64(0)
	for i, hit := range struck {
		if hit {
			saved += now[i] - without[i]
			length += now[i]
		}
	}
	t.Size, t.Length = saved/int64(t.Steps.Count), length/int64(t.Steps.Count)
	t.gain = max(t.gain, float64(saved)/float64(max(1, length)))
}

// base returns the step that a theory takes its savings from: as recorded for losses before operators start, without launch
// delays for all else.
func (j *opJudge) base(t *theory) float64 {
	if t.Cause == claim.Launch {
		return max(j.Replay.Recorded.Mean, t.saved)
	}
	return j.now
}

// isReportable reports whether a theory is large enough to act on: by itself, or with all others fixed.
func (j *opJudge) isReportable(t *theory) bool {
	return max(j.share(t), t.after/max(1, j.base(t))) >= j.minGain
}

// replayWithout returns what a step would take without what the theory is about.
func (j *opJudge) replayWithout(t *theory) evidence.StepReplay {
	r := evidence.StepReplay{Without: evidence.WithoutFault, Step: int64(j.base(t)), Saved: int64(t.saved), Share: j.share(t), Record: int64(j.Replay.Recorded.Mean)}
	if t.isMasked(len(j.Steps)) && j.share(t) >= trivial {
		r.Masked, r.Joint = true, int64(t.joint)
	}
	switch t.Cause {
	case claim.Launch:
		r.Without = evidence.WithoutLateStart
	case claim.Turns:
		r.Without, r.Op = evidence.WithoutUnevenness, t.Op
	}
	return r
}

// isSingleStretch reports whether what a theory is about is one stretch of the run and another, which cannot be told
// from bursts as long.
func (t *theory) isSingleStretch() bool {
	return t.Steps.Incidents < fewestIncidents && 3*t.Steps.Count < t.Steps.Of && !t.Steps.Ongoing
}

// slowTogether returns the ranks of the workers that are slow together with a theory's,
// ascending; nil for one alone.
func (j *opJudge) slowTogether(t *theory) []int {
	if t.Cause != claim.Late || !t.isMasked(len(j.Steps)) || !j.isReportable(t) {
		return nil
	}
	var ids []int
	for _, o := range j.theories {
		if o.Cause == claim.Late && j.isReportable(o) && o.Charged()*2 >= t.Charged() {
			ids = append(ids, o.Ranks[0])
		}
	}
	if len(ids) < 2 {
		return nil
	}
	slices.Sort(ids)
	return ids
}

// listUndecided lists what the trace cannot tell.
func (j *opJudge) listUndecided() (out []answer.Undecided) {
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
	ask(j.lacksTransfers(), answer.Undecided{Question: answer.MessagesNotRecorded})
	ask(len(j.Steps) < enoughSteps, answer.Undecided{Question: answer.FewSteps, N: len(j.Steps)})
	local := slices.ContainsFunc(j.theories, func(t *theory) bool {
		return t.delayed != nil && j.isReportable(t)
	})
	ask(local && j.Layout.TP > 1, answer.Undecided{Question: answer.RankOfWorker, N: j.Layout.TP})
	share := j.network()
	ask(share >= j.gates.StaticGain && !missing, answer.Undecided{Question: answer.TransferHidden, Share: share})
	return out
}

// network returns the part of a step that goes when transfers take no time, with the findings already fixed.
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

// next returns the recording that a profiler should make next.
func (j *opJudge) next() []answer.Action {
	if len(j.theories) == 0 {
		return nil
	}
	t := j.theories[0]
	a := answer.Action{Action: answer.Profile, Steps: &[2]int64{j.Steps[0], j.Steps[len(j.Steps)-1]}}
	members := idsOf(j.stageWorkers(t.Parts[0].Stage))
	if t.Kind != claim.Everyone {
		a.Stages = []string{j.stageName(t.Parts[0].Stage)}
	}
	switch {
	case t.delayed != nil:
		a.Ranks = slices.Clone(t.Ranks)
		a.Peers = sample(members, 2, a.Ranks)
	case t.Cause == claim.Heavy:
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

// stageWorkers returns the workers of a pipeline stage.
func (j *opJudge) stageWorkers(stage int) []trace.Rank {
	return j.Workers[stage*j.Replicas : (stage+1)*j.Replicas]
}

func idsOf(ranks []trace.Rank) (ids []int) {
	for _, r := range ranks {
		ids = append(ids, r.ID)
	}
	return ids
}
