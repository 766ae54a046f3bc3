package diagnose

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Model is who judges what windows show.
type Model uint8

const (
	StagePasses Model = iota // passes over the accounts of windows
	StepModel                // package engine/delay, over all steps of a run as one series
)

// lookAtSteps finds what the steps of the run show, as one series. Device events, baselines and
// role groups that do more work are still judged window by window.
func (j *judge) lookAtSteps() {
	for _, w := range j.windows {
		j.device(w.Main)
		j.groups(w)
		if len(w.Main.Ranks) > 1 && w.Main.Leader.Stage >= 0 && !incomplete(w.Main) {
			j.hostOverhead(w.Main)
		}
	}
	j.slower()
	j.costs()
	run, at := j.steps.run()
	j.placed = at
	if run.Ranks < 2 {
		return
	}
	j.modelled = delay.Analyze(run, delay.Options{MinGain: j.minGain, Points: points.Gates{Slope: j.gates.SyncPoint.Slope, Confidence: j.gates.SyncPoint.Confidence}})
	j.limits = j.modelled.Limits()
	for i := range j.modelled.Findings {
		j.fromModel(&j.modelled.Findings[i], at)
	}
}

// place of steps: their numbers, and the window that each is in.
type placed struct {
	ranks   []int
	hosts   []string
	host    []int // of each rank, in hosts; −1: not known
	numbers []int64
	window  []int // index in run.windows
}

// fromModel adds the findings that one of the model makes: as many as ranks are late together.
func (j *judge) fromModel(f *delay.Finding, at placed) {
	base := j.modelFinding(f, at)
	switch {
	case f.Cause != delay.Late || f.Kind == delay.Everyone:
		j.addModelled(f, base, at)
	case f.Kind == delay.Host:
		base.Kind, base.Host, base.Ranks = KindHost, at.hosts[f.Host], at.ids(f.Ranks)
		base.Evidence = append(base.Evidence, evidence.LateTogether{Ranks: base.Ranks, Host: base.Host})
		j.addModelled(f, base, at)
	case f.Kind == delay.PeerSet:
		base.Kind, base.Ranks = KindGroup, at.ids(f.Ranks)
		base.Group = j.roleGroup(base.Ranks[0])
		base.Evidence = append(base.Evidence, evidence.LateTogether{Ranks: base.Ranks, Group: base.Group})
		j.addModelled(f, base, at)
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
			j.addModelled(f, one, at)
		}
	}
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
func (j *judge) modelFinding(f *delay.Finding, at placed) Finding {
	m := j.modelled
	name := func(k int) string {
		base, _ := stagename.Split(m.Division.Stages[k].Name)
		return base
	}
	struck := max(1, f.Steps.Count)
	out := Finding{Kind: KindRank, Cause: CauseLate, Confidence: evidence.Supported, modelled: true}
	var all, largest int64
	for _, p := range f.Parts {
		all += p.Charged
	}
	if len(f.Parts) > 0 {
		largest = f.Parts[0].Charged
		if f.Factor == 0 && float64(largest) >= chiefStage*float64(all) {
			out.Stage = name(f.Parts[0].Stage)
		}
	}
	switch f.Certainty {
	case delay.Strong:
		out.Confidence = evidence.Strong
	case delay.Event:
		out.Confidence = evidence.Ambiguous
	}
	out.RunGain, out.RunAtMost = f.Saves.Alone, f.Saves.Most()
	out.BelowMinGain = f.Saves.Most() < j.minGain
	out.Excess, out.Step = f.Size, m.Step
	if f.Steps.Count < f.Steps.Of || f.Cause == delay.StartUp {
		out.Step += f.Size
	}
	out.Explained = all
	out.Score = min(1, float64(all)/float64(max(1, m.Whole)))
	out.Gain = min(1, out.RunGain*float64(m.Whole)/float64(max(1, int64(struck)*out.Step)))
	out.Struck = Struck{Count: f.Steps.Count, Of: f.Steps.Of, First: at.numbers[max(0, f.Steps.First)], Last: at.numbers[max(0, f.Steps.Last)], Pattern: modelPattern(f.Steps.Pattern)}
	out.Evidence = j.modelEvidence(f, &out, at)
	return out
}

func modelPattern(p delay.Pattern) Pattern {
	switch p {
	case delay.Constant:
		return PatternConstant
	case delay.Span:
		return PatternWindow
	}
	return PatternIntermittent
}

// modelEvidence is what speaks for a finding of the model, and what a higher confidence lacks.
func (j *judge) modelEvidence(f *delay.Finding, out *Finding, at placed) (list []evidence.Observation) {
	m := j.modelled
	lack := func(holds bool, l evidence.Lack) {
		if holds {
			list = append(list, l)
		}
	}
	slow := evidence.SlowSteps{N: f.Steps.Count, Of: f.Steps.Of, Factor: 1 + float64(f.Size)/float64(max(1, m.Step)), Excess: f.Size, First: out.Struck.First, Last: out.Struck.Last}
	switch f.Cause {
	case delay.StartUp:
		out.Kind, out.Cause = KindStage, CauseStartUp
		out.BelowMinGain, out.RunGain, out.RunAtMost, out.Gain = true, 0, 0, 0
		if len(f.Ranks) == 1 {
			id := at.ranks[f.Ranks[0]]
			out.Kind, out.Rank = KindRank, &id
		}
		return append(list, slow)
	case delay.Regression, delay.SlowSteps:
		out.Kind, out.Cause = KindStage, CauseSlowSteps
		list = append(list, slow)
		if f.Cause == delay.Regression {
			out.Cause = CauseGrowth
			list = []evidence.Observation{j.changed(f, at), slow}
		}
		if out.Stage == "" {
			out.Kind = KindWorkload
		}
		lack(true, evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		return list
	case delay.Turns:
		out.Kind, out.Cause = KindWorkload, CauseRotating
		list = append(list, evidence.LateIntermittently{Stage: out.Stage, Saves: f.Saves.Alone, Ranks: len(at.ranks)})
		if len(f.Ranks) > 1 {
			moving := evidence.RankToRank{Stage: out.Stage, Saves: f.Saves.Alone, P: f.P}
			for _, r := range f.Ranks {
				moving.Ranks = append(moving.Ranks, at.ranks[r])
				if h := at.hostOf(r); h != "" && !slices.Contains(moving.Hosts, h) {
					moving.Hosts = append(moving.Hosts, h)
				}
			}
			list = append(list, moving)
		}
		lack(true, evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported})
		return list
	}
	mainly := ""
	if out.Stage == "" && len(f.Parts) > 0 {
		mainly, _ = stagename.Split(m.Division.Stages[f.Parts[0].Stage].Name)
	}
	list = append(list, evidence.LastToArrive{Stage: out.Stage, Mainly: mainly, N: f.Steps.Count, Of: f.Steps.Count, Excess: f.Size, P: f.P},
		evidence.Replay{Ranks: at.ids(f.Ranks), Saves: f.Saves.Alone, Charged: out.Score})
	evident := points.None
	if len(m.Division.Points) > 0 {
		p := m.Division.Points[0]
		evident = p.Evidence
		s := evidence.SyncPoint{Stage: m.Division.Stages[p.Stage].Name, By: map[points.Evidence]string{points.Likely: "name", points.Shown: "slope", points.Named: "named"}[p.Evidence]}
		if p.Evidence == points.Shown {
			s.Slope, s.Low, s.High = -p.Slope, -p.High, -p.Low
		}
		list = append(list, s)
	}
	lack(f.P > j.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, P: f.P})
	lack(evident == points.None, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	lack(evident == points.Likely, evidence.Lack{Reason: evidence.SyncLikely, AtMost: evidence.Supported})
	lack(evident != points.None && f.Waited < 0.5, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	lack(len(f.Ranks) > 1 && f.Kind == delay.Ranks, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Supported})
	for _, o := range list {
		if l, ok := o.(evidence.Lack); ok {
			out.Confidence = min(out.Confidence, l.AtMost)
		}
	}
	return list
}

// changed says what a stage takes from the step on at which it changes, and before.
func (j *judge) changed(f *delay.Finding, at placed) evidence.Slower {
	m := j.modelled
	first := f.Steps.First
	g := evidence.Slower{Stage: m.Division.Stages[f.Parts[0].Stage].Name, Steps: [2]int64{at.numbers[first], at.numbers[len(at.numbers)-1]},
		BaseSteps: [2]int64{at.numbers[0], at.numbers[max(0, first-1)]}}
	var before, after float64
	nb, na := 0, 0
	d := m.Division
	for k, p := range d.Pieces {
		if p.Stage != f.Parts[0].Stage {
			continue
		}
		for n := range d.Intervals {
			t := d.Step(n, k)
			if t < 0 {
				continue
			}
			row := slices.Clone(d.Work[k][n*d.Ranks : (n+1)*d.Ranks])
			slices.Sort(row)
			if x := float64(row[(len(row)-1)/2]); t < first {
				before, nb = before+x, nb+1
			} else {
				after, na = after+x, na+1
			}
		}
	}
	g.BaseTime, g.Time = int64(before/math.Max(1, float64(nb))), int64(after/math.Max(1, float64(na)))
	if g.Time == 0 {
		g.Time = f.Size
	}
	return g
}

// addModelled adds a finding with the window in which it begins.
func (j *judge) addModelled(f *delay.Finding, s Finding, at placed) {
	i := at.window[max(0, f.Steps.First)]
	w := j.windows[i].Main
	one := &finding{Finding: s, best: w, bestNs: s.Explained, makespan: j.modelled.Whole, steps: f.Steps.Of, struck: f.Steps.Count, saved: s.RunGain * float64(j.modelled.Whole), share: max(s.Score, s.RunAtMost)}
	one.Detail = i
	for t := max(0, f.Steps.First); t <= max(0, f.Steps.Last); t++ {
		if k := at.window[t]; len(one.seen) == 0 || one.seen[len(one.seen)-1] != k {
			one.seen = append(one.seen, k)
			if n := j.windows[k].Main.Window; !slices.Contains(one.Windows, n) {
				one.Windows = append(one.Windows, n)
			}
		}
	}
	if len(f.Ranks) > 1 {
		one.together, one.saves = at.ids(f.Ranks), f.Saves.Alone
	}
	one.place(w)
	j.found = append(j.found, one)
}

// modelExcludes is what the model can exclude: nothing where no stage can show a delay.
func (j *judge) modelExcludes() exclusion {
	for _, l := range j.limits {
		if l.Reported > 0 {
			return excludesAll
		}
	}
	return excludesSome
}

// state adds to a verdict what the model says beside findings.
func (j *judge) state(v *RunVerdict) {
	m := j.modelled
	if m == nil {
		return
	}
	v.Limits = []answer.Limit{}
	for _, l := range j.limits {
		name := m.Division.Stages[l.Stage].Name
		if m.Division.Stages[l.Stage].Role == points.Rest {
			name = stagename.Residual
		}
		v.Limits = append(v.Limits, answer.Limit{Stage: name, Reported: l.Reported, MayHide: l.MayHide})
	}
	at := j.placed
	for _, e := range m.Division.Errors {
		n := at.numbers[max(0, e.Step)]
		v.Problems = append(v.Problems, answer.Problem{Problem: answer.RecordingError, Ranks: []int{at.ranks[e.Rank]}, Steps: &[2]int64{n, n}, Stage: m.Division.Stages[e.Stage].Name, Size: e.Size})
	}
	v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool {
		return u.Question == answer.SyncPointUnknown && len(m.Division.Points) > 0
	})
}
