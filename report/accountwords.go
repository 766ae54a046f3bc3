package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/engine/frontier/fit"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// cutSentences say why an account has its cut; what stands in braces is filled in.
var cutSentences = map[cut.Reason]string{
	cut.AsPublished:  "the paper's: every step's prefixes start at zero",
	cut.Asked:        "asked for: every step's prefixes start at zero",
	cut.SingleRank:   "one rank: there is nobody to wait for",
	cut.SingleStep:   "one step cannot be cut again",
	cut.AtSyncPoint:  "steps begin where the ranks synchronise, at the end of {sync point}",
	cut.AtLikelySync: "steps begin where the ranks synchronise, at the end of {sync point} (likely, not shown)",
	cut.NoSyncPoint:  "no clear boundary where the ranks synchronise; name one with --meet-after",
	cut.UnknownGaps:  "no clear boundary where the ranks synchronise, and without wall time the gaps between steps are unknown",
	cut.RunsOn:       "no clear boundary where the ranks synchronise; prefixes run on across steps",
	cut.TooLong:      "the window is too long for prefixes that run on",
}

// cutReason says why an account has its cut; "" where it does not tell.
func cutReason(r *frontier.Result) string {
	text := filled(cutSentences[r.CutReason], "sync point", r.SyncPoint.Name)
	if r.CutReason == cut.Asked && r.Cut == cut.Carried {
		text = "asked for: prefixes run on across steps"
	}
	if r.Cut != cut.Step && text != "" && !r.Quality.Wall {
		text += "; without wall time, steps are taken to follow each other without a gap"
	}
	return text
}

// fitSentences say why later wait is, or is not, charged to the leading stage.
var fitSentences = map[fit.Reason]string{
	fit.BelowFloor: "the makespan is too small to interpret",
	fit.Off:        "switched off: downstream wait is left in place",
	fit.AsGiven:    "given by the caller",
	fit.NoSync:     "no stage is shown to be one where the ranks synchronise",
	fit.LowGain:    "ranks synchronise, but {stage} at its baseline would save only {gain} with the waits it induces",
	fit.ByChance:   "ranks wait after {stage}, but no rank is late because of it more than chance allows",
	fit.Induced:    "ranks wait for each other at a synchronisation point after {stage}: at its baseline, {gain} would go with the waits it induces",
}

// fitReason is the sentence of a fit; "" where the account does not tell.
func fitReason(f fit.Fit) string {
	return filled(fitSentences[f.Why], "stage", f.Stage, "gain", table.Percent(f.Gain))
}

// texts are notes as those who wrote them worded them: readers, recorders.
func texts(notes []input.Note) []string {
	return each(notes, func(n input.Note) string { return n.Text })
}
