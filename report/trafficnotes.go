package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// trafficNotes words how a result of communication was found, and what it lacks.
func trafficNotes(r *comm.Result) bullets {
	out := bullets(each(r.Notes, noteWords))
	if r.Recorded == nil {
		return out
	}
	for _, n := range r.Recorded.Notes {
		if n.Kind == input.NoteWired {
			out = append(out, n.Text)
		}
	}
	return out
}

func pairedWords(paired []int) string {
	var how []string
	for p, n := range paired {
		if p := comm.Pairing(p); n > 0 && p != comm.Unpaired {
			how = append(how, fmt.Sprintf("%d by %v", n, p))
		}
	}
	return strings.Join(how, ", ")
}

// setsWords lists the first sets of ranks.
func setsWords(sets [][]int) string {
	const shown = 4
	names := each(sets[:min(shown, len(sets))], trace.RankList)
	if len(sets) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, "; ")
}

// firstLines lists the first of some lines.
func firstLines(lines []int64) string {
	const shown = 6
	names := each(lines[:min(shown, len(lines))], func(l int64) string { return fmt.Sprint(l) })
	if more := len(lines) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return joinList(names, "or")
}

// communicatorEvidence words what a communicator is taken to be for.
func communicatorEvidence(c *parallel.Communicator) []string {
	return each(c.Evidence, func(e parallel.Evidence) string { return communicatorWords(c, e) })
}

// topOperations returns the three most used operations with their shares of the calls.
func topOperations(c *parallel.Communicator) string {
	const shown = 3
	total, _ := c.Total()
	text := strings.Join(each(c.Ops[:min(shown, len(c.Ops))], func(u parallel.OpUse) string {
		return fmt.Sprintf("%v %.0f %%", u.Op, 100*float64(u.Calls)/float64(total))
	}), ", ")
	if len(c.Ops) > shown {
		text += " …"
	}
	return text
}
