package profile

import "github.com/sfstat/sfstat/trace/nccl"

// Message is one of the messages that a kernel or a call sends or receives.
type Message struct {
	Sends bool // else it receives
	Peer  int  // as Collective.Peer
}

// Exchanged are the messages of a collective, none where its peers are not known.
func (c *Collective) Exchanged() []Message {
	switch {
	case c.Messages != nil:
		return c.Messages
	case c.Peer < 0 || c.Op != nccl.Send && c.Op != nccl.Recv:
		return nil
	}
	return []Message{{Sends: c.Op == nccl.Send, Peer: c.Peer}}
}

// PeerRank is the rank that a peer is, −1: not known. Without a list of members
// a position is a rank where that of the caller is its own.
func (c *Collective) PeerRank(peer int, caller *Rank) int {
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
