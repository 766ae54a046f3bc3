package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// modelFindings adds the findings that one of the model makes: as many as ranks are late together.
func (j *judge) modelFindings(f *claim.Claim) (out []*Finding) {
	at := j.placed
	base := j.modelFinding(f, at)
	switch {
	case f.Cause != claim.Late || f.Kind == claim.Everyone:
		out = append(out, j.placedFinding(f, base, at))
	case f.Kind == claim.Host:
		base.Kind, base.Host, base.Ranks = KindHost, at.hosts[f.Host], at.ids(f.Ranks)
		base.Evidence = append(base.Evidence, evidence.LateTogether{Ranks: base.Ranks, Host: base.Host, Gain: base.Gain, RunGain: base.RunGain})
		out = append(out, j.placedFinding(f, base, at))
	case f.Kind == claim.PeerSet:
		base.Kind, base.Ranks = KindGroup, at.ids(f.Ranks)
		base.Group = cmp.Or(at.nameOf(f.Ranks), j.roleGroup(base.Ranks[0]))
		base.Evidence = append(base.Evidence, evidence.LateTogether{Ranks: base.Ranks, Group: base.Group, Gain: base.Gain, RunGain: base.RunGain})
		out = append(out, j.placedFinding(f, base, at))
	default:
		for _, r := range f.Ranks {
			one := base
			id := at.ranks[r]
			one.Rank = &id
			one.Evidence = slices.Clone(base.Evidence)
			if last, ok := one.Evidence[0].(evidence.LastToArrive); ok {
				last.Rank = id
				one.Evidence[0] = last
			}
			if len(f.Ranks) > 1 {
				one.Ranks = at.ids(f.Ranks)
				together := evidence.LateTogether{Ranks: one.Ranks, Gain: one.Gain, RunGain: one.RunGain}
				if len(f.Others) > 0 {
					together.Others = at.ids(f.Others)
				}
				for _, s := range f.Successive {
					together.Spans = append(together.Spans, evidence.Span{Rank: at.ranks[s.Rank], Steps: [2]int64{at.steps.number(s.First), at.steps.number(s.Last)}})
				}
				one.Evidence = append(one.Evidence, together)
			}
			out = append(out, j.placedFinding(f, one, at))
		}
	}
	return out
}

// chiefStage is the part of a delay that one stage must have for the finding to be about it.
const chiefStage = 0.6

// modelFinding returns what findings of the model have in common.
func (j *judge) modelFinding(f *claim.Claim, at stepPlaces) Finding {
	m := j.modelled
	out := Finding{Kind: KindRank, Cause: CauseLate, Confidence: confidenceIn(f.Certainty), modelled: true}
	if main, charged := j.mainStage(f); f.Factor == 0 && float64(charged) >= chiefStage*float64(f.Charged()) {
		out.Stage = main
	}
	out.BelowMinGain = f.Saves.Largest() < j.minGain && !(j.lasts(f) && f.StruckGain(m.Whole) >= j.minGain)
	out.Cost = costOf(f, m.Whole, at.steps.number(max(0, f.Steps.First)), at.steps.number(max(0, f.Steps.Last)))
	out.Score = min(1, float64(out.Explained)/float64(max(1, m.Whole)))
	out.P, out.Incidents = f.P, f.Steps.Incidents
	j.modelEvidence(f, &out, at)
	out.lackIf(f.Certainty == claim.Event && delay.IsDoubtful(f, m.Rounded), evidence.Lack{Reason: evidence.TimesRounded, AtMost: evidence.Ambiguous})
	return out
}

// leastLasting is for how many steps a delay of a run that goes on has lasted to count by these steps alone.
const leastLasting = 20

// lasts reports whether a rank is late from some step on, in a run that goes on.
func (j *judge) lasts(f *claim.Claim) bool {
	return j.goesOn && f.Cause == claim.Late && f.Steps.Ongoing && f.Steps.Pattern == claim.Span && f.Steps.Count >= leastLasting
}

// longerBy returns how many times as long as the others a struck step is: these are the middle step, but where most steps
// are struck.
func longerBy(f *claim.Claim, step int64) float64 {
	if others := f.Length - f.Size; 2*f.Steps.Count > f.Steps.Of && others > 0 {
		step = others
	}
	return 1 + float64(f.Size)/float64(max(1, step))
}

// mainStage returns the stage with most of a claim, all microsteps together, and what is charged to it, ns; "" where the claim has no parts.
func (j *judge) mainStage(f *claim.Claim) (main string, most int64) {
	charged := map[string]int64{}
	for _, p := range f.Parts {
		name := j.stageName(p.Stage)
		if charged[name] += p.Charged; main == "" || charged[name] > charged[main] {
			main = name
		}
	}
	return main, charged[main]
}

func modelPattern(p claim.Pattern) Pattern {
	switch p {
	case claim.Constant:
		return PatternConstant
	case claim.Span:
		return PatternWindow
	case claim.Periodic:
		return PatternPeriodic
	}
	return PatternIntermittent
}

// modelEvidence adds the evidence for a finding of the model, and the lack of a higher confidence.
func (j *judge) modelEvidence(f *claim.Claim, out *Finding, at stepPlaces) {
	m := j.modelled
	slow := evidence.SlowSteps{N: f.Steps.Count, Of: f.Steps.Of, Factor: longerBy(f, m.Step), Excess: f.Size, First: out.Struck.First, Last: out.Struck.Last}
	switch f.Cause {
	case claim.StartUp:
		out.Kind, out.Cause = KindStage, CauseStartUp
		out.BelowMinGain, out.RunGain, out.RunLow, out.RunAtMost, out.After, out.Gain = true, 0, 0, 0, 0, 0
		if len(f.Ranks) == 1 {
			id := at.ranks[f.Ranks[0]]
			out.Kind, out.Rank = KindRank, &id
		}
		out.Evidence = []evidence.Observation{slow}
		return
	case claim.Regression, claim.SlowSteps:
		out.Kind, out.Cause = KindStage, CauseSlowSteps
		out.Evidence = []evidence.Observation{slow}
		switch {
		case out.Struck.Pattern == PatternPeriodic:
			out.Cause = CausePeriodic
		case f.Cause == claim.Regression:
			out.Cause = CauseRegression
			if out.Evidence = []evidence.Observation{j.stageChange(f, at), slow}; f.Grows { // no steps are as long as others
				out.Evidence = out.Evidence[:1]
			}
		}
		if out.Stage == "" {
			out.Kind = KindWorkload
		}
		// What a loop does at every n-th step outside of its stages is written there: nobody expects it to go.
		if out.Cause == CausePeriodic && out.Stage == stagename.Residual {
			out.lack(evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous})
			return
		}
		out.lack(evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		return
	case claim.Turns:
		out.Kind, out.Cause = KindWorkload, CauseTurns
		turns := evidence.LateIntermittently{Stage: out.Stage, Saves: f.Saves.Alone, Ranks: len(at.ranks), P: f.Even, Even: f.Even > gates.Supported}
		for _, t := range f.Turns {
			turns.Late, turns.Turns = append(turns.Late, at.ranks[t.Rank]), append(turns.Turns, t.N)
		}
		out.Evidence = append(out.Evidence, turns)
		if len(f.Ranks) > 1 {
			moving := evidence.RankToRank{Stage: out.Stage, Saves: f.Saves.Alone, P: f.P}
			for _, r := range f.Ranks {
				moving.Ranks = append(moving.Ranks, at.ranks[r])
				if h := at.hostOf(r); h != "" && !slices.Contains(moving.Hosts, h) {
					moving.Hosts = append(moving.Hosts, h)
				}
			}
			out.Evidence = append(out.Evidence, moving)
		}
		out.lack(evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		return
	}
	mainly := ""
	if out.Stage == "" && len(f.Parts) > 0 {
		mainly, _ = j.mainStage(f)
	}
	last := evidence.LastToArrive{Rank: at.ranks[f.Ranks[0]], Stage: out.Stage, Mainly: mainly, N: f.Last, Of: f.Steps.Count / max(1, f.Every), Every: f.Every, Excess: f.Size, P: f.P, Ends: f.Ends}
	if f.Grows {
		last.Line = &evidence.Line{Steps: [2]int64{at.steps.number(f.Steps.First), at.steps.number(f.Steps.Last)}, From: f.Before, To: f.From}
	}
	if len(f.Ranks) > 1 {
		last.Ranks = at.ids(f.Ranks)
	}
	out.Evidence = append(out.Evidence, last, evidence.Replay{Ranks: at.ids(f.Ranks), Saves: f.Saves.Alone, Charged: out.Score})
	evident := points.None
	if len(m.Points) > 0 {
		p := m.Points[0]
		evident = p.Evidence
		s := evidence.SyncPoint{Stage: m.Stages[p.Stage].Name, Every: f.Every, By: map[points.Evidence]string{points.Likely: "name", points.Shown: "slope", points.Named: "named"}[p.Evidence]}
		switch {
		case at.cut != nil:
			s.By = "calls"
		case p.Evidence == points.Shown:
			s.Slope, s.Low, s.High = -p.Slope, -p.High, -p.Low
		}
		out.Evidence = append(out.Evidence, s)
	}
	out.lackIf(f.P > j.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, P: f.P})
	out.lackIf(evident == points.None && at.walled, evidence.Lack{Reason: evidence.NobodyWaits, AtMost: evidence.Ambiguous})
	out.lackIf(evident == points.None, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	likely := evidence.Lack{Reason: evidence.SyncLikely, AtMost: evidence.Supported}
	if out.Stage == stagename.Residual && !j.isCut(out.Stage) { // where ranks may wait as well
		likely.AtMost = evidence.Ambiguous
	}
	out.lackIf(evident == points.Likely, likely)
	out.lackIf(evident != points.None && f.Waited < 0.5, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	out.lackIf(!at.walled, evidence.Lack{Reason: evidence.NoWallTime, AtMost: evidence.Supported})
	out.lackIf(j.hasLabels(labels.TelemetryLimited) && (at.cut == nil || !at.cut.clocked || slices.ContainsFunc(j.windows, func(w Window) bool { return w.Incomplete() })), evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Supported})
	out.lackIf(at.mixed, evidence.Lack{Reason: evidence.RolesMixed, AtMost: evidence.Supported})
	out.lackIf(at.cut != nil && j.entered.Roles && mayBeDesign(f), evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous})
	out.lackIf(m.Within && at.cut == nil, evidence.Lack{Reason: evidence.WithinOneRole, AtMost: evidence.Supported})
	out.lackIf(j.hasLabels(labels.GradientAccumulationAmbiguous), evidence.Lack{Reason: evidence.MicrostepsSummed, AtMost: evidence.Supported})
	out.lackIf(len(f.Ranks) > 1 && f.Kind == claim.Ranks, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Supported})
}

// designShare is the part of the steps from which on a delay may be work that a rank has by design, which noise hides in the others.
const designShare = 0.75

// mayBeDesign reports whether a rank takes longer in as many steps as it does for work that it has by design.
func mayBeDesign(c *claim.Claim) bool {
	return !c.Grows && (c.Steps.Pattern == claim.Constant || c.Steps.Pattern != claim.Periodic && float64(c.Steps.Count) > designShare*float64(c.Steps.Of))
}

// stageChange returns the time of a stage from the step of its change on, and before.
func (j *judge) stageChange(f *claim.Claim, at stepPlaces) evidence.Slower {
	first := f.Steps.First
	return evidence.Slower{Stage: j.modelled.Stages[f.Parts[0].Stage].Name, Steps: [2]int64{at.steps.number(first), at.steps.last()},
		BaseSteps: [2]int64{at.steps.number(0), at.steps.number(max(0, first-1))}, Time: f.From, BaseTime: f.Before, Grows: f.Grows}
}

// placedFinding returns a finding with the windows that show it.
func (j *judge) placedFinding(f *claim.Claim, one Finding, at stepPlaces) *Finding {
	last := -1
	see := func(t int) {
		k := at.steps.window(t) - j.countForgotten()
		if k < 0 || k == last {
			return
		}
		if last < 0 {
			one.Detail = k
		}
		last = k
		if n := j.windows[k].Main.Window; !slices.Contains(one.Windows, n) {
			one.Windows = append(one.Windows, n)
		}
	}
	switch {
	case f.Steps.List != nil:
		for _, t := range f.Steps.List {
			see(t)
		}
	default:
		for t, by := max(0, f.Steps.First), max(1, f.Steps.Period); t <= f.Steps.Last; t += by {
			see(t)
		}
	}
	one.place(j.windows[one.Detail].Main)
	return &one
}

// costOf returns what a claim costs in a run of a length in ns, of which the first and the last step that it struck have those numbers. How
// large a part of the run it explains is left to its source.
func costOf(c *claim.Claim, whole, first, last int64) Cost {
	return Cost{Excess: c.Size, Step: c.Length, Explained: c.Charged(), Gain: c.StruckGain(whole),
		RunGain: c.Saves.Alone, RunLow: min(c.Saves.Low, c.Saves.Alone), RunAtMost: max(c.Saves.Largest(), c.Saves.High), After: c.Saves.After,
		Struck: Struck{Count: c.Steps.Count, Of: c.Steps.Of, First: first, Last: last, Pattern: modelPattern(c.Steps.Pattern), Period: c.Steps.Period}}
}

// confidenceIn returns the confidence in a claim before anything is held against it.
func confidenceIn(c claim.Certainty) evidence.Confidence {
	return [...]evidence.Confidence{claim.Event: evidence.Ambiguous, claim.Supported: evidence.Supported, claim.Strong: evidence.Strong}[c]
}

// lateArrivals returns the findings of ranks that arrive late by their own delay.
func (j *judge) lateArrivals(r *arrivals.Result) []Finding {
	return j.enteredLate(r, slices.Concat(r.Late, r.Doubted))
}

func (j *judge) enteredLate(r *arrivals.Result, claims []claim.Claim) (out []Finding) {
	for _, c := range claims {
		l, p, rank, worth := c.Entered, &r.Places[c.Entered.Place], c.Rank(), c.Saves.Largest()
		if r.Messages && 2*c.Saves.Alone < c.Saves.After { // most of it where others are fixed before: what they do to it in messages is not replayed
			worth = max(c.Saves.Alone, c.Saves.AtMost)
		}
		f := Finding{source: evidence.FromArrivals, Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Host: c.HostName(), Stage: lossStage(l, p), Op: operation(p.Op), Group: groupOf(c.Group, l.Desc), Source: sourceOf(p.Line)},
			Cost:       costOf(&c, r.End-r.Begin, l.Recorded[0], l.Recorded[1]),
			Confidence: evidence.Strong}
		f.Score = c.Saves.Largest()
		part := 1.0 // of what entries say that is possible
		share := j.spends(rank, f.Stage)
		if l.Divided && share > 0 && share < leastRoom*f.RunGain { // a clock that is off, or rounded times, have the calls in another stage
			if at := stageOf(p); j.spends(rank, at) >= leastRoom*f.RunGain {
				f.Stage, share = at, j.spends(rank, at)
			} else if j.entries.Parts() == 0 { // where steps began is a guess, and so is the stage
				f.Stage, share = "", 0
			}
		}
		if l.Divided && share > 0 && share < f.RunGain {
			part = share / f.RunGain
			f.Cost = f.times(part)
		}
		f.BelowMinGain = part*worth < j.minGain
		f.Evidence = append(f.Evidence, evidence.LastToEnter{Source: evidence.FromArrivals, Rank: rank, N: l.Last, Of: l.Points, Op: f.Op, Group: f.Group, Delay: l.Delay, Strikes: l.Strikes, P: c.P, Line: f.Source, After: sourceOf(previousLine(p))})
		if c.Saves.After > 0 || c.Saves.Alone > 0 { // else it is not known
			f.Evidence = append(f.Evidence, evidence.Replay{Ranks: c.Together, Saves: c.Saves.Alone, Charged: c.Saves.Largest()})
		}
		if len(c.Together) > 1 {
			f.Ranks = c.Together
			f.Evidence = append(f.Evidence, evidence.LateTogether{Ranks: c.Together, Gain: c.Saves.Largest(), RunGain: c.Saves.Largest()})
		}
		switch {
		case c.Certainty == claim.Event:
			f.lack(evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous, N: c.Steps.Count, P: gates.Supported})
		case c.Certainty < claim.Strong && c.P <= gates.Strong:
			f.lack(evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported})
		case c.Certainty < claim.Strong:
			f.lack(evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: c.Steps.Count, P: c.P})
		}
		if r.Apart {
			f.lack(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Supported})
		}
		f.lackIf(r.Roles && mayBeDesign(&c), evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous})
		f.lackIf(l.Held, evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Ambiguous})
		if l.Clock {
			f.lack(evidence.Lack{Reason: evidence.ClockOffset, AtMost: evidence.Supported})
		}
		j.locate(&f)
		out = append(out, f)
	}
	return out
}

// enteredAlike returns the findings of what all ranks take longer for alike, by the steps into which calls divide a run: from one on, or in some.
// Their steps are counted from the first that all recorded.
func (j *judge) enteredAlike(r *arrivals.Result) (out []Finding) {
	for i := range r.Common {
		c := &r.Common[i]
		place, follows := r.PartAt(c.Parts[0])
		p, first, last := &r.Places[place], int64(c.Steps.First), int64(c.Steps.Last)
		f := Finding{source: evidence.FromArrivals, Kind: KindWorkload, Cause: CauseSlowSteps, Place: Place{Op: operation(p.Op), Group: groupOf(p.Group, p.Desc), Source: sourceOf(p.Line)},
			Cost: costOf(c, r.End-r.Begin, first, last), Confidence: confidenceIn(c.Certainty), BelowMinGain: c.Saves.Largest() < j.minGain}
		f.Score = c.Saves.Largest()
		if f.Struck.Pattern == PatternPeriodic {
			f.Cause = CausePeriodic
		}
		if c.Cause == claim.Regression {
			f.Cause = CauseRegression
			work := "the work before " + f.Op
			if follows {
				work = "what follows " + f.Op
			}
			if f.Source != nil {
				work += " " + f.Source.Short()
			}
			f.Evidence = append(f.Evidence, evidence.Slower{Stage: work, Steps: [2]int64{first, last}, BaseSteps: [2]int64{0, max(0, first-1)}, Time: c.From, BaseTime: c.Before, Grows: c.Grows})
		}
		if !c.Grows { // else no steps are as long as others
			f.Evidence = append(f.Evidence, evidence.SlowSteps{N: c.Steps.Count, Of: c.Steps.Of, Factor: longerBy(c, r.Step), Excess: c.Size, First: first, Last: last})
		}
		f.lack(evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		out = append(out, f)
	}
	return j.order(out)
}

// leastRoom is the part of what a rank loses by its calls that it must spend in a stage for that to be the one: it loses more than
// half of it there.
const leastRoom = 0.5

// spends returns the part of the run that a rank spends in a stage, more than which no delay of it there costs: where calls go
// on beside the steps, it may enter them later than the others wait. In no stage it spends what the stages leave of the run, between
// steps as well. 0: not known, as where some steps lack ranks.
func (j *judge) spends(rank int, stage string) float64 {
	if j.modelled == nil || len(j.modelled.Spent) == 0 || j.partWithoutRanks() > 0 {
		return 0
	}
	at, R := slices.Index(j.placed.ranks, rank), len(j.placed.ranks)
	if at < 0 || len(j.modelled.Spent) != len(j.modelled.Stages)*R {
		return 0
	}
	in, elsewhere := int64(0), int64(0)
	for k := range j.modelled.Stages {
		if x := j.modelled.Spent[k*R+at]; j.stageName(k) == stage {
			in += x
		} else {
			elsewhere += x
		}
	}
	whole := max(1, j.modelled.Whole, j.entered.End-j.entered.Begin)
	if stage == stagename.Residual {
		in = max(0, whole-elsewhere)
	}
	return float64(in) / float64(whole)
}

// lossStage returns the stage in which a late rank loses its time: by stage times, else the
// stage of the call that it enters late.
func lossStage(l *claim.Entered, p *arrivals.Place) string {
	if l.Divided {
		return l.Stage
	}
	return stageOf(p)
}

// finding returns the finding of a claim about the communication.
func (h heardSuspect) finding() Finding {
	share := h.Saves.Largest()
	f := Finding{source: evidence.FromNCCL, Kind: KindRank, Cause: CauseLate, Place: Place{Ranks: h.Ranks, Host: h.HostName()}, Cost: Cost{Explained: suspects.Cost(&h.Claim), Score: share, Gain: share, RunGain: share},
		BelowMinGain: share < h.minGain}
	if h.Kind == claim.Rank || h.Bandwidth != nil && h.Bandwidth.Scope == claim.OneRank {
		f.Rank = &h.Ranks[0]
	}
	switch h.Kind {
	case claim.Rank:
		f.Evidence = []evidence.Observation{h.lastToEnter()}
	case claim.Communicator:
		f.Kind, f.Cause, f.Op, f.Evidence = KindGroup, CauseCollective, h.work(), h.slowEvidence()
		f.Group = groupName(h.communicator())
	default:
		f.Kind, f.Cause, f.Op, f.Evidence = KindEdge, CauseLink, h.work(), h.slowEvidence()
	}
	f.Confidence = evidence.Strong
	h.lacks(&f)
	if share < minReportedShare {
		f.Confidence, f.BelowMinGain = evidence.Insufficient, true
	}
	return f
}

// lastToEnter returns what speaks against a rank.
func (h heardSuspect) lastToEnter() evidence.LastToEnter {
	l := h.Entered
	return evidence.LastToEnter{Source: evidence.FromNCCL, Rank: h.Ranks[0], N: l.Last, Of: l.Points, Delay: l.Delay, Share: h.Saves.Largest(), P: h.P, Among: len(h.r.Ranks),
		Own: l.Own, Waited: l.Waited, Transfer: l.Transfer}
}

// lacks adds why the claim is not more certain.
func (h heardSuspect) lacks(f *Finding) {
	if b := h.Bandwidth; b != nil {
		f.lackIf(b.Settled == claim.Open, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Ambiguous, N: 1})
		f.lackIf(b.Settled == claim.ByLimit, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 1})
	}
	f.lackIf(h.P > h.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported, P: h.gates.SyncPoint.Significance})
	if b := h.Bandwidth; b != nil {
		f.lackIf(h.limit().Bandwidth == 0, evidence.Lack{Reason: evidence.LimitUnknown, AtMost: evidence.Supported})
		f.lackIf(b.Settled == claim.ByPeers && b.Peers == 2, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 2})
	}
}

// theoryFinding returns the finding of a theory, with what speaks for it.
func (j *opJudge) theoryFinding(t *theory) *Finding {
	whole := int64(0)
	for _, ns := range j.Replay.Recorded.PerStep {
		whole += ns
	}
	f := &Finding{source: evidence.FromOperators, modelled: t.delayed != nil, Place: Place{Op: t.Op, Ranks: j.slowTogether(t)},
		Cost: costOf(&t.Claim, whole, j.Steps[t.Steps.First], j.Steps[t.Steps.Last]), Confidence: evidence.Strong, BelowMinGain: !j.isReportable(t)}
	// What several save together the replay divides by itself.
	f.Gain, f.RunLow, f.RunAtMost, f.After = t.gain, 0, 0, 0
	f.Score = float64(f.Explained) / float64(max(1, whole))
	stage := t.Parts[0].Stage
	if t.Kind != claim.Everyone {
		f.Stage = j.stageName(stage)
	}
	if len(t.Seqs) == 1 {
		f.Seq = &t.Seqs[0]
	}
	if t.delayed != nil {
		f.Rank, f.StandsFor, f.Role = &t.Ranks[0], j.StandsFor(t.Ranks[0]), j.Workers[t.workers[0]].Role.String()
	}
	say := func(e ...evidence.Observation) { f.Evidence = append(f.Evidence, e...) }
	switch {
	case t.Cause == claim.Late:
		if f.Kind, f.Cause = KindRank, CauseCompute; f.Seq != nil {
			f.Kind = KindOp
		}
		say(timesOf(&t.Claim))
		say(j.listEvidence(t.workers[0], t.P)...)
	case t.Cause == claim.Launch:
		f.Kind, f.Cause = KindEdge, CauseLaunch
		say(evidence.LaunchDelay{Workers: j.hasSharedWorkers(), Rank: *f.Rank, Op: t.Op, Delay: t.Behind, Outlier: j.startsLate(t)})
		if walk := j.walkToGap(t); walk != nil {
			say(evidence.BlameWalks{Workers: j.hasSharedWorkers(), End: walk.Symptoms, Symptoms: j.Walks.Symptoms, Op: t.Op, Gap: true})
		}
	case t.delayed != nil:
		f.Kind, f.Cause = KindEdge, CauseTransfer
		say(evidence.TransferTimes{Workers: j.hasSharedWorkers(), Op: t.Op, Between: t.Ranks, Factor: t.Longer, P: t.P})
	case t.Kind == claim.Link:
		f.Kind, f.Cause = KindEdge, CauseLink
		say(evidence.TransferTimes{Op: t.Op, Stage: f.Stage, To: j.stageName(t.Parts[1].Stage), Factor: t.Longer})
	case t.Kind == claim.Communicator:
		f.Kind, f.Cause, f.Group = KindGroup, CauseCollective, f.Stage
		say(evidence.TransferTimes{Op: t.Op, Stage: f.Stage, Factor: t.Longer})
	case t.Cause == claim.Heavy:
		f.Kind, f.Cause = KindStage, CauseHeavy
		heavy := evidence.PassTimes{Stage: &stage, Peers: j.Stages() - 1, Factor: t.Longer, Step: t.Length, Even: t.Evenly}
		if j.Passes != nil && j.Passes.Stages[stage].Score != nil {
			heavy.Between, heavy.P = &j.Passes.Between, &j.Passes.Stages[stage].P
		}
		say(heavy)
	case t.Cause == claim.Turns:
		if f.Kind, f.Cause = KindWorkload, CauseTurns; t.Op != "" {
			f.Kind = KindOp
		} else if j.isDataBound() {
			s := j.Passes.Shared
			say(evidence.MicrobatchCorrelation{Spread: s.Spread, Directions: s.Directions, PDirections: s.PDirections, Stages: s.Stages, PStages: s.PStages})
		}
	default:
		if f.Kind, f.Cause = KindStage, CauseSlowSteps; t.Kind == claim.Everyone {
			f.Kind = KindWorkload
		}
		switch {
		case t.Cause == claim.Regression:
			f.Cause = CauseRegression
		case t.Steps.Pattern == claim.Periodic:
			f.Cause = CausePeriodic
		}
	}
	for _, c := range t.common {
		first, last := c.Steps.First, c.Steps.Last
		if c.Cause == claim.Regression {
			say(evidence.Slower{Stage: c.Op, Steps: [2]int64{j.Steps[first], j.Steps[last]}, BaseSteps: [2]int64{j.Steps[0], j.Steps[max(0, first-1)]}, Time: c.From, BaseTime: c.Before, Grows: c.Grows})
		}
		say(evidence.SlowSteps{N: c.Steps.Count, Of: c.Steps.Of, Factor: 1 + float64(c.Size)/j.now, Excess: c.Size, First: j.Steps[first], Last: j.Steps[last]})
	}
	say(j.replayWithout(t))
	j.lacks(t, f)
	return f
}

// timesOf returns what the operators take in which a rank loses its time.
func timesOf(c *claim.Claim) evidence.OperatorTimes {
	out := evidence.OperatorTimes{P: c.P}
	for _, o := range c.Took {
		one := evidence.OpTime{Op: o.Op, Own: o.Own, Peers: o.Peers}
		if o.Seq >= 0 {
			one.Seq = &o.Seq
		}
		out.In = append(out.In, one)
	}
	return out
}

// lacks adds why a theory is not more certain.
func (j *opJudge) lacks(t *theory, f *Finding) {
	few := j.Replicas < enoughReplicas
	switch f.Cause {
	case CauseCompute, CauseTransfer:
		confirmed := slices.ContainsFunc(t.workers, j.isBlamed) || f.Cause == CauseCompute && j.confirmedBy(t.workers[0])
		f.lackIf(few, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: j.Replicas - 1})
		f.lackIf(!few && !confirmed, evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported})
	case CauseLink, CauseCollective:
		f.lack(evidence.Lack{Reason: evidence.WorkUnknown, AtMost: evidence.Supported})
	case CauseLaunch:
		f.lackIf(!few && !j.startsLate(t) && j.walkToGap(t) == nil, evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Ambiguous})
		f.lack(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Supported})
	case CauseHeavy:
		f.lackIf(few, evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		f.lackIf(few && j.Passes == nil, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported})
		f.lackIf(!few && !j.surelyHeavy(t.Parts[0].Stage), evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous})
	case CauseTurns:
		f.lackIf(t.Op != "" || j.v.Grid.Stages < 2 || !j.isDataBound(), evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
	default:
		f.lack(evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
	}
	if t.delayed != nil {
		f.lackIf(t.Certainty < claim.Strong, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, P: t.P})
		f.lackIf(t.Certainty < claim.Supported, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous})
		f.lackIf(t.isSingleStretch(), evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: t.Steps.Incidents})
		f.lackIf(t.Steps.Count < 2, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Ambiguous})
	}
	f.lackIf(len(j.Steps) < enoughSteps, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: len(j.Steps)})
}
