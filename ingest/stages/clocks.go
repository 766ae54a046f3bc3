package stages

import (
	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/profile"
)

// clocks brings the clocks of ranks together: by the ends of collectives on the
// device, else by sends and receives.
func clocks(ranks []*profile.Rank, m *matching) []clock.Placed {
	e := clock.Events{Hosts: make([]string, len(ranks))}
	for i, r := range ranks {
		e.Hosts[i] = r.Host
	}
	for _, set := range m.sets[:m.collectives] {
		var ends []clock.Reading
		for _, each := range set {
			if ranks[each.Process].Comm.Calls[each.Call].Kernel != comms.None {
				_, end := ran(ranks, each)
				ends = append(ends, clock.Reading{Clock: int(each.Process), At: end})
			}
		}
		e.Ends = append(e.Ends, ends)
	}
	for _, msg := range m.messages {
		sent, _ := ran(ranks, msg.from)
		_, received := ran(ranks, msg.to)
		e.Messages = append(e.Messages, clock.Message{From: int(msg.from.Process), To: int(msg.to.Process), Sent: sent, Received: received})
	}
	return clock.Align(len(ranks), e)
}
