package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/engine/frontier/fit"
	"github.com/sfstat/sfstat/trace/input"
)

// cutReason says why an account has its cut; "" where it does not tell.
func cutReason(r *frontier.Result) string {
	text := cutWords(r)
	if r.Cut != cut.Step && text != "" && !r.Quality.Wall {
		text += "; without wall time, steps are taken to follow each other without a gap"
	}
	return text
}

func cutWords(r *frontier.Result) string {
	switch r.CutReason {
	case cut.AsPublished:
		return "the paper's: every step's prefixes start at zero"
	case cut.Asked:
		if r.Cut == cut.Carried {
			return "asked for: prefixes run on across steps"
		}
		return "asked for: every step's prefixes start at zero"
	case cut.SingleRank:
		return "one rank: there is nobody to wait for"
	case cut.SingleStep:
		return "one step cannot be cut again"
	case cut.AtSyncPoint:
		return "steps begin where the ranks synchronise, at the end of " + r.SyncPoint.Name
	case cut.AtLikelySync:
		return "steps begin where the ranks synchronise, at the end of " + r.SyncPoint.Name + " (likely, not shown)"
	case cut.NoSyncPoint:
		return "no clear boundary where the ranks synchronise; name one with --meet-after"
	case cut.UnknownGaps:
		return "no clear boundary where the ranks synchronise, and without wall time the gaps between steps are unknown"
	case cut.RunsOn:
		return "no clear boundary where the ranks synchronise; prefixes run on across steps"
	case cut.TooLong:
		return "the window is too long for prefixes that run on"
	}
	return ""
}

// fitReason says why later wait is, or is not, charged to the leading stage; ""
// where the account does not tell.
func fitReason(f fit.Fit) string {
	switch f.Why {
	case fit.BelowFloor:
		return "the makespan is too small to interpret"
	case fit.Off:
		return "switched off: downstream wait is left in place"
	case fit.AsGiven:
		return "given by the caller"
	case fit.NoSync:
		return "no stage is shown to be one where the ranks synchronise"
	case fit.LowGain:
		return fmt.Sprintf("ranks synchronise, but %s at its baseline would save only %s with the waits it induces", f.Stage, percent(f.Gain))
	case fit.ByChance:
		return fmt.Sprintf("ranks wait after %s, but no rank is late because of it more than chance allows", f.Stage)
	case fit.Induced:
		return fmt.Sprintf("ranks wait for each other at a synchronisation point after %s: at its baseline, %s would go with the waits it induces", f.Stage, percent(f.Gain))
	}
	return ""
}

// texts are notes as those who wrote them worded them: readers, recorders.
func texts(notes []input.Note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, n.Text)
	}
	return out
}
