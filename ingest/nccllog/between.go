package nccllog

import "github.com/sfstat/sfstat/trace/nccl"

// Network is where a Way leads that leaves the machine.
const Network = -1

// Way is the path from one member of a communicator to another on the same machine, or to
// the network.
type Way struct {
	From, To  int32 // ranks in the communicator; To may be Network
	Class     nccl.Link
	Bandwidth float64 // of its narrowest link, GB/s
}

// Ways are the paths between the GPUs of a block, and from each to the network card that
// it reaches best. Where no path leads to a card, every GPU has the fastest card of the machine.
// A device whose rank the block does not tell has no way.
func (b *Block) Ways() []Way {
	ranks := map[Device]int32{}
	for _, n := range b.Nodes {
		if n.Kind == GPUNode && n.Rank >= 0 {
			ranks[n.Device] = n.Rank
		}
	}
	var out, cards []Way
	for i := range b.Paths {
		from, known := rankOf(ranks, b.Paths[i].From)
		if !known {
			continue
		}
		card := Way{From: from, To: Network}
		for _, p := range b.Paths[i].Paths {
			if p.To.Kind == NETNode && p.Bandwidth > card.Bandwidth {
				card.Class, card.Bandwidth = p.Class, p.Bandwidth
			}
			if to, known := rankOf(ranks, p.To); known && to != from {
				out = append(out, Way{from, to, p.Class, p.Bandwidth})
			}
		}
		if card.Bandwidth > 0 {
			cards = append(cards, card)
		}
	}
	if len(cards) == 0 {
		cards = b.cards()
	}
	return append(out, cards...)
}

// cards gives every GPU of the block the fastest network card in it.
func (b *Block) cards() []Way {
	fastest := 0.0
	for _, n := range b.Nodes {
		if n.Kind == NETNode {
			fastest = max(fastest, n.Bandwidth)
		}
	}
	var out []Way
	for _, n := range b.Nodes {
		if n.Kind == GPUNode && n.Rank >= 0 && fastest > 0 {
			out = append(out, Way{n.Rank, Network, nccl.NET, fastest})
		}
	}
	return out
}

// rankOf finds the rank of a GPU.
func rankOf(ranks map[Device]int32, d Device) (int32, bool) {
	if d.Kind != GPUNode {
		return 0, false
	}
	r, ok := ranks[d]
	return r, ok
}
