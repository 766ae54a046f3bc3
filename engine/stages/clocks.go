package stages

import (
	"github.com/sfstat/sfstat/engine/clock"
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
			if c := &ranks[each.rank].Collectives[each.collective]; c.OnDevice {
				ends = append(ends, clock.Reading{Clock: each.rank, At: c.End})
			}
		}
		e.Ends = append(e.Ends, ends)
	}
	for _, msg := range m.messages {
		e.Messages = append(e.Messages, clock.Message{From: msg.from.rank, To: msg.to.rank,
			Sent: ranks[msg.from.rank].Collectives[msg.from.collective].Start, Received: ranks[msg.to.rank].Collectives[msg.to.collective].End})
	}
	return clock.Align(len(ranks), e)
}
