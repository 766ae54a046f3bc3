package report

import (
	"fmt"

	"github.com/sfstat/sfstat/batch/findings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// Who a finding is about, what was read of a run, and what a batch comes to.

// subjectWord returns who a finding is about, in few words: "rank 5", "host node3", "group pp=1".
func subjectWord(f *diagnose.Finding) string {
	switch {
	case f.Rank != nil && f.Group != "" && f.Group != "default_pg":
		return fmt.Sprintf("rank %d (%s)", *f.Rank, f.Group)
	case f.Rank != nil:
		return workerName(*f.Rank, "", f.StandsFor)
	case f.Kind == diagnose.KindHost:
		return "host " + f.Host
	case f.Group != "":
		return "group " + f.Group
	case f.Kind == diagnose.KindEdge && len(f.Ranks) > 0:
		return "link of ranks " + trace.RankList(f.Ranks)
	case f.Kind == diagnose.KindStage:
		return "all ranks"
	}
	return f.Kind.String()
}

// subject returns who a sentence is about, with where they run; "" for all ranks alike.
func subject(w diagnose.Who) string {
	switch w.Kind {
	case diagnose.OneRank:
		return rankAt(*w.Rank, w.Host, w.LocalRank)
	case diagnose.SomeRanks:
		return ranksWord(w.Ranks)
	case diagnose.HostRanks:
		return fmt.Sprintf("all ranks of %s (%s)", w.Host, ranksWord(w.Ranks))
	case diagnose.GroupRanks:
		if w.Group == "" {
			return ranksWord(w.Ranks)
		}
		return fmt.Sprintf("all ranks of %s (%s)", w.Group, ranksWord(w.Ranks))
	case diagnose.HeavyGroup:
		if len(w.Ranks) == 1 {
			return fmt.Sprintf("rank %d, the only one of role group %s,", w.Ranks[0], w.Group)
		}
		return "role group " + w.Group
	}
	return ""
}

// isPlural reports whether a subject takes a verb of several.
func isPlural(w diagnose.Who) bool {
	return w.Kind == diagnose.SomeRanks || w.Kind == diagnose.HostRanks || w.Kind == diagnose.GroupRanks
}

// sayWhoDelays returns who delays a run of a batch, beside its host.
func sayWhoDelays(r *findings.Row) string {
	is := func(k diagnose.Kind) bool { return r.Kind != nil && *r.Kind == k.String() }
	switch {
	case r.Rank != nil:
		return fmt.Sprintf("rank %d", *r.Rank)
	case is(diagnose.KindGroup) && r.Group != nil:
		return *r.Group
	case is(diagnose.KindHost):
		return "all of its ranks"
	case is(diagnose.KindEdge):
		return "a link"
	}
	return "all ranks"
}

// sayStatus returns the answer to a run in a table of runs: a name alone is that of a straggler, and an undecided run has one that may be.
func sayStatus(s answer.Status, f *diagnose.Finding, name string) string {
	switch {
	case s == answer.Straggler:
		return name
	case s == answer.Hang:
		return "hang: " + name
	case s == answer.UndecidedRun && f.Rank != nil:
		return "perhaps " + name
	case s == answer.ImbalanceRun && f.Group != "":
		return "imbalance: " + f.Group
	}
	return wordsOfName(s)
}

// extent is what was read of a run, and which part of it is shown.
type extent struct {
	main           *frontier.Result
	hosts          int
	windows, steps int
	part, of       int             // parts of the window that is shown
	dropped        *answer.Problem // steps that the cut leaves out; nil: none
}

func sayInput(x *extent) string {
	m := x.main
	text := fmt.Sprintf("%s: %s", m.Run, table.Counted(len(m.Ranks), "rank"))
	if x.hosts > 0 {
		text += ", " + table.Counted(x.hosts, "host")
	}
	if x.windows > 1 {
		part := ""
		if x.of > 1 {
			part = fmt.Sprintf(", part %d of %d", x.part, x.of)
		}
		text += fmt.Sprintf(", %s in %s, shown: window %d%s (%s)", table.Counted(x.steps, "step"), table.Counted(x.windows, "window"), m.Window, part, windowSteps(m))
	} else if m.Steps > 0 {
		text += ", " + windowSteps(m)
	}
	switch p := x.dropped; {
	case p == nil:
		return text
	case p.N == 1:
		return text + fmt.Sprintf(" (%d ends after the last synchronisation point and is left out)", p.Steps[0])
	default:
		return text + fmt.Sprintf(" (%s that end after the last synchronisation point of their window are left out)", table.Counted(p.N, "step"))
	}
}

func sayEarlier(v *diagnose.RunVerdict) string {
	e := v.Earlier
	if e == nil {
		return ""
	}
	return fmt.Sprintf("The verdict is on the last %s; steps %d–%d before them, in %s, were judged as they came.", table.Counted(len(v.Windows), "window"), e.First, e.Last, table.Counted(e.Windows, "window"))
}

func sayTraceBeside(v *diagnose.RunVerdict) string {
	if v.Operators == nil {
		return ""
	}
	return fmt.Sprintf("Operator trace of this run: %s.", sayOperatorTrace(v.Operators))
}

// sayBatch states the totals of the rows of a batch.
func sayBatch(windows, all, flagged int, lost int64, refused int) string {
	text := fmt.Sprintf("%s of %s:", table.Counted(windows, "window"), table.Counted(all, "run"))
	if flagged > 0 {
		text += fmt.Sprintf(" %d with a finding to act on, which cost %s of all ranks' time.", flagged, length(lost))
	} else {
		text += " nothing to act on."
	}
	if refused > 0 {
		text += fmt.Sprintf(" %s left out or not whole.", table.Counted(refused, "input"))
	}
	return text
}

// sayWatched returns a window of a run that is watched, in one line; late is nil where nobody is.
func sayWatched(m *frontier.Result, late *diagnose.Lateness, minGain float64) string {
	text, step := fmt.Sprintf("%s window %d, %s", m.Run, m.Window, windowSteps(m)), ""
	if n := m.Quality.Missing.Len(); n > 0 {
		text += fmt.Sprintf(", %s missing", table.Counted(n, "rank"))
	}
	if m.Steps > 0 {
		step = " " + length(ratio(m.Makespan, int64(m.Steps)))
	}
	if late == nil {
		return text + fmt.Sprintf(", no rank is found to delay the%s step by %s or more", step, table.Percent(minGain))
	}
	return text + fmt.Sprintf(", %s in %s: %s of every%s step", rankAt(late.Rank, late.Host, nil), stageWord(late.Stage), length(late.Excess), step)
}

// sayWhyAside states why inputs without steps or calls of ranks leave the suspects open.
func sayWhyAside(inputs int) string {
	if inputs == 1 {
		return "There are no steps and no calls of ranks in it, so whether it slowed the job is not shown."
	}
	return "There are no steps and no calls of ranks in them, so whether any of this slowed the job is not shown."
}

func sayNextOfAside(inputs int) string {
	them := "them"
	if inputs == 1 {
		them = "it"
	}
	return fmt.Sprintf("Next: give %s beside a recording of the job: logs with data_time, packets, traces, dumps.", them)
}
