package stages

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// message is one that was found at both of its ends.
type message struct{ from, to member }

// edge is a way that messages go in a step; those of one edge come in the order
// in which they were sent.
type edge struct {
	group    string
	from, to int
	step     int64
}

// edgeEnds are the messages of an edge as its two ranks have them.
type edgeEnds struct{ sent, received []member }

// matchMessages finds the sends and receives that are one message: by group,
// ranks and direction, in the order of the step. Where a rank sends another
// number in a step than its peer receives, that edge is left out: which belongs
// to which cannot be told.
func (m *matching) matchMessages(ranks []*profile.Rank) {
	found := make(map[edge]*edgeEnds)
	var edges []edge // in order of appearance
	for r, rank := range ranks {
		groups, pieces := rank.GroupKeys(), rank.Pieces()
		for _, i := range byStart(rank) {
			c := &rank.Comm.Calls[i]
			if c.Step < 0 || c.Peer < 0 || c.Op != nccl.Send && c.Op != nccl.Recv {
				continue
			}
			e := edge{group: groups[c.Group], from: rank.ID, to: rank.PeerRank(c), step: c.Step}
			if c.Op == nccl.Recv {
				e.from, e.to = e.to, e.from
			}
			if found[e] == nil {
				found[e] = &edgeEnds{}
				edges = append(edges, e)
			}
			if own := (member{r, pieces[i]}); c.Op == nccl.Send {
				found[e].sent = append(found[e].sent, own)
			} else {
				found[e].received = append(found[e].received, own)
			}
		}
	}
	for _, e := range edges {
		at := found[e]
		if e.from < 0 || e.from == e.to || len(at.sent) != len(at.received) {
			continue
		}
		for k := range at.sent {
			m.messages = append(m.messages, message{at.sent[k], at.received[k]})
		}
	}
	m.joinMessages()
}

// joinMessages makes sets of two of the calls that have each other as their
// only partner; what exchanges messages with several has partners.
func (m *matching) joinMessages() {
	m.partners = make(map[member][]member)
	add := func(of, partner member) {
		if !slices.Contains(m.partners[of], partner) {
			m.partners[of] = append(m.partners[of], partner)
		}
	}
	for _, msg := range m.messages {
		add(msg.from, msg.to)
		add(msg.to, msg.from)
	}
	for _, msg := range m.messages {
		a, b := msg.from, msg.to
		if m.of[a.rank][a.collective] >= 0 || len(m.partners[a]) != 1 || len(m.partners[b]) != 1 {
			continue
		}
		m.of[a.rank][a.collective], m.of[b.rank][b.collective] = int32(len(m.sets)), int32(len(m.sets))
		set := []member{a, b}
		slices.SortFunc(set, func(x, y member) int { return x.rank - y.rank })
		m.sets = append(m.sets, set)
	}
}

// found reports whether all members of a collective are known.
func (m *matching) found(rank, collective int) bool {
	return m.of[rank][collective] >= 0 || len(m.partners[member{rank, collective}]) > 0
}

// collective reports whether a set is of a collective, and not of a message.
func (m *matching) collective(set int32) bool { return int(set) < m.collectives }
