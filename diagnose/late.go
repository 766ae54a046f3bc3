package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// trivial is the fraction of a window below which a late rank is not reported.
const trivial = 0.01

// weakLevel is the significance level of lateness that does not reach the strong
// level.
const weakLevel = 0.05

// accomplice is the fraction of the largest charge from which on a rank is named
// together with it.
const accomplice = 0.25

// cohort is a set of ranks that are late for the same reason: because of one
// stage, or (stage "") all over.
type cohort struct {
	stage   string
	members []*frontier.Culprit
	share   float64 // Σ of what is charged to them ÷ makespan
	saves   float64 // part of the makespan that goes when all late ranks are on time there
}

func (c cohort) ranks() []int {
	var ids []int
	for _, m := range c.members {
		ids = append(ids, m.Rank)
	}
	slices.Sort(ids)
	return ids
}

// idle reports whether a culprit is charged for a stage that measures waiting: the
// cause is what it waited for, not the rank.
func idle(w *frontier.Result, c *frontier.Culprit) bool {
	return strings.HasPrefix(w.Stages[c.Stage].Name, stagename.WaitStem)
}

// late names the ranks that others waited for: first by stage; then ranks that are
// slow all over, without a single stage to report; last, smaller ones. Ranks that
// are late together are gated together: four equal stragglers delay the group no
// less than one.
func (j *judge) late(w *frontier.Result) {
	called := map[int]bool{}
	for g := range w.Stages {
		c := j.lateIn(w, g)
		if c.share >= j.minGain {
			j.call(w, c, called)
		} else if c.saves >= j.minGain && j.byTurns(w, g) {
			j.unsteady(w, w.Stages[g], c)
		}
	}
	if whole := j.allOver(w, called); whole.share >= j.minGain {
		j.call(w, whole, called)
	}
	for k := range w.Culprits {
		c := &w.Culprits[k]
		share := part(w, c.Explained)
		if called[c.Rank] || idle(w, c) || share < trivial || j.chance(w, c) > weakLevel && share < j.minGain {
			continue
		}
		one := cohort{stage: w.Stages[c.Stage].Name, members: []*frontier.Culprit{c}, share: share, saves: c.Gain}
		j.suspect(w, one, c)
	}
}

// lateIn are the ranks that are late because of a stage, more often than by chance.
func (j *judge) lateIn(w *frontier.Result, g int) cohort {
	c := gather(w, w.Stages[g].Name, w.Culprits, func(c *frontier.Culprit) bool { return c.Stage == g && j.chance(w, c) <= weakLevel && !idle(w, c) })
	if w.Stages[g].Saves != nil {
		c.saves = *w.Stages[g].Saves
	}
	return c
}

// chance bounds the probability that some rank is charged this much if all ranks are
// alike: the p-value of an account, times the number of windows if the account is of
// a single window, since each window was tested (Bonferroni). Accounts of all
// windows need no factor.
func (j *judge) chance(w *frontier.Result, c *frontier.Culprit) float64 {
	if w.Windows > 0 {
		return c.P
	}
	return min(1, c.P*float64(len(j.windows)))
}

// allOver collects the ranks that are late for more than one reason, or for a reason
// that the test by stage cannot resolve. Their slow stages are chosen after the
// test, so they must pass the strong level.
func (j *judge) allOver(w *frontier.Result, called map[int]bool) cohort {
	for _, level := range []float64{weakLevel, j.gates.SyncPoint.Significance} {
		c := gather(w, "", w.Late, func(c *frontier.Culprit) bool { return j.chance(w, c) <= level && !called[c.Rank] && !idle(w, c) })
		if len(c.members) == 0 {
			break
		}
		if w.Saves != nil {
			c.saves = *w.Saves
		}
		if c.stage = mainly(w, c); c.stage != "" || level < weakLevel {
			return c
		}
	}
	return cohort{}
}

// mainly is the stage that accounts for almost all of the lateness of a cohort, ""
// if there is none. The test over all stages of a rank is sharper, because it is a
// single test.
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

// call makes findings of a cohort: one finding if the cohort is a whole role group
// or host, else one per rank.
func (j *judge) call(w *frontier.Result, c cohort, called map[int]bool) {
	for _, m := range c.members {
		called[m.Rank] = true
	}
	shared := common(w, c.ranks())
	if shared == nil {
		for _, m := range c.members {
			j.suspect(w, c, m)
		}
		return
	}
	f := Finding{Kind: KindGroup, Cause: CauseLate, Place: Place{Group: shared.Group, Host: shared.Host, Stage: c.stage, Ranks: c.ranks()},
		Cost: Cost{Gain: c.saves}, Confidence: evidence.Strong}
	if shared.Host != "" {
		f.Kind = KindHost
	}
	steps := 0
	for _, m := range c.members {
		f.Explained += m.Explained
		steps = max(steps, m.Steps)
		confidence, list := j.trust(w, c, m)
		f.Confidence = min(f.Confidence, confidence)
		if f.Evidence == nil {
			f.Evidence = append([]evidence.Observation{list[0], *shared}, list[1:]...)
		}
	}
	j.add(w, sight{Finding: f, struck: steps, share: c.share, culprit: c.members[0], together: c.ranks(), saves: c.saves})
}

func (j *judge) suspect(w *frontier.Result, c cohort, m *frontier.Culprit) {
	rank := m.Rank
	f := Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: c.stage}, Cost: Cost{Explained: m.Explained, Gain: m.Gain}}
	f.Confidence, f.Evidence = j.trust(w, c, m)
	j.add(w, sight{Finding: f, struck: m.Steps, share: c.share, culprit: m, together: c.ranks(), saves: c.saves})
}

// byTurns reports whether no single rank has most of what is charged to a
// stage; a rank that does, in too few synchronisation points to rule out chance, is a suspect
// of its own.
func (j *judge) byTurns(w *frontier.Result, stage int) bool {
	for k := range w.Culprits {
		if c := &w.Culprits[k]; c.Stage == stage {
			return part(w, c.Explained) < 0.5**w.Stages[stage].Saves
		}
	}
	return false
}

// unsteady names a stage in which ranks are intermittently late: much time is lost,
// and no rank is late more often than chance allows.
func (j *judge) unsteady(w *frontier.Result, s frontier.Stage, c cohort) {
	j.add(w, sight{Finding: Finding{Kind: KindWorkload, Cause: CauseRotating, Place: Place{Stage: s.Name},
		Cost: Cost{Explained: int64(c.saves * float64(w.Makespan)), Gain: c.saves}, Confidence: evidence.Ambiguous,
		Evidence: []evidence.Observation{
			evidence.LateIntermittently{Stage: s.Name, Saves: c.saves, Ranks: len(w.Ranks)},
			evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Ambiguous},
		}}})
}

// trust decides how certain it is that a rank of a cohort is late, and records the
// reasons.
func (j *judge) trust(w *frontier.Result, c cohort, m *frontier.Culprit) (evidence.Confidence, []evidence.Observation) {
	p := j.chance(w, m)
	last := evidence.LastToArrive{Rank: m.Rank, Stage: c.stage, N: m.Steps, Of: m.Of, Excess: m.Excess, P: p}
	if c.stage == "" {
		last.Mainly = w.Stages[m.Stage].Name
	}
	replay := evidence.Replay{Ranks: c.ranks(), Saves: c.saves, Charged: c.share}
	if len(c.members) == 1 {
		replay.Saves = m.Gain
	}
	list := []evidence.Observation{last, replay}
	if s, ok := syncPoint(w); ok {
		list = append(list, s)
	}
	confidence := evidence.Strong
	for _, l := range j.lacks(w, c, m) {
		confidence = min(confidence, l.AtMost)
		list = append(list, l)
	}
	return confidence, list
}

// lacks lists what a strong claim on a late rank lacks.
func (j *judge) lacks(w *frontier.Result, c cohort, m *frontier.Culprit) []evidence.Lack {
	latest := w.Stages[m.Stage].Latest
	several := len(c.members) > 1 && undeclared(w)
	mixed := slices.Contains(w.Labels, labels.RoleAwareNeeded)
	var out []evidence.Lack
	say := func(holds bool, l evidence.Lack) {
		if holds {
			out = append(out, l)
		}
	}
	unless := func(doubt bool) evidence.Confidence {
		if doubt {
			return evidence.Ambiguous
		}
		return evidence.Supported
	}
	say(c.stage == "", evidence.Lack{Reason: evidence.SlowEverywhere, AtMost: evidence.Supported})
	say(c.stage != "" && !(slices.Contains(latest, m.Rank) && 2*len(latest) <= len(w.Ranks)), evidence.Lack{Reason: evidence.NotClearlyLatest, AtMost: evidence.Supported})
	p := j.chance(w, m)
	say(p > j.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.FewOccurrences, AtMost: unless(p > weakLevel), P: p})
	say(w.SyncPoint.Evidence == frontier.SyncUnknown, evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
	say(w.SyncPoint.Evidence == frontier.SyncLikely, evidence.Lack{Reason: evidence.SyncLikely, AtMost: evidence.Supported})
	say(!w.Quality.Wall, evidence.Lack{Reason: evidence.NoWallTime, AtMost: evidence.Supported})
	say(several, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: unless(mixed)})
	say(slices.Contains(w.Labels, labels.TelemetryLimited), evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Supported})
	say(mixed, evidence.Lack{Reason: evidence.RolesMixed, AtMost: evidence.Supported})
	say(w.Group != "", evidence.Lack{Reason: evidence.WithinOneRole, AtMost: evidence.Supported})
	say(slices.Contains(w.Labels, labels.GradientAccumulationAmbiguous), evidence.Lack{Reason: evidence.MicrostepsSummed, AtMost: evidence.Supported})
	return out
}

// syncPoint is where the ranks of a window synchronise, if that is known.
func syncPoint(w *frontier.Result) (evidence.SyncPoint, bool) {
	m := w.SyncPoint
	if m.At < 0 {
		return evidence.SyncPoint{}, false
	}
	s := evidence.SyncPoint{Stage: m.Name}
	switch b := m.Boundaries; {
	case m.Evidence == frontier.SyncNamed:
		s.By = "named"
	case m.Evidence == frontier.SyncLikely && b[m.At].Before == 0:
		s.By = "name"
	case m.Evidence == frontier.SyncLikely:
		s.By, s.Before, s.After = "leads", b[m.At].Before, b[m.At].After
	default:
		s.By, s.Slope, s.Low, s.High = "slope", -b[m.At].Slope, -b[m.At].High, -b[m.At].Low
	}
	return s, true
}

// undeclared reports whether some rank has no role.
func undeclared(w *frontier.Result) bool {
	return slices.ContainsFunc(w.Members, func(r trace.Rank) bool { return len(r.Role) == 0 })
}

// common is what distinguishes a set of ranks: a host, or one coordinate of the
// layout, that all of them share and no other rank has. nil if there is none, or for
// a single rank.
func common(w *frontier.Result, ranks []int) *evidence.LateTogether {
	if len(ranks) < 2 || len(ranks) == len(w.Ranks) {
		return nil
	}
	same := func(of func(trace.Rank) string) string {
		value := ""
		for _, m := range w.Members {
			if m.ID == ranks[0] {
				value = of(m)
			}
		}
		for _, m := range w.Members {
			if value == "" || slices.Contains(ranks, m.ID) != (of(m) == value) {
				return ""
			}
		}
		return value
	}
	if host := same(func(r trace.Rank) string { return r.Host }); host != "" {
		return &evidence.LateTogether{Ranks: ranks, Host: host}
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
			return &evidence.LateTogether{Ranks: ranks, Group: coordinate}
		}
	}
	return nil
}
