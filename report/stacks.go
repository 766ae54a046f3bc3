package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// lookedDocument returns what stacks and reports of NCCL show where no calls are recorded.
func (j Arrivals) lookedDocument() document {
	if j.Asked == nil {
		return j.stacksAlone()
	}
	return put(j.countersDocument(), stackTable(j.Stacks))
}

// stands is for how long reports must say the same before a rank that is behind is more than one that is slow.
const stands = int64(10 * time.Second)

// countersDocument returns who is behind by NCCL's own counts.
func (j Arrivals) countersDocument() document {
	a, d := j.Asked, document{}
	if a == nil {
		return nil
	}
	for _, b := range a.Behind {
		sure := evidence.Ambiguous
		if b.Stands >= stands {
			sure = evidence.Supported
		}
		d = append(d, headline{text: j.Run + ": " + sayBehind(&b, j.rankWords(b.Ranks), j.rankWords(b.Ahead)), level: sure})
	}
	if len(a.Unanswered) > 0 {
		d = append(d, headline{text: sayUnanswered(j.Run, j.rankWords(a.Unanswered), len(a.Unanswered)), level: evidence.Supported})
	}
	if len(a.Absent) > 0 {
		d = append(d, headline{text: sayAbsent(j.Run, a), level: evidence.Ambiguous})
	}
	if len(d) == 0 {
		d = append(d, headline{text: sayNobodyBehind(j.Run, a), level: evidence.Insufficient})
	}
	for _, e := range a.Errors {
		d = append(d, prose(upper(e)+"."))
	}
	if ranks := append(slices.Clone(a.Roots), a.Unanswered...); len(ranks) > 0 {
		d = append(d, prose(cmp.Or(j.stacksOf(ranks), sayNextOfBehind(a, j.rankWords(ranks)))))
	} else if len(a.Absent) > 0 {
		d = append(d, prose(sayNextOfAbsent(a)))
	}
	return d
}

// rankWords returns ranks in words, a single one with its host.
func (j Arrivals) rankWords(ranks []int) string {
	if len(ranks) == 1 {
		return rankAt(ranks[0], j.Asked.Hosts[ranks[0]], nil)
	}
	return ranksWord(ranks)
}

// stacksAlone returns the findings of ranks' stacks where no calls are recorded.
func (j Arrivals) stacksAlone() document {
	most, others := j.Majority()
	p := stackPlaces{run: j.Run, others: len(others)}
	for _, s := range j.Stacks {
		p.ranks += len(s.Ranks)
	}
	sure := evidence.Insufficient
	if most != nil {
		p.most, p.alike = stackLine(most), len(most.Ranks)
	}
	if most != nil && len(others) > 0 {
		sure = evidence.Ambiguous
		p.waits = !most.Waits()
		for _, s := range others {
			p.apart, p.waits = append(p.apart, s.Ranks...), p.waits && s.Waits()
		}
		p.owner, p.at, p.further = stackOwner(&others[0]), stackLine(&others[0]), len(p.apart)-len(others[0].Ranks)
	}
	return document{headline{text: sayStacks(&p), level: sure}, stackTable(j.Stacks), prose(sayNextOfStacks(&p)), prose(notedWords(j.Noted))}
}

// notedWords returns what is not known of stacks.
func notedWords(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "Note: " + strings.Join(notes, "; ") + "."
}

// stackOwner returns whose stack it is.
func stackOwner(s *arrivals.Stack) string {
	if len(s.Ranks) == 1 {
		return rankAt(s.Ranks[0], s.Hosts[0], nil)
	}
	return ranksWord(s.Ranks)
}

// stackLine returns the program's line of a stack, with the function that it calls; without such a line the innermost frame.
func stackLine(s *arrivals.Stack) string {
	l := s.Line
	if l.IsZero() || s.Within {
		l = s.Inner
	}
	if l.Call == "" {
		return fmt.Sprintf("%s (%s)", l.Function, l.String())
	}
	return fmt.Sprintf("%s (%s, which calls %s)", l.Function, l.String(), l.Call)
}

// stackTable returns a table of one row for each stack.
func stackTable(stacks []arrivals.Stack) *table.Table {
	t := stackColumns()
	for i := range stacks {
		t.Row(rankItems(stacks[i].Ranks, 0), stackLine(&stacks[i]))
	}
	return t.Tidy()
}

// stackOfMissing returns where the awaited ranks are; "" without a stack.
func (j Arrivals) stackOfMissing() string {
	return j.stacksOf(each(j.Result.Hang.Roots(), func(r arrivals.Root) int { return r.Rank }))
}

// stacksOf returns where ranks are, by their recorded stacks.
func (j Arrivals) stacksOf(ranks []int) (text string) {
	for _, r := range ranks {
		s, ended := j.StackOf(r), j.Ended[r]
		switch {
		case ended != "" && s != nil:
			text += fmt.Sprintf("Rank %d ended with %q in %s. ", r, ended, stackLine(s))
		case ended != "":
			text += fmt.Sprintf("Rank %d ended with %s. ", r, ended)
		case s != nil:
			text += fmt.Sprintf("The main thread of rank %d is in %s. ", r, stackLine(s))
		}
	}
	return text
}

func stackColumns() *table.Table {
	return &table.Table{Caption: "When somebody looked (py-spy, faulthandler), or where it ended.", Columns: []table.Column{
		{Head: "main thread of", Kind: table.List},
		{Head: "is in", Kind: table.Name},
	}}
}
