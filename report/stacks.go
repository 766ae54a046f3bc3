package report

import (
	"fmt"
	"slices"
	"strings"
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
		d = append(d, headline{text: j.Run + ": " + say("behind", struct {
			*arrivals.Behind
			Who, Leaders string
		}{&b, j.whoIs(b.Ranks), j.whoIs(b.Ahead)}), level: sure})
	}
	x := struct {
		Arrivals
		Who, At string
	}{Arrivals: j}
	if len(a.Unanswered) > 0 {
		x.Who = j.whoIs(a.Unanswered)
		d = append(d, headline{text: say("unanswered", x), level: evidence.Supported})
	}
	if len(a.Absent) > 0 {
		d = append(d, headline{text: say("absent", x), level: evidence.Ambiguous})
	}
	if len(d) == 0 {
		d = append(d, headline{text: say("nobody behind", x), level: evidence.Insufficient})
	}
	for _, e := range a.Errors {
		d = append(d, prose(upper(e)+"."))
	}
	if ranks := append(slices.Clone(a.Roots), a.Unanswered...); len(ranks) > 0 {
		x.Who, x.At = j.whoIs(ranks), j.stacksOf(ranks)
		d = append(d, prose(say("next behind", x)))
	} else if len(a.Absent) > 0 {
		d = append(d, prose(say("next absent", x)))
	}
	return d
}

// whoIs is some ranks, one with its host.
func (j Arrivals) whoIs(ranks []int) string {
	if len(ranks) == 1 {
		return rankAt(ranks[0], j.Asked.Hosts[ranks[0]], nil)
	}
	return ranksWord(ranks)
}

// stacksAlone is what the stacks of ranks show where no calls are recorded.
func (j Arrivals) stacksAlone() document {
	most, others := j.Majority()
	x := struct {
		Run, Most, Owner, At          string
		Ranks, Others, Alike, Further int
		Apart                         []int
	}{Run: j.Run, Others: len(others)}
	for _, s := range j.Stacks {
		x.Ranks += len(s.Ranks)
	}
	sure := evidence.Insufficient
	if most != nil {
		x.Most, x.Alike = standsIn(most), len(most.Ranks)
	}
	if most != nil && len(others) > 0 {
		sure = evidence.Ambiguous
		for _, s := range others {
			x.Apart = append(x.Apart, s.Ranks...)
		}
		x.Owner, x.At, x.Further = stackOwner(&others[0]), standsIn(&others[0]), len(x.Apart)-len(others[0].Ranks)
	}
	return document{headline{text: say("stacks", x), level: sure}, stackTable(j.Stacks), prose(say("next stacks", x)), prose(notedWords(j.Noted))}
}

// notedWords returns what is not known of stacks.
func notedWords(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "Note: " + strings.Join(notes, "; ") + "."
}

// stackOwner is whose stack it is.
func stackOwner(s *arrivals.Stack) string {
	if len(s.Ranks) == 1 {
		return rankAt(s.Ranks[0], s.Hosts[0], nil)
	}
	return ranksWord(s.Ranks)
}

// standsIn is the program's line that a stack is in, with what it calls; without one the innermost frame.
func standsIn(s *arrivals.Stack) string {
	l := s.Line
	if l.IsZero() || s.Within {
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
		s, ended := j.StackOf(r), j.Ended[r]
		switch {
		case ended != "" && s != nil:
			text += fmt.Sprintf("Rank %d ended with %q in %s. ", r, ended, standsIn(s))
		case ended != "":
			text += fmt.Sprintf("Rank %d ended with %s. ", r, ended)
		case s != nil:
			text += fmt.Sprintf("The main thread of rank %d is in %s. ", r, standsIn(s))
		}
	}
	return text
}
