package nccllog

import (
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// ways are the paths between the GPUs of a block, and from each to the network card that
// it reaches best. Where no path leads to a card, every GPU has the fastest card of the machine.
// A device whose rank the block does not tell has no way.
func (b *block) ways() []comms.Path {
	ranks := map[logline.Device]int32{}
	for _, n := range b.nodes {
		if n.Kind == nccl.GPU && n.rank >= 0 {
			ranks[n.Device] = n.rank
		}
	}
	var out, cards []comms.Path
	for i := range b.paths {
		from, known := rankOf(ranks, b.paths[i].from)
		if !known {
			continue
		}
		card := comms.Path{Group: b.group, From: int(from), To: comms.ToNetwork}
		for _, p := range b.paths[i].paths {
			if p.To.Kind == nccl.NetworkPort && p.Bandwidth > card.Bandwidth {
				card.Class, card.Bandwidth = p.Class, p.Bandwidth
			}
			if to, known := rankOf(ranks, p.To); known && to != from {
				out = append(out, comms.Path{Group: b.group, From: int(from), To: int(to), Class: p.Class, Bandwidth: p.Bandwidth})
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
func (b *block) cards() []comms.Path {
	fastest := 0.0
	for _, n := range b.nodes {
		if n.Kind == nccl.NetworkPort {
			fastest = max(fastest, n.bandwidth)
		}
	}
	var out []comms.Path
	for _, n := range b.nodes {
		if n.Kind == nccl.GPU && n.rank >= 0 && fastest > 0 {
			out = append(out, comms.Path{Group: b.group, From: int(n.rank), To: comms.ToNetwork, Class: nccl.NET, Bandwidth: fastest})
		}
	}
	return out
}

// rankOf finds the rank of a GPU.
func rankOf(ranks map[logline.Device]int32, d logline.Device) (int32, bool) {
	if d.Kind != nccl.GPU {
		return 0, false
	}
	r, ok := ranks[d]
	return r, ok
}
