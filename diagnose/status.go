package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
)

// leastTold is the fraction of a step from which on a certain delay counts beside others. Healthy jobs have smaller
// delays.
const leastTold = 0.02

// status returns the answer in one word.
func (j *judge) status(claims []Finding, open []answer.Undecided, problems []answer.Problem) answer.Status {
	if problemText(problems, answer.StageContains) != "" || problemText(problems, answer.StagesDisordered) != "" {
		return statusOf(claims, open, excludesNothing)
	}
	return statusOf(claims, open, j.excludes())
}

// statusOf returns the answer of the claims which may be acted on, else of those which are large and uncertain, or
// certain and small; else what the data can exclude.
func statusOf(claims []Finding, open []answer.Undecided, can exclusion) answer.Status {
	best := answer.TooLittleData
	for i := range claims {
		best = max(best, claims[i].decides(can))
	}
	hides := func(u answer.Undecided) bool {
		switch u.Question {
		case answer.RankHidden: // where ranks synchronise one may always be at work: the limits say so
			return false
		case answer.TransferHidden:
			return u.Hides > 0 && float64(u.Hides) >= exposedTransfer*float64(u.Step)
		}
		return u.Hides > 0 && !u.Unlikely
	}
	switch {
	case best > answer.UndecidedRun:
		return best
	case can == excludesNothing:
		return answer.TooLittleData
	case best == answer.UndecidedRun || can == excludesSome || slices.ContainsFunc(open, hides):
		return answer.UndecidedRun
	case can == excludesSeen:
		return answer.Unseen
	}
	return answer.NoStraggler
}

// decides returns what a claim by itself makes of a run; too little data: nothing.
func (f *Finding) decides(can exclusion) answer.Status {
	of := f.Cause.status()
	switch {
	case f.IsFlagged(), of == answer.Hang && f.Confidence >= evidence.Ambiguous: // somebody waits, named or not
		return of
	case f.perhaps() && can != excludesNothing:
		return answer.UndecidedRun
	case f.modelled && (f.BelowMinGain || f.Struck.Pattern != PatternConstant): // small, or once: what happened, not what will
	case !f.BelowMinGain && f.Confidence == evidence.Ambiguous && can != excludesNothing:
		// That time is lost is certain where ranks or roles differ; who loses it is not.
		if of == answer.Straggler {
			return answer.UndecidedRun
		}
		return of
	}
	return answer.TooLittleData
}

// mayBeChance is the chance up to which a large delay that is not certain leaves a run undecided, and fewestRepeated in how many stretches of
// the run it is: one by itself is an event, unless it is so large a part of the run.
const (
	mayBeChance    = 0.25
	fewestRepeated = 2
	partOfRun      = 1.0 / 3
)

// perhaps reports whether somebody is late by enough to act on, in several stretches of the run or much of it, and it may be chance.
func (f *Finding) perhaps() bool {
	return f.modelled && !f.BelowMinGain && f.Cause == CauseLate && f.Confidence == evidence.Ambiguous && f.P <= mayBeChance && (f.Incidents >= fewestRepeated || f.Struck.rate() >= partOfRun)
}

// exclusion is what the data of a run can exclude.
type exclusion uint8

const (
	excludesNothing exclusion = iota // too few steps or ranks
	excludesSome                     // something may be a delay that they cannot place
	excludesSeen                     // a delay where they show one, and one worth acting on may be elsewhere
	excludesAll
)

// excludes returns how much the windows can exclude.
func (j *judge) excludes() exclusion {
	if j.modelled != nil && !j.lacksData() {
		return j.modelExcludes()
	}
	switch {
	case j.entered != nil && searchSummary(j.entered).Steps >= leastSteps:
		switch {
		case len(j.windows) == 0 && j.untold():
			return excludesSome
		case j.hidesDelay(j.coverage()):
			return excludesSeen
		}
		return excludesAll
	case j.operators != nil && len(j.windows) == 0:
		return j.operators.Operators.exclusion(j.operators.Coverage, j.minGain)
	case j.traffic != nil && len(j.windows) == 0:
		return communications(j.traffic).excludes()
	}
	return excludesNothing
}

// synchronises reports whether the steps show where ranks wait for each other. If they do not, no rank can be shown
// to be late.
func (j *judge) synchronises() bool {
	return j.modelled != nil && (len(j.modelled.Points) > 0 || j.modelled.Within)
}

// leastSteps is how many steps with two ranks or more are needed before the absence
// of findings is meaningful.
const leastSteps = 5

// lacksData reports whether the data are too few to exclude a fault.
func (j *judge) lacksData() bool {
	steps := 0
	for _, w := range j.windows {
		if m := w.Main; len(m.Ranks) >= 2 && m.Leader.Stage >= 0 && !incomplete(m) {
			steps += m.Steps
		}
	}
	return steps < leastSteps && (j.traffic == nil || len(j.windows) > 0)
}

// short reports whether more steps are what the recording of a group lacks.
func (j *judge) short() bool {
	return j.lacksData() && slices.ContainsFunc(j.windows, func(w Window) bool { return len(w.Main.Ranks) >= 2 }) &&
		!slices.ContainsFunc(j.windows, func(w Window) bool { return w.Incomplete() })
}

// Incomplete reports whether the window lacks ranks, or has times that cannot be
// trusted.
func (w *Window) Incomplete() bool { return incomplete(w.Main) }

// incomplete reports [Window.Incomplete] of the result over all ranks. Time in no stage withholds certainty but is measured on
// every rank, and does not count.
func incomplete(w *frontier.Result) bool {
	return hasReason(w, labels.MissingRanks) || hasUntrustedTimes(w)
}

// hasUntrustedTimes reports whether times of the ranks that were recorded cannot be trusted.
func hasUntrustedTimes(w *frontier.Result) bool {
	return hasReason(w, labels.GatherFailed, labels.SchemaMismatch, labels.VectorUnusable, labels.DataWaitUnassigned, labels.OverlapError)
}

// hasReason reports whether the telemetry of a window is limited for one of some reasons.
func hasReason(w *frontier.Result, any ...labels.Reason) bool {
	return slices.Contains(w.Labels, labels.TelemetryLimited) && slices.ContainsFunc(w.Reasons, func(r labels.Reason) bool { return slices.Contains(any, r) })
}

// status returns the status of a run with a finding of this cause.
func (c Cause) status() answer.Status {
	switch c {
	case CauseMissing, CauseDesync:
		return answer.Hang
	case CauseRegression, CauseSlowSteps, CausePeriodic, CauseHost:
		return answer.SlowEverywhere
	case CauseStartUp:
		return answer.NoStraggler
	case CauseMoreWork, CauseTurns, CauseHeavy:
		return answer.ImbalanceRun
	}
	return answer.Straggler
}
