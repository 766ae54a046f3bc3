package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

func enteredDifferently(e evidence.EnteredDifferently) string {
	return fmt.Sprintf("%s entered call #%d of %s as %s, %s as %s", ranksWord(e.Ranks), e.N, groupWord(e.Group), callOf(e.Op, e.Sizes, e.Types, e.Difference),
		ranksWord(e.Others), callOf(e.OthersOp, e.OthersSizes, e.OthersTypes, e.Difference))
}

func lateBehindMessages(e evidence.LateBehindMessages) string {
	return fmt.Sprintf("%s arrive %s after the others, together; what they send and receive is not recorded, so which of them began it is not known",
		ranksWord(e.Ranks), length(float64(e.Delay)))
}

// groupWord is a group by its description, or "group 2" where it has but a number.
func groupWord(name string) string {
	if strings.Trim(name, "0123456789") == "" {
		return "group " + name
	}
	return name
}

func enteredLast(e evidence.LastToEnter) string {
	text := fmt.Sprintf("last to enter %d of %d %s of %s, %s", e.N, e.Of, e.Op, groupWord(e.Group), pValue(e.P))
	if 2*e.N < e.Strikes { // those behind it in a chain are later
		text = fmt.Sprintf("late by its own work before %d of %d %s of %s, %s", e.Strikes, e.Of, e.Op, groupWord(e.Group), pValue(e.P))
	}
	switch own := "; its own delay of " + length(float64(e.Delay)) + " is "; {
	case e.Line != nil && e.After != nil:
		text += own + "between " + sourceWord(e.After) + " and " + sourceWord(e.Line)
	case e.Line != nil:
		text += own + "before " + sourceWord(e.Line)
	case e.After != nil:
		text += own + "after " + sourceWord(e.After)
	default:
		text += fmt.Sprintf("; %s of it its own delay", length(float64(e.Delay)))
	}
	return text
}

// sourceWord is a line as people write it: "train.py:66 (backward)".
func sourceWord(s *evidence.SourceLine) string {
	text := s.Short()
	if s.Call != "" {
		text += fmt.Sprintf(" (%s)", s.Call)
	}
	return text
}

// lineWord is what a line calls, and where it stands: "sleep, train.py:40".
func lineWord(s *evidence.SourceLine) string {
	if s.Call == "" {
		return sourceWord(s)
	}
	return fmt.Sprintf("%s, %s", s.Call, s.Short())
}

func callOf(op, sizes, types, difference string) string {
	switch difference {
	case "sizes", "input_and_output", "totals":
		return op + " of " + sizes
	case "types":
		return op + " of " + types
	}
	return op
}

func neverEntered(e evidence.NeverEntered) string {
	stack := ""
	if e.Stack != nil {
		stack = "; its main thread is in " + sourceWord(e.Stack)
	}
	if e.NoDump {
		return "all other ranks wait in it, and of this rank there is no dump" + stack
	}
	text := "it has no call of that group in its dump"
	if e.LastN >= 0 && e.LastOp != "" {
		text = fmt.Sprintf("it last entered %s #%d there", e.LastOp, e.LastN)
		if e.Last != nil {
			text += ", from " + sourceWord(e.Last)
		}
	}
	if e.At != nil {
		text += fmt.Sprintf("; the others came from %s", sourceWord(e.At))
	}
	if e.In != "" {
		return text + fmt.Sprintf("; it waits in group %s", e.In) + stack
	}
	return text + "; it waits in no other group" + stack
}

// missingWhat is the headline of a job that stands still.
func missingWhat(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.NeverEntered](f.Evidence)
	if !ok {
		return ""
	}
	waits := counted(len(e.Waiting), "rank") + " waiting"
	if e.Since != 0 {
		waits += " since " + time.Unix(0, e.Since).UTC().Format("15:04:05 UTC")
	}
	if e.Since != 0 && e.AtLeast > int64(time.Second) {
		waits = fmt.Sprintf("%s waiting for at least %s", counted(len(e.Waiting), "rank"), length(float64(e.AtLeast)))
	}
	who, _ := subject(f.Who())
	if e.NoDump {
		return fmt.Sprintf("Hang: all ranks but %s wait in %s #%d of %s; %s", who, e.Op, e.N, groupWord(e.Group), waits)
	}
	return fmt.Sprintf("Hang: %s never entered %s #%d of %s; %s", who, e.Op, e.N, groupWord(e.Group), waits)
}

// desyncWhat is the headline of ranks that entered different calls.
func desyncWhat(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.EnteredDifferently](f.Evidence)
	if !ok {
		return ""
	}
	return "Desync: " + enteredDifferently(e)
}
