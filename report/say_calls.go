package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// The first screen of calls and kernels of NCCL.

// sayCallsAnswer states what calls show where they show no suspect.
func sayCallsAnswer(c *diagnose.Communications) string {
	ranks := table.Counted(c.Ranks, "rank")
	switch {
	case c.LastMost != nil:
		return sayLastMost(c)
	case c.Met && c.Absent > 0:
		return fmt.Sprintf("Nothing stands out among the ranks that were seen together; what %s did is not known.", table.Counted(c.Absent, "rank"))
	case c.Met:
		return "Nothing stands out: no rank keeps the others waiting, and no link or communicator is significantly slower than those that do the same."
	case c.Paired > 0:
		return fmt.Sprintf("%s of %s were found with their kernels, none of which can be compared with those of other ranks.", table.Counted(c.Paired, "call"), ranks)
	case c.Calls > 0:
		return fmt.Sprintf("%s of %s on %s; nothing tells when they ran.", table.Counted(c.Calls, "call"), ranks, table.Counted(c.Communicators, "communicator"))
	case c.Exports == 0:
		return fmt.Sprintf("No calls in %s: NCCL logs them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH.", table.Counted(c.Logs, "log"))
	}
	return fmt.Sprintf("%s of NCCL on %s; no call of a log was paired with them.", table.Counted(c.Kernels, "kernel"), ranks)
}

func sayLastMost(c *diagnose.Communications) string {
	e, host := c.LastMost, ""
	if c.LastHost != "" {
		host = fmt.Sprintf(" (%s)", c.LastHost)
	}
	text := fmt.Sprintf("Rank %d%s is the last to enter %d of %s,", e.Rank, host, e.N, table.Counted(e.Of, "collective"))
	if e.Delay > 0 {
		return text + fmt.Sprintf(" with an own delay of %s (median): too few to rule out chance.", length(e.Delay))
	}
	return text + " which costs the others most; the dumps do not show whether the delay is its own."
}

func sayCommunicationAnswer(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	f := a.First
	text := ""
	if e, ok := evidence.Find[evidence.SlowLink](f.Evidence); ok && !e.Elsewhere {
		text = sayLinkIsSlow(f, &e)
	} else {
		last, _ := evidence.EntersLast(f.Evidence, evidence.FromNCCL)
		host := ""
		if f.Host != "" {
			host = fmt.Sprintf(" (%s)", f.Host)
		}
		text = fmt.Sprintf("Rank %d%s makes the others wait: %s.", last.Rank, host, sayEntersLast(last))
	}
	if also := suspectsList(a.Also); also != "" {
		text += fmt.Sprintf(" Also suspected: %s.", also)
	}
	if stage := losesIn(v); stage != "" {
		text += fmt.Sprintf(" The group loses it in %s.", stage)
	}
	return text
}

func sayLinkIsSlow(f *diagnose.Finding, e *evidence.SlowLink) string {
	is, from := "is", ""
	if f.Confidence == evidence.Ambiguous {
		is = "may be"
	}
	if e.From > 0 {
		from = fmt.Sprintf(" for messages from %s on", binaryBytes(e.From))
	}
	return fmt.Sprintf("%s %s slow%s: %s; that costs %s, %s of the time.", upper(linkName(e.Between)), is, from, saySlow(*e), length(e.Lost), fraction(e.Share))
}

// losesIn returns the stage in which a group loses what a slow link costs; "" where that is not known.
func losesIn(v *diagnose.RunVerdict) string {
	for _, f := range v.Findings[1:] {
		if e, victim := evidence.Find[evidence.SlowLink](f.Evidence); victim && e.Elsewhere && f.Rank == nil && f.Stage != "" {
			return f.Stage
		}
	}
	return ""
}

// suspectsList names findings of communication, each once.
func suspectsList(list []*diagnose.Finding) string {
	var names []string
	for _, f := range list {
		if name := saySuspected(f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func saySuspected(f *diagnose.Finding) string {
	switch {
	case f.Kind == diagnose.KindEdge && f.Rank != nil:
		return fmt.Sprintf("the link of rank %d", *f.Rank)
	case f.Kind == diagnose.KindEdge:
		return "the link of ranks " + trace.RankList(f.Ranks)
	case f.Kind == diagnose.KindGroup || f.Rank == nil:
		return "the communicator " + f.Group
	}
	return fmt.Sprintf("rank %d", *f.Rank)
}
