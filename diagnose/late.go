package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// trivial is the part of a window below which a late rank is not mentioned.
const trivial = 0.01

// weakLevel is the level at which lateness counts as more than chance where
// the strong level is not reached.
const weakLevel = 0.05

// accomplice is the part of the largest charge from which on a rank is named
// together with it.
const accomplice = 0.25

// cohort is a set of ranks that are late for the same reason: because of one
// stage, or (stage "") all over.
type cohort struct {
	stage   string
	members []*frontier.Culprit
	share   float64 // Σ of what is charged to them ÷ makespan
	mend    float64 // part of the makespan that goes when all late ranks are on time there
}

func (c cohort) ranks() []int {
	var ids []int
	for _, m := range c.members {
		ids = append(ids, m.Rank)
	}
	slices.Sort(ids)
	return ids
}

// idle reports whether a culprit is one because of a stage that is measured
// waiting: what it waited for is to blame, not the rank.
func idle(w *frontier.Result, c *frontier.Culprit) bool {
	return strings.HasPrefix(w.Stages[c.Stage].Name, trace.WaitStageStem)
}

// late names the ranks that others waited for: first by stage; then ranks that
// are slow all over, where no stage of theirs is worth calling; and at last
// what is too small to call. What several ranks do together is gated together:
// four equal stragglers hold up the group no less than one.
func (j *judge) late(w *frontier.Result) {
	called := map[int]bool{}
	for g := range w.Stages {
		c := gather(w, w.Stages[g].Name, w.Culprits, func(c *frontier.Culprit) bool { return c.Stage == g && c.P <= weakLevel && !idle(w, c) })
		if w.Stages[g].Mend != nil {
			c.mend = *w.Stages[g].Mend
		}
		if c.share >= j.gates.StaticGain {
			j.call(w, c, called)
		} else if c.mend >= j.gates.StaticGain && j.byTurns(w, g) {
			j.unsteady(w, w.Stages[g], c)
		}
	}
	if whole := j.allOver(w, called); whole.share >= j.gates.StaticGain {
		j.call(w, whole, called)
	}
	for k := range w.Culprits {
		c := &w.Culprits[k]
		share := part(w, c.Explained)
		if called[c.Rank] || idle(w, c) || share < trivial || c.P > weakLevel && share < j.gates.StaticGain {
			continue
		}
		one := cohort{stage: w.Stages[c.Stage].Name, members: []*frontier.Culprit{c}, share: share, mend: c.Gain}
		j.suspect(w, one, c)
	}
}

// allOver gathers the ranks that are late for more than one reason, or for one
// that the test by stage is too coarse for. Which stages they are slow in is
// chosen after looking, so they must pass the strong level.
func (j *judge) allOver(w *frontier.Result, called map[int]bool) cohort {
	for _, level := range []float64{weakLevel, j.gates.Meeting.Significance} {
		c := gather(w, "", w.Late, func(c *frontier.Culprit) bool { return c.P <= level && !called[c.Rank] && !idle(w, c) })
		if len(c.members) == 0 {
			break
		}
		if w.Mend != nil {
			c.mend = *w.Mend
		}
		if c.stage = mainly(w, c); c.stage != "" || level < weakLevel {
			return c
		}
	}
	return cohort{}
}

// mainly is the stage that makes all of a cohort late, almost by itself: the
// test over all stages of a rank is the sharper one, since it is one test. ""
// when there is no such stage.
func mainly(w *frontier.Result, c cohort) string {
	const almost = 0.8
	stage := c.members[0].Stage
	for _, m := range c.members {
		ofStage := int64(0)
		for k := range w.Culprits {
			if w.Culprits[k].Rank == m.Rank && w.Culprits[k].Stage == stage {
				ofStage = w.Culprits[k].Explained
			}
		}
		if float64(ofStage) < almost*float64(m.Explained) {
			return ""
		}
	}
	return w.Stages[stage].Name
}

func part(w *frontier.Result, ns int64) float64 { return float64(ns) / float64(max(1, w.Makespan)) }

// gather collects the ranks that match, down to those that are charged little
// beside the first.
func gather(w *frontier.Result, stage string, from []frontier.Culprit, match func(*frontier.Culprit) bool) cohort {
	c := cohort{stage: stage}
	for k := range from {
		m := &from[k]
		if !match(m) || len(c.members) > 0 && float64(m.Explained) < accomplice*float64(c.members[0].Explained) {
			continue
		}
		c.members = append(c.members, m)
		c.share += part(w, m.Explained)
	}
	return c
}

// call makes suspects of a cohort: one of the whole role group or host if that
// is what it is, else one of each rank.
func (j *judge) call(w *frontier.Result, c cohort, called map[int]bool) {
	for _, m := range c.members {
		called[m.Rank] = true
	}
	name := common(w, c.ranks())
	if name == "" {
		for _, m := range c.members {
			j.suspect(w, c, m)
		}
		return
	}
	s := Finding{Kind: KindGroup, Place: Place{Group: name, Stage: c.stage}, Cost: Cost{Gain: c.mend}, Confidence: Strong}
	for _, m := range c.members {
		s.Explained += m.Explained
		confidence, evidence := j.trust(w, c, m)
		s.Confidence = min(s.Confidence, confidence)
		if s.Evidence == nil {
			s.Evidence = append(Saying(fmt.Sprintf("ranks %s, all of %s and no other, are late together", trace.RankList(c.ranks()), name)), evidence...)
		}
	}
	f := j.add(causeLate, s, w, c.members[0])
	f.together, f.mend = c.ranks(), c.mend
}

func (j *judge) suspect(w *frontier.Result, c cohort, m *frontier.Culprit) {
	rank := m.Rank
	s := Finding{Kind: KindRank, Place: Place{Rank: &rank, Stage: c.stage}, Cost: Cost{Explained: m.Explained, Gain: m.Gain}}
	s.Confidence, s.Evidence = j.trust(w, c, m)
	f := j.add(causeLate, s, w, m)
	f.together, f.mend = c.ranks(), c.mend
}

// byTurns reports whether no single rank has most of what is charged to a
// stage; a rank that does, in too few meetings to rule out chance, is a suspect
// of its own.
func (j *judge) byTurns(w *frontier.Result, stage int) bool {
	for k := range w.Culprits {
		if c := &w.Culprits[k]; c.Stage == stage {
			return part(w, c.Explained) < 0.5**w.Stages[stage].Mend
		}
	}
	return false
}

// unsteady names a stage in which ranks are late by turns: much is lost, and
// no rank more to blame than chance allows.
func (j *judge) unsteady(w *frontier.Result, s frontier.Stage, c cohort) {
	j.add(causeTurns, Finding{Kind: KindWorkload, Place: Place{Stage: s.Name}, Cost: Cost{Explained: int64(c.mend * float64(w.Makespan)), Gain: c.mend}, Confidence: Ambiguous, Evidence: Saying(
		fmt.Sprintf("frontier blame: ranks are late because of %s by turns; if none were, %.1f %% of the exposed time would go", s.Name, 100*c.mend),
		"no rank is late for it more often or by more than ranks which are all alike would be",
		"varying work (input sizes, sequence lengths), a shared resource and plain noise look the same from stage times")}, w, nil)
}

// trust decides how far a late rank of a cohort may be called, and says why.
func (j *judge) trust(w *frontier.Result, c cohort, m *frontier.Culprit) (Confidence, []Evidence) {
	evidence := Saying(j.lateness(w, c, m))
	if len(c.members) > 1 {
		evidence = append(evidence, Said(fmt.Sprintf("%d ranks are late together (%s): %.1f %% of the exposed time is charged to them; bringing all to their peers' median saves %.1f %%",
			len(c.members), trace.RankList(c.ranks()), 100*c.share, 100*c.mend)))
	} else {
		evidence = append(evidence, Said(fmt.Sprintf("replay: bringing it to its peers' median saves %.1f %% of the exposed time; %.1f %% is charged to it", 100*m.Gain, 100*c.share)))
	}
	if w.Meeting.At >= 0 {
		evidence = append(evidence, Said(meetingEvidence(w)))
	}
	if c.share < j.gates.StaticGain {
		return Insufficient, append(evidence, Said(fmt.Sprintf("below what is called: %.1f %% of the exposed time, the gate is %.0f %%", 100*c.share, 100*j.gates.StaticGain)))
	}
	against := j.against(w, c, m)
	for _, a := range against {
		evidence = append(evidence, Said("not strong: "+a))
	}
	switch {
	case m.P > weakLevel,
		len(c.members) > 1 && undeclared(w) && slices.Contains(w.Labels, frontier.RoleAwareNeeded):
		return Ambiguous, evidence
	case len(against) > 0:
		return Supported, evidence
	}
	return Strong, evidence
}

func (j *judge) lateness(w *frontier.Result, c cohort, m *frontier.Culprit) string {
	cause := "because of " + c.stage
	if c.stage == "" {
		cause = fmt.Sprintf("over several stages, most of it in %s,", w.Stages[m.Stage].Name)
	}
	return fmt.Sprintf("frontier blame: rank %d was late %s in %d of the %d meetings where any rank was, by %s on average; chance that ranks which are all alike do this: %s",
		m.Rank, cause, m.Steps, m.Of, ms(m.Excess), probability(m.P))
}

// against lists what a strong claim on a late rank lacks.
func (j *judge) against(w *frontier.Result, c cohort, m *frontier.Culprit) []string {
	latest := w.Stages[m.Stage].Latest
	var out []string
	for _, n := range []struct {
		holds bool
		text  string
	}{
		{c.stage == "", "a rank that is slow everywhere points at its host or device rather than at a stage; record clocks, throttling and temperature"},
		{c.stage != "" && !(slices.Contains(latest, m.Rank) && 2*len(latest) <= len(w.Ranks)), "the rank is not clearly among the latest at the end of that stage over the window as a whole"},
		{m.P > j.gates.Meeting.Significance, "it happened too few times to rule out chance at the strong level"},
		{w.Meeting.Evidence == frontier.MeetingUnknown, "no boundary is shown where the ranks meet, so the wait is inferred from the end of the step only"},
		{w.Meeting.Evidence == frontier.MeetingLikely, "where the ranks meet is likely, not shown: too few steps or ranks, or too little noise, for a slope"},
		{!w.Quality.Wall, "no wall time was recorded, so gaps between stages and steps are unknown"},
		{len(c.members) > 1 && undeclared(w), "several ranks are late together and their roles are not declared: they may do other work by design"},
		{slices.Contains(w.Labels, frontier.TelemetryLimited), "the telemetry of the window is incomplete or does not close"},
		{slices.Contains(w.Labels, frontier.RoleAwareNeeded), "ranks of different roles are in one frontier"},
		{w.Group != "", "it is measured among the ranks of one role only"},
		{slices.Contains(w.Labels, frontier.GradientAccumulationAmbiguous), "accumulation microsteps are summed, so their order is lost"},
	} {
		if n.holds {
			out = append(out, n.text)
		}
	}
	return out
}

func meetingEvidence(w *frontier.Result) string {
	switch m := w.Meeting; {
	case m.Evidence == frontier.MeetingNamed:
		return fmt.Sprintf("ranks meet in %s: named by the caller", m.Name)
	case m.Evidence == frontier.MeetingLikely && m.Boundaries[m.At].Before == 0:
		return fmt.Sprintf("ranks are taken to meet in %s, where gradients are reduced: its times do not exclude it", m.Name)
	case m.Evidence == frontier.MeetingLikely:
		b := m.Boundaries[m.At]
		return fmt.Sprintf("ranks probably meet in %s: the last rank leads the median by %s when it begins and by %s when it ends", m.Name, ms(b.Before), ms(b.After))
	default:
		b := m.Boundaries[m.At]
		return fmt.Sprintf("ranks meet in %s: a rank that comes 1 ms later spends %.2f ms less there [%.2f, %.2f]", m.Name, -b.Slope, -b.High, -b.Low)
	}
}

// undeclared reports whether some rank has no role.
func undeclared(w *frontier.Result) bool {
	return slices.ContainsFunc(w.Members, func(r trace.Rank) bool { return len(r.Role) == 0 })
}

// common names what a set of ranks has to itself: a host, or one coordinate of
// the layout, that all of them and no others have. "" without one, or for a
// single rank.
func common(w *frontier.Result, ranks []int) string {
	if len(ranks) < 2 || len(ranks) == len(w.Ranks) {
		return ""
	}
	same := func(of func(trace.Rank) string) string {
		value := ""
		for _, m := range w.Members {
			if m.ID == ranks[0] {
				value = of(m)
			}
		}
		if value == "" {
			return ""
		}
		for _, m := range w.Members {
			if slices.Contains(ranks, m.ID) != (of(m) == value) {
				return ""
			}
		}
		return value
	}
	if host := same(func(r trace.Rank) string { return r.Host }); host != "" {
		return "host " + host
	}
	for _, c := range w.Members[0].Role {
		coordinate := same(func(r trace.Rank) string {
			i, ok := r.Role.Coord(c.Axis)
			if !ok {
				return ""
			}
			return fmt.Sprintf("%s=%d", c.Axis, i)
		})
		if coordinate != "" {
			return coordinate
		}
	}
	return ""
}
