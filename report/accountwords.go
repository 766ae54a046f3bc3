package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// cutSentences say why an account has its cut; what stands in braces is filled in.
var cutSentences = map[frontier.CutReason]string{
	frontier.CutAsPublished:  "the paper's: every step's prefixes start at zero",
	frontier.CutAsked:        "asked for: every step's prefixes start at zero",
	frontier.CutSingleRank:   "one rank: there is nobody to wait for",
	frontier.CutSingleStep:   "one step cannot be cut again",
	frontier.CutAtSyncPoint:  "steps begin where the ranks synchronise, at the end of {sync point}",
	frontier.CutAtLikelySync: "steps begin where the ranks synchronise, at the end of {sync point} (likely, not shown)",
	frontier.CutNoSyncPoint:  "no clear boundary where the ranks synchronise; name one with --meet-after",
	frontier.CutUnknownGaps:  "no clear boundary where the ranks synchronise, and without wall time the gaps between steps are unknown",
	frontier.CutRunsOn:       "no clear boundary where the ranks synchronise; prefixes run on across steps",
	frontier.CutTooLong:      "the window is too long for prefixes that run on",
}

// cutReason says why an account has its cut; "" where it does not tell.
func cutReason(r *frontier.Result) string {
	text := filled(cutSentences[r.CutReason], "sync point", r.SyncPoint.Name)
	if r.CutReason == frontier.CutAsked && r.Cut == frontier.CutCarried {
		text = "asked for: prefixes run on across steps"
	}
	if r.Cut != frontier.CutStep && text != "" && !r.Quality.Wall {
		text += "; without wall time, steps are taken to follow each other without a gap"
	}
	return text
}

// fitSentences say why later wait is, or is not, charged to the leading stage.
var fitSentences = map[frontier.FitReason]string{
	frontier.FitBelowFloor: "the makespan is too small to interpret",
	frontier.FitOff:        "switched off: downstream wait is left in place",
	frontier.FitAsGiven:    "given by the caller",
	frontier.FitNoSync:     "no stage is shown to be one where the ranks synchronise",
	frontier.FitLowGain:    "ranks synchronise, but {stage} at its baseline would save only {gain} with the waits it induces",
	frontier.FitByChance:   "ranks wait after {stage}, but no rank is late because of it more than chance allows",
	frontier.FitInduced:    "ranks wait for each other at a synchronisation point after {stage}: at its baseline, {gain} would go with the waits it induces",
}

// fitReason is the sentence of a fit; "" where the account does not tell.
func fitReason(f frontier.Fit) string {
	return filled(fitSentences[f.Why], "stage", f.Stage, "gain", table.Percent(f.Gain))
}

// texts are notes as those who wrote them worded them: readers, recorders.
func texts(notes []input.Note) []string {
	return each(notes, func(n input.Note) string { return n.Text })
}
