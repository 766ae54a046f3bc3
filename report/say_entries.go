package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// Sentences about the evidence of entries, calls and kernels of communication: without a full stop.

func sayLastToEnter(e evidence.LastToEnter) string {
	if e.Source != evidence.FromArrivals {
		text := fmt.Sprintf("%s; %s if all %d ranks were alike", sayEntersLast(e), pValue(e.P), e.Among)
		if e.Own > 0 {
			text += fmt.Sprintf("; own delay beyond the median rank's: %s in total; it waited %s for others, and its collectives transferred for %s",
				length(e.Own), length(e.Waited), length(e.Transfer))
		}
		return text
	}
	how := fmt.Sprintf("last to enter %d", e.N)
	if 2*e.N < e.Strikes {
		how = fmt.Sprintf("late by its own work before %d", e.Strikes)
	}
	text := fmt.Sprintf("%s of %d %s of %s, %s; ", how, e.Of, e.Op, groupWord(e.Group), pValue(e.P))
	switch {
	case e.Line == nil && e.After == nil:
		return text + length(e.Delay) + " of it its own delay"
	case e.After == nil:
		return text + fmt.Sprintf("its own delay of %s is before %s", length(e.Delay), sourceWord(e.Line))
	case e.Line == nil:
		return text + fmt.Sprintf("its own delay of %s is after %s", length(e.Delay), sourceWord(e.After))
	}
	return text + fmt.Sprintf("its own delay of %s is between %s and %s", length(e.Delay), sourceWord(e.After), sourceWord(e.Line))
}

func sayEntersLast(e evidence.LastToEnter) string {
	return fmt.Sprintf("last to enter %d of %s, with an own delay of %s (median); %s of the recording in total", e.N, table.Counted(e.Of, "collective"), length(e.Delay), fraction(e.Share))
}

func sayNeverEntered(e evidence.NeverEntered) string {
	text := sayMissingFrom(e)
	if e.Stack != nil {
		text += "; its main thread is in " + sourceWord(e.Stack)
	}
	return text
}

// sayMissingFrom states what is known of a rank that is missing from a call.
func sayMissingFrom(e evidence.NeverEntered) string {
	switch {
	case e.GaveUp && e.Rank < 0:
		return "all that report entered the same call, and it did not end: a link, a GPU, or a rank whose log is not here"
	case e.GaveUp && e.NoDump:
		return "it may be missing from the call, or its log is not here"
	case e.GaveUp && e.LastN > 0:
		return fmt.Sprintf("by its own log it got to call #%d there and no further", e.LastN)
	case e.GaveUp:
		return "so the ranks that wait say"
	case e.Rank < 0:
		return fmt.Sprintf("each of %s may be missing from it: their dumps are lost or do not show whether they entered", ranksWord(e.Unknown))
	case e.Dump != "":
		return fmt.Sprintf("its dump %s, so nothing shows whether it entered; all others did", sayDump(e.Dump))
	case e.NoDump:
		return "all other ranks wait in it, and of this rank there is no dump"
	}
	text := "it has no call of that group in its dump"
	if e.LastN >= 0 && e.LastOp != "" {
		text = fmt.Sprintf("it last entered %s #%d there", e.LastOp, e.LastN)
		if e.Last != nil {
			text += ", from " + sourceWord(e.Last)
		}
	} else if e.LastN > 0 {
		text = fmt.Sprintf("it last entered call #%d there, as its dump counts", e.LastN)
	}
	if e.At != nil {
		text += "; the others came from " + sourceWord(e.At)
	}
	if e.In == "" {
		return text + "; it waits in no other group"
	}
	return text + "; it waits in group " + e.In
}

// sayDump states why a dump does not show whether its rank entered a call.
func sayDump(state string) string {
	switch state {
	case "cut":
		return "ends in the middle, before that call"
	case "damaged":
		return "is damaged"
	case "empty":
		return "has no entries"
	case "overwritten":
		return "has lost its calls of that group"
	case "older":
		return "is older than the wait of the others"
	}
	return ""
}

func sayEnteredDifferently(e evidence.EnteredDifferently) string {
	return fmt.Sprintf("%s entered call #%d of %s as %s, %s as %s", ranksWord(e.Ranks), e.N, groupWord(e.Group), callOf(e.Op, e.Sizes, e.Types, e.Difference),
		ranksWord(e.Others), callOf(e.OthersOp, e.OthersSizes, e.OthersTypes, e.Difference))
}

func sayLateBehindMessages(e evidence.LateBehindMessages) string {
	return fmt.Sprintf("%s arrive %s after the others, together; what they send and receive is not recorded, so which of them began it is not known", ranksWord(e.Ranks), length(e.Delay))
}

func saySlowLink(e evidence.SlowLink) string {
	if e.Elsewhere {
		return "not reported, because calls and kernels of NCCL explain it: " + saySlow(e)
	}
	text := saySlow(e) + measuredFromLast
	if e.From > 0 {
		text += fmt.Sprintf("; smaller messages are as fast as those of the others: the fault begins at %s", binaryBytes(e.From))
	}
	if e.AllOfKind > 0 {
		text += fmt.Sprintf("; all %d links of that kind that could be compared are slow, and no other", e.AllOfKind)
	} else if e.AnyLinkOf {
		text += "; a collective is only as fast as its slowest link, so collectives alone cannot show which link it is"
	}
	return text
}

const measuredFromLast = "; measured from the last rank's start, so that no arrival skew is in it"

func saySlow(e evidence.SlowLink) string {
	others := fmt.Sprintf("the %d others like it reach", e.Peers)
	if e.Peers == 1 {
		others = "the only other like it reaches"
	}
	text := fmt.Sprintf("%s of %s at %s, %s of what %s", e.Op, binaryBytes(e.Bytes), rate(e.Bandwidth), fraction(e.Bandwidth/e.PeersHave), others)
	if e.Limit > 0 {
		text += fmt.Sprintf(" and %s of its limit (%s %s)", fraction(e.Reaches), e.Link, rate(e.Limit))
	}
	return text
}

func sayBandwidth(e evidence.Bandwidth) string {
	what := e.Op
	switch {
	case e.Message == evidence.OneWay:
		what = fmt.Sprintf("messages from rank %d to %d", e.Ranks[0], e.Ranks[1])
	case e.Message == evidence.BothWays:
		what = fmt.Sprintf("messages between ranks %d and %d, both ways at once", e.Ranks[0], e.Ranks[1])
	case len(e.Ranks) > 0:
		what += " on ranks " + trace.RankList(e.Ranks)
	}
	others := fmt.Sprintf("the median of %d others", e.Peers)
	if e.Peers == 1 {
		others = "the other"
	}
	text := fmt.Sprintf("%s, from %s: %s over %s, %s %s; %s were links alike", what, binaryBytes(e.Bytes), rate(e.Bandwidth), table.Counted(e.Calls, "call"), others, rate(e.PeersHave), pValue(e.P))
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more comparisons", e.More)
	}
	return text
}

// linkName names a link or communicator: "the link between ranks 1 and 5 (node0 and node1)".
func linkName(s evidence.Subject) string {
	hosts, both := strings.Join(s.Hosts, ", "), strings.Join(s.Hosts, " and ")
	if len(s.Hosts) > 4 {
		hosts = fmt.Sprintf("%d hosts", len(s.Hosts))
	}
	on := ""
	if hosts != "" {
		on = fmt.Sprintf(" (%s)", hosts)
	}
	switch s.Scope {
	case evidence.OfHost:
		return "the network of " + hosts
	case evidence.OfHosts:
		return "the network between " + both
	case evidence.OfRank:
		return fmt.Sprintf("the link of rank %d%s to all others", s.Ranks[0], on)
	case evidence.OfPair:
		switch len(s.Hosts) {
		case 0:
			on = ""
		case 1:
			on = fmt.Sprintf(" (on %s)", both)
		default:
			on = fmt.Sprintf(" (%s)", both)
		}
		return fmt.Sprintf("the link between ranks %d and %d%s", s.Ranks[0], s.Ranks[1], on)
	}
	called := ""
	if s.Called != "" {
		called = s.Called + " "
	}
	return fmt.Sprintf("the %scommunicator of ranks %s%s", called, trace.RankList(s.Ranks), on)
}
