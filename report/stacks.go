package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

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
			stackTable(j.Stacks), prose("Next: " + dumpEntries + ".")}
	case len(others) == 0:
		return document{headline{fmt.Sprintf("%s: %s, all in %s: stacks do not show whom they wait for.", j.Run, counted(n, "rank"), standsIn(most)), evidence.Insufficient},
			stackTable(j.Stacks), prose("Next: look at ranks without a stack; " + dumpEntries + ".")}
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
		prose("A stack is of one moment. Next: dump " + someRanks(apart) + " again after a minute; if nothing moved, that is the culprit. " + upper(dumpEntries) + ".")}
}

const dumpEntries = "dumps of PyTorch's Flight Recorder beside these show who is missing in which call"

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
	t := &table.Table{Columns: []table.Column{{Head: "main thread of", Kind: table.List}, {Head: "is in", Kind: table.Name}}, Caption: "By py-spy, when it was run."}
	for i := range stacks {
		t.Add(table.ListCell(rankItems(stacks[i].Ranks, 0)), table.TextCell(standsIn(&stacks[i])))
	}
	return t.Tidy()
}

// stackOfMissing is where the ranks are for which the others wait; "" where nobody looked.
func (j Arrivals) stackOfMissing() (text string) {
	for _, r := range j.Result.Hang.Roots() {
		if s := j.StackOf(r.Rank); s != nil {
			text += fmt.Sprintf("The main thread of rank %d is in %s. ", r.Rank, standsIn(s))
		}
	}
	return text
}
