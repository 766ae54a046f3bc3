package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/table"
)

// The account of a window, and how it was read.

// sayWindow returns "job · window 3 · steps 20–139 · 8 ranks · 207 ms per step".
func sayWindow(r *frontier.Result) string {
	text := fmt.Sprintf("window %d", r.Window)
	if r.Run != "" {
		text = r.Run + " · " + text
	}
	if r.Steps == 1 {
		text += " · step " + stepRange(r)
	} else if r.Steps > 0 {
		text += " · steps " + stepRange(r)
	}
	if r.Group != "" {
		text += " · group " + r.Group
	}
	text += " · " + table.Counted(len(r.Ranks), "rank")
	if r.Steps > 0 && !r.BelowFloor() {
		text += fmt.Sprintf(" · %s per step", length(ratio(r.Makespan, int64(r.Steps))))
	}
	return text
}

func sayTooShort(makespan int64) string {
	return fmt.Sprintf("The whole window is %s: too short for shares. These are raw times in nanoseconds.", length(makespan))
}

func sayNoStage(q *frontier.Quality) string {
	if !q.Wall {
		return "No wall time: time outside the stages is not seen"
	}
	text := fmt.Sprintf("Time in no stage: %s of the step on the worst rank", table.Percent(q.ClosureResidual))
	if q.OverlapError > 0 {
		text += fmt.Sprintf("; stages overlap by %s", table.Percent(q.OverlapError))
	}
	return text
}

func sayNotReported(r *frontier.Result) string {
	return fmt.Sprintf("%s of %d did not report: %s", table.Counted(r.Quality.Missing.Len(), "rank"), r.WorldSize, r.Quality.Missing)
}

func sayDeviceTimers(d *frontier.Device) string {
	text := fmt.Sprintf("Device timers (%s): %d of %d samples ready", d.Channel, d.Ready, d.Sampled)
	if table.Finite(d.Time) && table.Finite(d.Peers) {
		text += fmt.Sprintf("; rank %d takes %s on the device (peers %s) and %s on the host", d.Rank, length(d.Time), length(d.Peers), length(d.Wall))
	}
	return text
}

// cutReason returns why an account has its cut; "" where it does not record the reason.
func cutReason(r *frontier.Result) string {
	text := sayCut(r)
	if r.Cut != frontier.CutStep && text != "" && !r.Quality.Wall {
		text += "; without wall time, steps are taken to follow each other without a gap"
	}
	return text
}

func sayCut(r *frontier.Result) string {
	switch r.CutReason {
	case frontier.CutAsked:
		if r.Cut == frontier.CutCarried {
			return "asked for: prefixes run on across steps"
		}
		return "asked for: every step's prefixes start at zero"
	case frontier.CutAtSyncPoint:
		return fmt.Sprintf("steps begin where the ranks synchronise, at the end of %s", r.SyncPoint.Name)
	case frontier.CutAtLikelySync:
		return fmt.Sprintf("steps begin where the ranks synchronise, at the end of %s (likely, not shown)", r.SyncPoint.Name)
	case frontier.CutMeetings:
		return fmt.Sprintf("ranks synchronise in %s in one step of %d; prefixes run on across steps", r.SyncPoint.Meetings, r.SyncPoint.Every)
	case frontier.CutAsPublished:
		return "the paper's: every step's prefixes start at zero"
	case frontier.CutSingleRank:
		return "one rank: there is nobody to wait for"
	case frontier.CutSingleStep:
		return "one step cannot be cut again"
	case frontier.CutNoSyncPoint:
		return "no clear boundary where the ranks synchronise; name one with --meet-after"
	case frontier.CutUnknownGaps:
		return "no clear boundary where the ranks synchronise, and without wall time the gaps between steps are unknown"
	case frontier.CutRunsOn:
		return "no clear boundary where the ranks synchronise; prefixes run on across steps"
	case frontier.CutTooLong:
		return "the window is too long for prefixes that run on"
	}
	return ""
}

// fitReason returns why waits are charged to the leading stage, or why not; "" where the account does not record it.
func fitReason(f frontier.Fit) string {
	switch f.Why {
	case frontier.FitLowGain:
		return fmt.Sprintf("ranks synchronise, but %s at its baseline would save only %s with the waits it induces", f.Stage, table.Percent(f.Gain))
	case frontier.FitByChance:
		return fmt.Sprintf("ranks wait after %s, but less than half of that is for ranks that are late because of it more often than chance", f.Stage)
	case frontier.FitInduced:
		return fmt.Sprintf("ranks wait for each other at a synchronisation point after %s: at its baseline, %s would go with the waits it induces", f.Stage, table.Percent(f.Gain))
	case frontier.FitBelowFloor:
		return "the makespan is too small to interpret"
	case frontier.FitOff:
		return "switched off: downstream wait is left in place"
	case frontier.FitAsGiven:
		return "given by the caller"
	case frontier.FitNoSync:
		return "no stage is shown to be one where the ranks synchronise"
	case frontier.FitMeetings:
		return "ranks synchronise in one step of several, not in each"
	}
	return ""
}
