package report

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// lastToEnter is how often a rank enters collectives last, and by how much of its own.
func lastToEnter(e evidence.LastToEnter) string {
	if e.Source == evidence.FromArrivals {
		return enteredLast(e)
	}
	text := enterWords(e) + fmt.Sprintf("; %s if all %d ranks were alike", pValue(e.P), e.Among)
	if e.Own > 0 {
		text += fmt.Sprintf("; own delay beyond the median rank's: %s in total; it waited %s for others, and its collectives transferred for %s",
			length(float64(e.Own)), length(float64(e.Waited)), length(float64(e.Transfer)))
	}
	return text
}

func slowLink(e evidence.SlowLink) string {
	if e.Elsewhere {
		return "not reported, because calls and kernels of NCCL explain it: " + linkWords(e)
	}
	text := linkWords(e) + "; measured from the last rank's start, so that no arrival skew is in it"
	if e.From > 0 {
		text += fmt.Sprintf("; smaller messages are as fast as those of the others: the fault begins at %s", binaryBytes(e.From))
	}
	switch {
	case e.AllOfKind > 0:
		text += fmt.Sprintf("; all %d links of that kind that could be compared are slow, and no other", e.AllOfKind)
	case e.AnyLinkOf:
		text += "; a collective is only as fast as its slowest link, so collectives alone cannot show which link it is"
	}
	return text
}

func enterWords(e evidence.LastToEnter) string {
	return fmt.Sprintf("last to enter %d of %s, with an own delay of %s (median); %s of the recording in total", e.N, counted(e.Of, "collective"), length(float64(e.Delay)), about(e.Share))
}

// linkName names a link or communicator: "the link between ranks 1 and 5 (node0
// and node1)".
func linkName(s evidence.Subject) string {
	hosts := strings.Join(s.Hosts, ", ")
	if len(s.Hosts) > 4 {
		hosts = fmt.Sprintf("%d hosts", len(s.Hosts))
	}
	at := ""
	if hosts != "" {
		at = fmt.Sprintf(" (%s)", hosts)
	}
	switch s.Scope {
	case evidence.OfHost:
		return "the network of " + hosts
	case evidence.OfHosts:
		return "the network between " + strings.Join(s.Hosts, " and ")
	case evidence.OfRank:
		return fmt.Sprintf("the link of rank %d%s to all others", s.Ranks[0], at)
	case evidence.OfPair:
		if len(s.Hosts) == 1 {
			at = fmt.Sprintf(" (on %s)", hosts)
		} else if at != "" {
			at = fmt.Sprintf(" (%s)", strings.Join(s.Hosts, " and "))
		}
		return fmt.Sprintf("the link between ranks %d and %d%s", s.Ranks[0], s.Ranks[1], at)
	}
	kind := ""
	if s.Called != "" {
		kind = s.Called + " "
	}
	return fmt.Sprintf("the %scommunicator of ranks %s%s", kind, trace.RankList(s.Ranks), at)
}

// linkWords say how slow a link is.
func linkWords(e evidence.SlowLink) string {
	others := fmt.Sprintf("the %d others like it reach", e.Peers)
	if e.Peers == 1 {
		others = "the only other like it reaches"
	}
	text := fmt.Sprintf("%s of %s at %s, %s of what %s", e.Op, binaryBytes(e.Bytes), rate(e.Bandwidth), about(e.Bandwidth/e.PeersHave), others)
	if e.Limit > 0 {
		text += fmt.Sprintf(" and %s of its limit (%s %s)", about(e.Reaches), e.Link, rate(e.Limit))
	}
	return text
}

func bandwidthWords(e evidence.Bandwidth) string {
	name := e.Op
	switch {
	case e.Message == evidence.OneWay:
		name = fmt.Sprintf("messages from rank %d to %d", e.Ranks[0], e.Ranks[1])
	case e.Message == evidence.BothWays:
		name = fmt.Sprintf("messages between ranks %d and %d, both ways at once", e.Ranks[0], e.Ranks[1])
	case len(e.Ranks) > 0:
		name += " on ranks " + trace.RankList(e.Ranks)
	}
	others := fmt.Sprintf("the median of %d others", e.Peers)
	if e.Peers == 1 {
		others = "the other"
	}
	text := fmt.Sprintf("%s, from %s: %s over %s, %s %s; %s were links alike",
		name, binaryBytes(e.Bytes), rate(e.Bandwidth), counted(e.Calls, "call"), others, rate(e.PeersHave), pValue(e.P))
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more comparisons", e.More)
	}
	return text
}

// rate writes bytes per nanosecond.
func rate(f float64) string {
	switch {
	case !table.Finite(f):
		return table.Absent + " GB/s"
	case f >= 100:
		return fmt.Sprintf("%.0f GB/s", f)
	}
	return fmt.Sprintf("%.3g GB/s", f)
}

// binaryBytes writes a size class: "32 MiB".
func binaryBytes(n int64) string { return binarySize(max(0, bits.Len64(uint64(n))-1)) }
