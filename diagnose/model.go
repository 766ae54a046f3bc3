package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// model are the options of the model of steps.
func (o Options) model() delay.Options {
	g := o.Frontier.Gates.OrDefault()
	out := delay.Options{MinGain: cmp.Or(o.MinGain, g.StaticGain), Points: points.Gates{Slope: g.SyncPoint.Slope, Confidence: g.SyncPoint.Confidence}}
	if o.Beside != nil { // a row says no limits
		out.Limits = delay.OneLimit
	}
	return out
}

// lookAtSteps finds what the steps of the run show, as one series. Device events, baselines and
// role groups that do more work are judged window by window.
func (j *judge) lookAtSteps() {
	j.modelled, j.placed = j.steps.result()
	if j.modelled != nil {
		for i := range j.modelled.Claims {
			j.found = append(j.found, j.fromModel(&j.modelled.Claims[i])...)
		}
	}
	late := slices.ContainsFunc(j.found, func(f *Finding) bool { return f.Cause == CauseLate && f.Flagged() })
	for _, w := range j.windows {
		j.device(w.Main)
		j.groups(w)
		if !late && len(w.Main.Ranks) > 1 && w.Main.Leader.Stage >= 0 && !incomplete(w.Main) {
			j.hostOverhead(w.Main)
		}
	}
	j.slower()
	found := j.ofWindows()
	j.found = append(found, slices.DeleteFunc(j.found, func(f *Finding) bool { return j.surfaced(f, found) })...)
}

// surfaced reports whether steps are longer on all ranks where they synchronise because a device finding
// says so: the delay is charged once, where it is.
func (j *judge) surfaced(f *Finding, found []*Finding) bool {
	if f.Cause != CauseSlowSteps && f.Cause != CausePeriodic || !j.synchronisesIn(f.Stage) {
		return false
	}
	return slices.ContainsFunc(found, func(d *Finding) bool { return d.Cause == CauseDevice && 2*d.Explained >= f.Explained })
}

// place of steps: their numbers, and the window that each is in.
type placed struct {
	ranks   []int
	hosts   []string
	host    []int // of each rank, in hosts; −1: not known
	numbers []int64
	window  []int // number of the window in its run
	splits  []trace.Split
	walled  bool // how long the steps took was recorded
	mixed   bool // the ranks have roles that do different work
}

// fromModel adds the findings that one of the model makes: as many as ranks are late together.
func (j *judge) fromModel(f *claim.Claim) (out []*Finding) {
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
				one.Evidence = append(one.Evidence, evidence.LateTogether{Ranks: one.Ranks, Gain: one.Gain, RunGain: one.RunGain})
			}
			out = append(out, j.placedFinding(f, one, at))
		}
	}
	return out
}

func (j *judge) roleGroup(rank int) string {
	for _, w := range j.windows {
		for _, g := range w.Groups {
			if slices.Contains(g.Ranks, rank) {
				return g.Group
			}
		}
	}
	return ""
}

// nameOf a set of ranks, by positions: what they have in common; "" where they are no set.
func (p placed) nameOf(ranks []int) string {
	for _, s := range p.splits {
		for i, set := range s.Sets {
			if slices.Equal(set, ranks) {
				return s.Names[i]
			}
		}
	}
	return ""
}

// hostOf a rank, by position; "" where it is not known.
func (p placed) hostOf(r int) string {
	if p.host[r] < 0 {
		return ""
	}
	return p.hosts[p.host[r]]
}

func (p placed) ids(ranks []int) (out []int) {
	for _, r := range ranks {
		out = append(out, p.ranks[r])
	}
	slices.Sort(out)
	return out
}

// chiefStage is the part of a delay that one stage must have for the finding to be about it.
const chiefStage = 0.6

// modelFinding is what findings of the model have in common.
func (j *judge) modelFinding(f *claim.Claim, at placed) Finding {
	m := j.modelled
	struck := max(1, f.Steps.Count)
	out := Finding{Kind: KindRank, Cause: CauseLate, Confidence: evidence.Supported, modelled: true}
	var all int64
	charged := map[string]int64{} // of a stage, all microsteps
	for _, p := range f.Parts {
		all += p.Charged
		charged[j.stageName(p.Stage)] += p.Charged
	}
	if len(f.Parts) > 0 {
		main := j.mainStage(f)
		if f.Factor == 0 && float64(charged[main]) >= chiefStage*float64(all) {
			out.Stage = main
		}
	}
	switch f.Certainty {
	case claim.Strong:
		out.Confidence = evidence.Strong
	case claim.Event:
		out.Confidence = evidence.Ambiguous
	}
	out.RunGain, out.RunLow, out.RunAtMost, out.After = f.Saves.Alone, min(f.Saves.Low, f.Saves.Alone), f.Saves.Most(), f.Saves.After
	out.BelowMinGain = f.Saves.Most() < j.minGain
	out.Excess, out.Step = f.Size, f.Length
	out.Explained = all
	out.Score = min(1, float64(all)/float64(max(1, m.Whole)))
	out.Gain = min(1, out.RunGain*float64(m.Whole)/float64(max(1, int64(struck)*out.Step)))
	out.Struck = Struck{Count: f.Steps.Count, Of: f.Steps.Of, First: at.numbers[max(0, f.Steps.First)], Last: at.numbers[max(0, f.Steps.Last)], Pattern: modelPattern(f.Steps.Pattern), Period: f.Steps.Period}
	j.modelEvidence(f, &out, at)
	return out
}

// stageName is the name of a stage of the model, the same for all microsteps.
func (j *judge) stageName(k int) string {
	s := j.modelled.Stages[k]
	if s.Role == points.Rest {
		return stagename.Residual
	}
	base, _ := stagename.Split(s.Name)
	return base
}

// mainStage is the stage with most of a finding, all microsteps together.
func (j *judge) mainStage(f *claim.Claim) (main string) {
	charged := map[string]int64{}
	for _, p := range f.Parts {
		name := j.stageName(p.Stage)
		if charged[name] += p.Charged; main == "" || charged[name] > charged[main] {
			main = name
		}
	}
	return main
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

// modelEvidence is what speaks for a finding of the model, and what a higher confidence lacks.
func (j *judge) modelEvidence(f *claim.Claim, out *Finding, at placed) {
	m := j.modelled
	slow := evidence.SlowSteps{N: f.Steps.Count, Of: f.Steps.Of, Factor: 1 + float64(f.Size)/float64(max(1, m.Step)), Excess: f.Size, First: out.Struck.First, Last: out.Struck.Last}
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
			out.Evidence = []evidence.Observation{j.changed(f, at), slow}
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
		mainly = j.mainStage(f)
	}
	last := evidence.LastToArrive{Rank: at.ranks[f.Ranks[0]], Stage: out.Stage, Mainly: mainly, N: f.Last, Of: f.Steps.Count, Excess: f.Size, P: f.P}
	if len(f.Ranks) > 1 {
		last.Ranks = at.ids(f.Ranks)
	}
	out.Evidence = append(out.Evidence, last, evidence.Replay{Ranks: at.ids(f.Ranks), Saves: f.Saves.Alone, Charged: out.Score})
	evident := points.None
	if len(m.Points) > 0 {
		p := m.Points[0]
		evident = p.Evidence
		s := evidence.SyncPoint{Stage: m.Stages[p.Stage].Name, By: map[points.Evidence]string{points.Likely: "name", points.Shown: "slope", points.Named: "named"}[p.Evidence]}
		if p.Evidence == points.Shown {
			s.Slope, s.Low, s.High = -p.Slope, -p.High, -p.Low
		}
		out.Evidence = append(out.Evidence, s)
	}
	out.lackIf(f.P > j.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, P: f.P})
	out.lackIf(evident == points.None, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	out.lackIf(evident == points.Likely, evidence.Lack{Reason: evidence.SyncLikely, AtMost: evidence.Supported})
	out.lackIf(evident != points.None && f.Waited < 0.5, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	out.lackIf(!at.walled, evidence.Lack{Reason: evidence.NoWallTime, AtMost: evidence.Supported})
	out.lackIf(j.labelled(labels.TelemetryLimited), evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Supported})
	out.lackIf(at.mixed, evidence.Lack{Reason: evidence.RolesMixed, AtMost: evidence.Supported})
	out.lackIf(m.Within, evidence.Lack{Reason: evidence.WithinOneRole, AtMost: evidence.Supported})
	out.lackIf(j.labelled(labels.GradientAccumulationAmbiguous), evidence.Lack{Reason: evidence.MicrostepsSummed, AtMost: evidence.Supported})
	out.lackIf(len(f.Ranks) > 1 && f.Kind == claim.Ranks, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Supported})
}

// labelled reports whether any window has a label.
func (j *judge) labelled(l labels.Label) bool {
	return slices.ContainsFunc(j.windows, func(w Window) bool { return slices.Contains(w.Main.Labels, l) })
}

// changed says what a stage takes from the step on at which it changes, and before.
func (j *judge) changed(f *claim.Claim, at placed) evidence.Slower {
	first := f.Steps.First
	return evidence.Slower{Stage: j.modelled.Stages[f.Parts[0].Stage].Name, Steps: [2]int64{at.numbers[first], at.numbers[len(at.numbers)-1]},
		BaseSteps: [2]int64{at.numbers[0], at.numbers[max(0, first-1)]}, Time: f.From, BaseTime: f.Before}
}

// placedFinding is a finding with the windows that show it.
func (j *judge) placedFinding(f *claim.Claim, one Finding, at placed) *Finding {
	last := -1
	see := func(t int) {
		k := at.window[t] - j.forgotten()
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

// modelExcludes is what the model can exclude: nothing where no stage can show a delay.
func (j *judge) modelExcludes() exclusion {
	for _, l := range j.modelled.Limits {
		if l.Reported > 0 {
			return excludesAll
		}
	}
	return excludesSome
}

// stepLimits returns what would have been reported, or may hide, in each stage of the steps.
func (j *judge) stepLimits() []answer.Limit {
	out := []answer.Limit{}
	for _, l := range j.modelled.Limits {
		name := j.stageName(l.Stage)
		i := slices.IndexFunc(out, func(have answer.Limit) bool { return have.Stage == name })
		if i < 0 {
			out = append(out, answer.Limit{Stage: name, Reported: l.Reported, MayHide: l.MayHide})
			continue
		}
		// Of a stage in each microstep: found if it is in any of them, hidden in all.
		out[i].Reported, out[i].MayHide = max(out[i].Reported, l.Reported), out[i].MayHide+l.MayHide
	}
	return out
}

// limitsLeft returns the limits: of the steps, where entries show who is late in a stage with nothing hidden in it; of
// entries where there are no steps.
func (j *judge) limitsLeft() []answer.Limit {
	if len(j.windows) == 0 {
		return j.arrivalLimits()
	}
	if j.modelled == nil {
		return nil
	}
	out, seen := j.stepLimits(), j.stagesSeen()
	for i := range out {
		if slices.Contains(seen, out[i].Stage) {
			out[i].MayHide = 0
		}
	}
	return out
}

// recordingErrors returns the values that were set aside.
func (j *judge) recordingErrors() (out []answer.Problem) {
	if j.modelled == nil {
		return nil
	}
	at := j.placed
	for _, e := range j.modelled.Errors {
		n := at.numbers[max(0, e.Step)]
		out = append(out, answer.Problem{Problem: answer.RecordingError, Ranks: []int{at.ranks[e.Rank]}, Steps: &[2]int64{n, n}, Stage: j.modelled.Stages[e.Stage].Name, Size: e.Size})
	}
	return out
}

// mostLoading is the part of a step from which on the stage that waits for data is worth a word though
// all ranks are alike in it.
const mostLoading = 0.5

// inputBound says that all ranks wait for data most of each step.
func (j *judge) inputBound() (out []evidence.Observation) {
	m := j.modelled
	if m == nil || m.Step == 0 {
		return nil
	}
	for k, s := range m.Stages {
		if part := float64(m.Typical[k]) / float64(m.Step); s.Role == points.Data && part >= mostLoading {
			out = append(out, evidence.InputBound{Stage: j.stageName(k), Share: min(1, part)})
		}
	}
	return out
}
