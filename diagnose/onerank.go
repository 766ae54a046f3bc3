package diagnose

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/stagename"
)

// largestOf is the part of a step from which on a stage is worth a look by itself.
const largestOf = 0.2

// singleRank returns what takes the steps of the only rank, and where that changes: never who. ok is false where steps are
// of several ranks, or there are none.
func (j *judge) singleRank() (e evidence.OneRank, ok bool) {
	m := j.single
	if m == nil || m.Alone == nil || m.Steps == 0 {
		return e, false
	}
	times := map[string]int64{}
	var names []string
	for i, s := range m.Stages {
		name, _ := stagename.Split(s.Name)
		if _, known := times[name]; !known {
			names = append(names, name)
		}
		times[name] += m.Alone.Mean[i]
		e.Step += m.Alone.Mean[i]
	}
	if e.Step == 0 {
		return e, false
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "step.") && times[name] > e.Time {
			e.Stage, e.Time = name, times[name]
		}
	}
	if float64(e.Time) < largestOf*float64(e.Step) && len(e.Stage) > 0 && len(names) > 1 && timeInNoStage(times) > e.Time {
		e.Stage = ""
	}
	if e.Stage == "" { // what is in no stage says nothing of what takes it
		e.Stage, e.Time = stagename.Whole, e.Step
	}
	e.StartUp, e.First, e.Longest = m.Alone.StartUp, m.Alone.First, j.longest
	for i := range m.Claims {
		if c, told := j.changeOf(m, &m.Claims[i]); told {
			e.Changes = append(e.Changes, c)
		}
	}
	if c, apart := j.changeAcrossGap(m); apart && len(e.Changes) == 0 {
		e.Changes = append(e.Changes, c)
	}
	return e, true
}

// timeInNoStage returns the time that is in none of a program's stages.
func timeInNoStage(times map[string]int64) (sum int64) {
	for name, ns := range times {
		if strings.HasPrefix(name, "step.") {
			sum += ns
		}
	}
	return sum
}

// fewestApart is how many steps on either side of a gap may be compared: that all of one side are longer than all of
// the other is chance in 2 of 70 cases (exact rank test).
const fewestApart = 4

// changeAcrossGap returns how the steps behind the largest gap in their numbers differ from those before it, where all of them do:
// what was logged at two times of a run is too little for a search.
func (j *judge) changeAcrossGap(m *delay.Result) (out evidence.Change, ok bool) {
	steps, took := &j.placed.steps, m.Alone.Took
	if len(took) != steps.n || len(took) < 2*fewestApart || m.Alone.StartUp > 0 {
		return out, false
	}
	at, most := 0, int64(0)
	for i := 1; i < steps.n; i++ {
		if d := steps.number(i) - steps.number(i-1); d > most {
			at, most = i, d
		}
	}
	if at < fewestApart || len(took)-at < fewestApart || most == steps.number(1)-steps.number(0) || slices.Max(took[:at]) >= slices.Min(took[at:]) {
		return out, false
	}
	before, after := robust.Median(slices.Clone(took[:at])), robust.Median(slices.Clone(took[at:]))
	return evidence.Change{Stage: stagename.Whole, Steps: [2]int64{steps.number(at), steps.last()}, Before: int64(before), After: int64(after),
		N: len(took) - at, Of: len(took), Excess: int64(after - before)}, after-before >= leastTold*before
}

// changeOf returns what a claim about all ranks, of which there is one, says of its steps.
func (j *judge) changeOf(m *delay.Result, c *claim.Claim) (out evidence.Change, told bool) {
	if c.Cause != claim.Regression && c.Cause != claim.SlowSteps || len(c.Parts) == 0 || c.Certainty < claim.Supported {
		return out, false
	}
	steps := &j.placed.steps
	name, _ := stagename.Split(m.Stages[c.Parts[0].Stage].Name)
	first, last := max(0, c.Steps.First), min(steps.n-1, max(0, c.Steps.Last))
	out = evidence.Change{Stage: name, Steps: [2]int64{steps.number(first), steps.number(last)}, N: c.Steps.Count, Of: c.Steps.Of, Excess: c.Size, Share: c.Saves.Alone}
	switch {
	case c.Cause == claim.Regression:
		out.Before, out.After, out.Grows = c.Before, c.From, c.Grows
		if out.Before == 0 && out.After == 0 {
			out.Before, out.After = m.Typical[c.Parts[0].Stage], m.Typical[c.Parts[0].Stage]+c.Size
		}
	case c.Steps.Period > 0 && first+c.Steps.Period < steps.n:
		out.Every = int(steps.number(first+c.Steps.Period) - steps.number(first))
	}
	return out, true
}

// lookAtOne returns what to do about the only rank: look into what takes its steps.
func (j *judge) lookAtOne() []answer.Action {
	e, ok := j.singleRank()
	if !ok || float64(e.Time) < largestOf*float64(e.Step) {
		return nil
	}
	stage := e.Stage
	if len(e.Changes) > 0 {
		stage = e.Changes[0].Stage
	}
	if stagename.KindOf(stage) == stagename.Data {
		return []answer.Action{{Action: answer.CheckLoader, With: answer.SourceLoader, Stages: []string{stage}, Ranks: slices.Clone(j.placed.ranks)}}
	}
	if j.alone != nil { // it was profiled
		return nil
	}
	return []answer.Action{{Action: answer.Profile, With: answer.SourceProfiler, Ranks: slices.Clone(j.placed.ranks)}}
}
