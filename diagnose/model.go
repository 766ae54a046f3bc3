package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// model returns the options of the model of steps.
func (o Options) model() delay.Options {
	g := o.Frontier.Gates.OrDefault()
	out := delay.Options{MinGain: cmp.Or(o.MinGain, g.StaticGain), Points: points.Gates{Slope: g.SyncPoint.Slope, Confidence: g.SyncPoint.Confidence}}
	if o.Beside != nil { // a row says no limits
		out.Limits = delay.SeenLimits
	}
	return out
}

// lookAtSteps finds what the steps of the run show, as one series. Device events, baselines and
// role groups that do more work are judged window by window.
func (j *judge) lookAtSteps() {
	j.modelled, j.differs, j.placed = j.steps.result(j.runCuts(j.entered))
	j.takeAccounts()
	if len(j.placed.ranks) < 2 {
		j.single, j.modelled = j.modelled, nil
	}
	if j.modelled != nil {
		for i := range j.modelled.Claims {
			j.found = append(j.found, j.modelFindings(&j.modelled.Claims[i])...)
		}
	}
	late := slices.ContainsFunc(j.found, func(f *Finding) bool { return f.Cause == CauseLate && f.IsFlagged() })
	for _, w := range j.windows {
		j.device(w.Main)
		j.groups(w)
		if !late && len(w.Main.Ranks) > 1 && w.Main.Leader.Stage >= 0 && !incomplete(w.Main) {
			j.hostOverhead(w.Main)
		}
	}
	j.slower()
	found := j.windowFindings()
	j.found = append(found, slices.DeleteFunc(j.found, func(f *Finding) bool { return j.explainedByDevice(f, found) })...)
}

// explainedByDevice reports whether steps are longer on all ranks where they synchronise because a device finding
// says so: the delay is charged once, where it is.
func (j *judge) explainedByDevice(f *Finding, found []*Finding) bool {
	if f.Cause != CauseSlowSteps && f.Cause != CausePeriodic || !j.synchronisesIn(f.Stage) {
		return false
	}
	return slices.ContainsFunc(found, func(d *Finding) bool { return d.Cause == CauseDevice && 2*d.Explained >= f.Explained })
}

// stepPlaces is the place of steps: their numbers, and the window that each is in.
type stepPlaces struct {
	ranks  []int
	hosts  []string
	host   []int // of each rank, in hosts; −1: not known
	steps  stepNumbers
	splits []trace.Split
	walled bool     // how long the steps took was recorded
	mixed  bool     // the ranks have roles that do different work
	cut    *cutPlan // how calls divide the steps; nil: they do not
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

// nameOf returns the common name of a set of ranks, by positions; "" where they are no set.
func (p stepPlaces) nameOf(ranks []int) string {
	for _, s := range p.splits {
		for i, set := range s.Sets {
			if slices.Equal(set, ranks) {
				return s.Names[i]
			}
		}
	}
	return ""
}

// hostOf returns the host of a rank, by position; "" where it is not known.
func (p stepPlaces) hostOf(r int) string {
	if p.host[r] < 0 {
		return ""
	}
	return p.hosts[p.host[r]]
}

func (p stepPlaces) ids(ranks []int) (out []int) {
	for _, r := range ranks {
		out = append(out, p.ranks[r])
	}
	slices.Sort(out)
	return out
}

// stageName returns the name of a stage of the model, the same for all microsteps.
func (j *judge) stageName(k int) string {
	s := j.modelled.Stages[k]
	if s.Role == points.Rest {
		return stagename.Residual
	}
	base, _ := stagename.Split(s.Name)
	return base
}

// isCut reports whether entries of calls tell what ranks wait in a stage from what they work there.
func (j *judge) isCut(stage string) bool { return j.modelled != nil && j.placed.cut.divides(stage) }

// hasLabels reports whether any window has a label.
func (j *judge) hasLabels(l labels.Label) bool {
	return slices.ContainsFunc(j.windows, func(w Window) bool { return slices.Contains(w.Main.Labels, l) })
}

// fewestShown is how many steps show a delay in healthy noise, or would with less of it; if fewer show none they are
// too few.
const fewestShown = 20

// modelExcludes returns what the steps can exclude.
func (j *judge) modelExcludes() exclusion {
	coverage := j.coverage()
	seen := slices.ContainsFunc(coverage, func(c answer.Coverage) bool { return c.Seen })
	switch {
	case !seen && j.modelled.Steps < fewestShown && slices.ContainsFunc(coverage, isNoisy):
		return excludesNothing
	case j.hidesDelay(coverage):
		return excludesSeen
	}
	return excludesAll
}

// isNoisy reports whether a delay in a place is lost in noise: more steps may show it.
func isNoisy(c answer.Coverage) bool { return c.Reason == answer.TooNoisy }

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

// limitsLeft returns the limits: of the steps, with nothing hidden in a stage that another recording sees into; where
// there are no steps, of operators, or of entries.
func (j *judge) limitsLeft() (out []answer.Limit) {
	if len(j.windows) == 0 && j.operators != nil {
		for _, c := range j.operators.Coverage {
			out = append(out, answer.Limit{Stage: c.Stage, Reported: c.Least})
		}
		return out
	}
	if len(j.windows) == 0 {
		return j.arrivalLimits()
	}
	if j.modelled == nil {
		return nil
	}
	coverage := j.coverage()
	out = j.stepLimits()
	for i := range out {
		if at := slices.IndexFunc(coverage, func(c answer.Coverage) bool { return c.Stage == out[i].Stage }); at >= 0 && out[i].MayHide > 0 {
			out[i].MayHide = coverage[at].Hides
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
		n := at.steps.number(max(0, e.Step))
		out = append(out, answer.Problem{Problem: answer.RecordingError, Ranks: trace.RankSetOf([]int{at.ranks[e.Rank]}), Steps: &[2]int64{n, n}, Stage: j.modelled.Stages[e.Stage].Name, Size: e.Size})
	}
	return out
}

// mostLoading is the part of a step from which on the stage that waits for data is worth a word though
// all ranks are alike in it.
const mostLoading = 0.5

// inputBound returns the finding that all ranks wait for data most of each step.
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
