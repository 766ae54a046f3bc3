package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// looked is what stacks and reports of NCCL show where no calls are recorded.
func (j Arrivals) looked() document {
	if j.Asked == nil {
		return j.stacksAlone()
	}
	return put(j.answered(), stackTable(j.Stacks))
}

// stands is for how long reports must say the same before a rank that is behind is more than one that is slow.
const stands = int64(10 * time.Second)

// answered is who is behind by NCCL's own counts.
func (j Arrivals) answered() document {
	a, d := j.Asked, document{}
	if a == nil {
		return nil
	}
	for _, b := range a.Behind {
		sure := evidence.Ambiguous
		if b.Stands >= stands {
			sure = evidence.Supported
		}
		d = append(d, headline{j.Run + ": " + say("behind", struct {
			*arrivals.Behind
			Who, Leaders string
		}{&b, j.whoIs(b.Ranks), j.whoIs(b.Ahead)}), sure})
	}
	if len(a.Unanswered) > 0 {
		d = append(d, headline{fmt.Sprintf("%s: no answer to NCCL from %s: its process is gone, or does not run.", j.Run, j.whoIs(a.Unanswered)), evidence.Supported})
	}
	if len(d) == 0 {
		d = append(d, headline{fmt.Sprintf("%s: no rank is behind: in every communicator that stands still all have launched the same collectives (%s of NCCL).", j.Run, counted(a.Reports, "report")), evidence.Insufficient})
	}
	for _, e := range a.Errors {
		d = append(d, prose(upper(e)+"."))
	}
	ranks := append(slices.Clone(a.Roots), a.Unanswered...)
	switch at := j.stacksOf(ranks); {
	case at != "":
		d = append(d, prose(at))
	case len(ranks) > 0 && a.Reports == 1:
		d = append(d, prose("Ranks run apart by some calls for a moment. Next: ask again after a minute (ncclras -f json > ras_2.json), and py-spy dump of "+j.whoIs(ranks)+"."))
	case len(ranks) > 0:
		d = append(d, prose("Next: py-spy dump of "+j.whoIs(ranks)+"; "+say("dump entries", nil)+"."))
	}
	return d
}

// whoIs is some ranks, one with its host.
func (j Arrivals) whoIs(ranks []int) string {
	if len(ranks) == 1 {
		return rankAt(ranks[0], j.Asked.Hosts[ranks[0]], nil)
	}
	return someRanks(ranks)
}

// stacksAlone is what the stacks of ranks show where no calls are recorded.
func (j Arrivals) stacksAlone() document {
	most, others := j.Majority()
	n := 0
	for _, s := range j.Stacks {
		n += len(s.Ranks)
	}
	switch {
	case most == nil:
		return document{headline{fmt.Sprintf("%s: the main threads of %s are in %d places, none of them shared by most: they work, or wait in different groups.", j.Run, counted(n, "rank"), len(others)), evidence.Insufficient},
			stackTable(j.Stacks), prose("Next: " + say("dump entries", nil) + ".")}
	case len(others) == 0:
		return document{headline{fmt.Sprintf("%s: %s, all in %s: stacks do not show whom they wait for.", j.Run, counted(n, "rank"), standsIn(most)), evidence.Insufficient},
			stackTable(j.Stacks), prose("Next: look at ranks without a stack; " + say("dump entries", nil) + ".")}
	}
	var apart []int
	for _, s := range others {
		apart = append(apart, s.Ranks...)
	}
	text := fmt.Sprintf("%s: the main thread of %s is in %s, those of %s in %s.", j.Run, stackOwner(&others[0]), standsIn(&others[0]), counted(len(most.Ranks), "other"), standsIn(most))
	if len(others) > 1 {
		text += fmt.Sprintf(" %s elsewhere.", upper(counted(len(apart)-len(others[0].Ranks), "further rank")))
	}
	return document{headline{text, evidence.Ambiguous}, stackTable(j.Stacks),
		prose("A stack is of one moment. Next: dump " + someRanks(apart) + " again after a minute; if nothing moved, that is the culprit. " + upper(say("dump entries", nil)) + ".")}
}

// stackOwner is whose stack it is.
func stackOwner(s *arrivals.Stack) string {
	if len(s.Ranks) == 1 {
		return rankAt(s.Ranks[0], s.Hosts[0], nil)
	}
	return someRanks(s.Ranks)
}

// standsIn is the program's line that a stack is in, with what it calls; without one the innermost frame.
func standsIn(s *arrivals.Stack) string {
	l := s.Line
	if l.IsZero() {
		l = s.Inner
	}
	if l.Call == "" {
		return fmt.Sprintf("%s (%s)", l.Function, l.String())
	}
	return fmt.Sprintf("%s (%s, which calls %s)", l.Function, l.String(), l.Call)
}

// stackTable is one row for each stack.
func stackTable(stacks []arrivals.Stack) *table.Table {
	t := tableOf("stack")
	for i := range stacks {
		t.Row(rankItems(stacks[i].Ranks, 0), standsIn(&stacks[i]))
	}
	return t.Tidy()
}

// stackOfMissing is where the ranks are for which the others wait; "" where nobody looked.
func (j Arrivals) stackOfMissing() string {
	return j.stacksOf(each(j.Result.Hang.Roots(), func(r arrivals.Root) int { return r.Rank }))
}

// stacksOf are where some ranks are, as far as somebody looked.
func (j Arrivals) stacksOf(ranks []int) (text string) {
	for _, r := range ranks {
		if s := j.StackOf(r); s != nil {
			text += fmt.Sprintf("The main thread of rank %d is in %s. ", r, standsIn(s))
		}
	}
	return text
}
