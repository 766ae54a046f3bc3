package profile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Message is one of the messages that a kernel or a call sends or receives.
type Message struct {
	Sends bool // else it receives
	Peer  int  // as Collective.Peer
}

// messages are those of a collective, none where its peers are not known.
func (c *Collective) messages() []Message {
	switch {
	case c.Messages != nil:
		return c.Messages
	case c.Peer < 0 || c.Op != Send && c.Op != Recv:
		return nil
	}
	return []Message{{Sends: c.Op == Send, Peer: c.Peer}}
}

// global is the rank that a peer is, −1: not known. Without a list of members
// a position is a rank where that of the caller is its own.
func (c *Collective) global(peer int, caller *Rank) int {
	switch {
	case c.Self < 0:
		return peer
	case peer < len(c.Ranks):
		return c.Ranks[peer]
	case len(c.Ranks) == 0 && c.Self == caller.ID:
		return peer
	}
	return -1
}

// ends reads the positions in the name of a transfer: "nccl:send 0->1",
// "nccl:recv 1<-0"; −1: it has none.
func ends(name string) (self, peer int) {
	for _, arrow := range [...]string{"->", "<-"} {
		before, after, found := strings.Cut(name, arrow)
		if !found {
			continue
		}
		self, errSelf := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:])
		peer, errPeer := strconv.Atoi(strings.TrimSpace(after))
		if errSelf == nil && errPeer == nil && self >= 0 && peer >= 0 && self != peer {
			return self, peer
		}
	}
	return -1, -1
}

// longestBatch is how long before a kernel is launched its messages are called
// at most, ns.
const longestBatch = 10_000_000

// adopt gives kernels that carry several messages those that were called, as a
// batch, before they were launched and led to no kernel of their own.
func (b *Builder) adopt() {
	var kernels []*Collective
	for i := range b.collectives {
		if c := &b.collectives[i]; c.OnDevice && c.Op == SendRecv && c.Peer < 0 {
			kernels = append(kernels, c)
		}
	}
	slices.SortStableFunc(kernels, func(x, y *Collective) int { return cmp.Compare(x.Launch, y.Launch) })
	next := 0
	for _, k := range kernels {
		for ; next < len(b.calls.all) && b.calls.all[next].start <= k.Launch; next++ {
			short := &b.calls.all[next]
			c := b.calls.full(short)
			op := OperationOf(c.Name)
			if short.used || c.Peer < 0 || c.End < k.Launch-longestBatch || op != Send && op != Recv {
				continue
			}
			short.used = true
			if k.Group == "" && k.Ranks == nil || k.Group == c.Group {
				k.Group, k.Desc, k.Ranks, k.Size, k.Self = c.Group, c.Desc, c.Ranks, c.Size, c.Self
				k.Messages = append(k.Messages, Message{Sends: op == Send, Peer: c.Peer})
			}
		}
	}
}

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
func (m *matching) matchMessages(ranks []*Rank) {
	found := make(map[edge]*edgeEnds)
	var edges []edge // in order of appearance
	for r, rank := range ranks {
		groups := make(map[*int]string)
		for _, i := range byStart(rank.Collectives) {
			c := &rank.Collectives[i]
			if c.Step < 0 || !c.Op.PointToPoint() {
				continue
			}
			for _, msg := range c.messages() {
				e := edge{group: c.groupKey(groups), from: rank.ID, to: c.global(msg.Peer, rank), step: rank.Steps[c.Step].Index}
				if !msg.Sends {
					e.from, e.to = e.to, e.from
				}
				if found[e] == nil {
					found[e] = &edgeEnds{}
					edges = append(edges, e)
				}
				if msg.Sends {
					found[e].sent = append(found[e].sent, member{r, i})
				} else {
					found[e].received = append(found[e].received, member{r, i})
				}
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
	m.partners, m.between = make(map[member][]member), make(map[pair][]int)
	add := func(of, partner member) {
		if !slices.Contains(m.partners[of], partner) {
			m.partners[of] = append(m.partners[of], partner)
		}
	}
	for i, msg := range m.messages {
		add(msg.from, msg.to)
		add(msg.to, msg.from)
		between := pair{msg.from.rank, msg.to.rank}.sorted()
		m.between[between] = append(m.between[between], i)
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
