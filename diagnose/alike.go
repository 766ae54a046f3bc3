package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
)

// stages says what is left where nothing better was found in a window: a rank
// that leads without a meeting to measure its lateness at, or a stage that is
// long on all ranks alike.
func (j *judge) stages() {
	for _, w := range j.windows {
		m := w.Main
		if m.Leader.Stage < 0 || len(m.Ranks) < 2 || j.answered(m) {
			continue
		}
		s := m.Stages[m.Leader.Stage]
		if leads(m) && float64(m.Behind(s)) >= j.gates.StaticGain*float64(m.Makespan) {
			j.add(causeLeads, Finding{Kind: KindRank, Place: Place{Rank: m.Leader.Rank, Stage: s.Name}, Cost: Cost{Explained: m.Behind(s)}, Confidence: Ambiguous, Evidence: Saying(
				fmt.Sprintf("frontier: rank %d is the latest at the end of %s in %d of %d steps and pulls away from the median rank there", *m.Leader.Rank, s.Name, m.Leader.Steps, m.Steps),
				"not strong: no boundary is shown where the ranks meet, so it is open whether others wait for it")}, m, nil)
			continue
		}
		j.add(causeAlike, j.alike(m), m, nil)
	}
}

// slowSteps is the stage that mending saves the gain gate in and surely more
// than in any other: one that is short in most steps and long in some, as a log
// that is written now and then. It need not be the one that is charged most,
// which it is too when no stage has such steps.
func (j *judge) slowSteps(m *frontier.Result) (stage int, slow bool) {
	best := m.Leader.Stage
	for i, s := range m.Stages {
		if s.Gain != nil && *s.Gain > *m.Stages[best].Gain {
			best = i
		}
	}
	if m.Stages[best].Meets && !m.Quality.Wall {
		return m.Leader.Stage, false // its times hold what is not recorded of other ranks
	}
	if g := m.Stages[best].Gain; g == nil || *g < j.gates.StaticGain || slices.Contains(m.Reasons, frontier.GainTie) {
		return m.Leader.Stage, false
	}
	return best, true
}

// leads reports whether one rank is surely the latest in most steps.
func leads(w *frontier.Result) bool {
	return w.Leader.Rank != nil && 10*w.Leader.Steps >= 8*w.Steps
}

// alike is the suspect that a stage makes when no rank answers for it.
func (j *judge) alike(m *frontier.Result) Finding {
	k, slow := j.slowSteps(m)
	s := m.Stages[k]
	who := "all ranks are alike in it, within the tolerance"
	if len(s.Latest) < len(m.Ranks) {
		who = fmt.Sprintf("%s latest at its end, none of them late by more than chance allows", ranksAre(s.Latest))
	}
	suspect := Finding{Kind: KindStage, Place: Place{Stage: s.Name}, Cost: Cost{Explained: s.Advance}, Confidence: Ambiguous, Evidence: Saying(fmt.Sprintf("frontier: %s is charged %.0f %% of the exposed time, and %s", s.Name, 100**s.Share, who))}
	if s.Gain != nil {
		suspect.Gain = *s.Gain
	}
	if slow {
		suspect.Confidence = Supported
		suspect.Explained = int64(*s.Gain * float64(m.Makespan))
		suspect.Evidence = append(suspect.Evidence, Said(clipped(m, k)))
	}
	if s.Meets {
		suspect.Evidence = append(suspect.Evidence, Said("ranks meet in it, so a delay of one rank inside it looks the same on every rank: the rank is not decidable from stage times"))
	}
	if slices.Contains(m.Labels, frontier.TelemetryLimited) {
		suspect.Confidence = Insufficient
	}
	return suspect
}

// clipped says what a stage with slow steps costs, and what agrees or does not.
func clipped(m *frontier.Result, stage int) string {
	text := fmt.Sprintf("replay: clipped to its median, %.1f %% of the exposed time goes", 100**m.Stages[stage].Gain)
	switch lead := m.Stages[m.Leader.Stage]; {
	case stage != m.Leader.Stage:
		text += fmt.Sprintf("; %s is charged more and would save %.1f %%, because it is nearly as long in every step", lead.Name, 100**lead.Gain)
	case slices.Contains(m.Labels, frontier.DirectExposure):
		text += "; raw durations and spread agree"
	}
	return text
}
