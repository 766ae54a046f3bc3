package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// Who is missing where a job stands still, and calls whose members disagree: whole sentences.

// sayStandstill states in which call a job stands still, and who is missing from it.
func sayStandstill(h *arrivals.Hang, b *arrivals.Blocked) string {
	if h.Loop {
		return fmt.Sprintf("Hang: %d groups wait for each other in a circle, %s among them.", len(h.Groups), sayCall(b))
	}
	if len(b.Missing) == 0 {
		return "Hang: " + sayNobodyMissing(h, b)
	}
	who, first := missingWords(b), &b.Missing[0]
	switch {
	case first.Dump == arrivals.NoDump && b.GaveUp && len(b.Missing) == 1:
		return fmt.Sprintf("Hang: %s; %s reports nothing.", sayWaitedIn(h, b), who)
	case first.Dump == arrivals.NoDump && b.GaveUp:
		return fmt.Sprintf("Hang: %s; %s report nothing.", sayWaitedIn(h, b), who)
	case first.Dump == arrivals.NoDump:
		return fmt.Sprintf("Hang: all ranks but %s wait in %s; %s.", who, sayCall(b), sayWaited(h, b))
	case first.May:
		return fmt.Sprintf("Hang: %s may never have entered %s; %s.", who, sayCall(b), sayWaited(h, b))
	}
	return fmt.Sprintf("Hang: %s %s", who, sayNotEntered(h, b))
}

// sayNobodyMissing states what is known of a call of which nothing tells who is missing from it.
func sayNobodyMissing(h *arrivals.Hang, b *arrivals.Blocked) string {
	if !b.GaveUp {
		return fmt.Sprintf("%s; the dumps of %s do not show which of them is missing.", sayWaitedIn(h, b), ranksWord(b.Unknown))
	}
	text := sayWaitedIn(h, b) + ". None that reports is behind"
	if len(b.Unknown) > 0 {
		text += "; nothing was reported by " + ranksWord(b.Unknown)
	}
	text += "."
	for _, other := range h.BlockedByFirst() {
		text += fmt.Sprintf(" Meanwhile %s for %s in %s: calls of different groups.", sayWait(ranksWord(other.Waiting), other), missingWords(other), sayCall(other))
	}
	return text
}

func sayWait(who string, b *arrivals.Blocked) string {
	if len(b.Waiting) == 1 {
		return who + " waits"
	}
	return who + " wait"
}

func sayCall(b *arrivals.Blocked) string {
	op := cmp.Or(bareOp(b.Op), "call")
	if b.Seq > 0 {
		op += fmt.Sprintf(" #%d", b.Seq)
	}
	return op + " of " + groupName(b.Group, b.Desc)
}

// sayNotEntered states which call a rank, which stands before it, never entered.
func sayNotEntered(h *arrivals.Hang, b *arrivals.Blocked) string {
	return fmt.Sprintf("never entered %s; %s.", sayCall(b), sayWaited(h, b))
}

func sayWaited(h *arrivals.Hang, b *arrivals.Blocked) string {
	ranks := table.Counted(len(b.Waiting), "rank")
	switch waited := h.Dumped - b.Since; {
	case b.Lasted != 0:
		return fmt.Sprintf("%s waited for %s", ranks, length(b.Lasted))
	case b.Since == 0:
		return ranks + " waiting"
	case waited > int64(time.Second):
		return fmt.Sprintf("%s waited for at least %s, since %s on %s", ranks, length(waited), clockWord(b.Since), dayOf(b.Since))
	}
	return fmt.Sprintf("%s waiting since %s on %s", ranks, clockWord(b.Since), dayOf(b.Since))
}

func sayWaitedIn(h *arrivals.Hang, b *arrivals.Blocked) string {
	text := fmt.Sprintf("%s in %s", sayWait(table.Counted(len(b.Waiting), "rank"), b), sayCall(b))
	switch waited := h.Dumped - b.Since; {
	case b.Lasted != 0:
		return text + fmt.Sprintf(", for %s", length(b.Lasted))
	case b.Since == 0:
		return text
	case waited > int64(time.Second):
		text += fmt.Sprintf(", for at least %s", length(waited))
	}
	return text + fmt.Sprintf(", since %s on %s", clockWord(b.Since), dayOf(b.Since))
}

// sayWhyHang states what is known of who is missing from a call.
func sayWhyHang(b *arrivals.Blocked) string {
	from := lineWithCall(b.Line)
	if len(b.Missing) > 0 {
		return sayAbsence(b, from)
	}
	switch {
	case b.GaveUp && len(b.Waiting) == 1 && b.Numbered():
		return "Nobody else of its group reports: the other members did not enter the call, or their logs are not here."
	case b.GaveUp:
		return "All of them entered the same call, and it did not end: a link, a GPU, or a rank whose log is not here."
	case from != "":
		return fmt.Sprintf("They entered it from %s. Each of the others may be missing from it, or wait in it too.", from)
	}
	return "Each of the others may be missing from it, or wait in it too."
}

// sayAbsence states what is known of the ranks that are missing from a call; from is where the others entered it, "" where that is not
// known.
func sayAbsence(b *arrivals.Blocked, from string) string {
	text, first := "", &b.Missing[0]
	switch {
	case b.GaveUp && first.Dump == arrivals.NoDump:
		return "It may be missing from the call, or its log is not here: how many ranks there are is not known from the others."
	case b.GaveUp && first.Seq > 0:
		op := ""
		if first.Op != "" {
			op = ", " + bareOp(first.Op) + ","
		}
		return fmt.Sprintf("By its own log rank %d got to call #%d there%s and no further.", first.Rank, first.Seq, op)
	case b.GaveUp:
		return "So the ranks that wait say."
	case first.Dump == arrivals.NoDump:
		text = fmt.Sprintf("Nothing of %s was recorded: its process may have failed, or only its dump is lost.", missingWords(b))
		if from != "" {
			text += fmt.Sprintf(" The others entered the call from %s.", from)
		}
	case first.May:
		text = fmt.Sprintf("The dump of rank %d %s, so nothing shows whether it entered; all others did.", first.Rank, sayDump(first.Dump.String()))
		if from != "" {
			text += fmt.Sprintf(" They came from %s.", from)
		}
	case len(b.Missing) == 1:
		return sayLastCall(first, from)
	case from != "":
		text = fmt.Sprintf("The others entered it from %s.", from)
	}
	return text
}

// sayLastCall states what the only rank that is missing from a call entered last.
func sayLastCall(a *arrivals.Absent, from string) string {
	last := "has no call of that group in its dump"
	if a.Op != "" {
		last = fmt.Sprintf("last entered %s #%d there", bareOp(a.Op), a.Seq)
		if line := lineWithCall(a.Line); line != "" {
			last += ", from " + line
		}
	} else if a.Seq > 0 {
		last = fmt.Sprintf("last entered call #%d there, as its dump counts", a.Seq)
	}
	if from != "" {
		last += "; the others came from " + from
	}
	in := "no other group"
	if a.In != "" {
		in = "group " + a.In
	}
	return fmt.Sprintf("Rank %d %s; it waits in %s.", a.Rank, last, in)
}

// sayNextOfNobody states the next action where nothing shows who is missing.
func sayNextOfNobody(b *arrivals.Blocked) string {
	if b.GaveUp {
		return "give the logs of all ranks" + sayNextTime(b) + "."
	}
	return fmt.Sprintf("py-spy dump of %s, or dump their rings again.", ranksWord(b.Unknown))
}

func sayNextTime(b *arrivals.Blocked) string {
	if !b.Numbered() {
		return ""
	}
	return "; for the next time set TORCH_FR_BUFFER_SIZE=20000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1, whose dumps sfstat hang reads"
}

// hangSuspects is who a job waits for, and what is known of them.
type hangSuspects struct {
	who     string
	ended   bool // their process ended, as a log says
	at      bool // somebody looked where they are
	several bool
	in      *arrivals.Blocked
}

func sayNextOfHang(s hangSuspects) string {
	what, hosts, later := "py-spy dump of "+s.who, "its host", ""
	if s.ended {
		what = "find out why it ended"
	} else if s.at {
		what = "read that line"
	}
	if s.several {
		hosts = "their hosts"
	}
	if s.in.GaveUp {
		later = sayNextTime(s.in)
	}
	return fmt.Sprintf("%s; look for Xid errors in the kernel log of %s%s.", what, hosts, later)
}

func sayNoHang(j Arrivals) string {
	switch {
	case len(j.Untold) > 0:
		return fmt.Sprintf("%s: nobody waits, as far as the dumps go; how far %s got is not in them, so a hang is not excluded.", j.Run, ranksWord(j.Untold))
	case j.MidStep:
		return j.Run + ": no hang: some ranks had not entered their last call yet, but the dumps were written in the middle of a step."
	}
	return j.Run + ": no hang: every call that a rank waits in was entered by all members with a dump."
}

func sayRecovered(j Arrivals) string {
	return fmt.Sprintf("%s: no hang any more: %s.", j.Run, strings.Join(j.Recovered[:min(9, len(j.Recovered))], ", "))
}

const whyRecovered = "Steps that stand behind a message were printed after it, unless they were kept in a buffer; give the end of the log if the job stands still now."

// sayMismatch states how the members of a call disagree.
func sayMismatch(m *arrivals.Mismatch) string {
	few, most := &m.Sides[len(m.Sides)-1], &m.Sides[0]
	call, ranks := fmt.Sprintf("call #%d of %s", m.Seq, groupName(m.Group, m.Desc)), ranksWord(few.Ranks)
	switch {
	case m.Difference == arrivals.DifferentStates:
		return fmt.Sprintf("%s is %v on %s and %v on the others.", upper(call), few.State, ranks, most.State)
	case m.Difference == arrivals.UnfitTotals:
		return fmt.Sprintf("Desync: in %s (%s) the members do not receive in all what they send.", call, bareOp(few.Op))
	case m.Difference == arrivals.UnfitSizes:
		return fmt.Sprintf("Desync: in %s the output does not fit the input: %s entered %s.", call, ranks, side(few, m.Difference))
	case len(m.Sides) == 1:
		return fmt.Sprintf("Desync: %s has an output of another type than its input: %s entered %s.", call, ranks, side(few, m.Difference))
	}
	return fmt.Sprintf("Desync: %s differs in its %v: %s entered %s, the others %s.", call, m.Difference, ranks, side(few, m.Difference), side(most, m.Difference))
}
