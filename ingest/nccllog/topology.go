package nccllog

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// block is the topology that one rank printed for one communicator.
type block struct {
	group int // of Builder.groups, None where no line tells
	nodes []node
	paths []pathRow
}

// node is a device, or another mention of one: links lead to devices that stand
// elsewhere in the block.
type node struct {
	logline.Device
	parent    int // index of nodes; None at the top
	link      nccl.Link
	bandwidth float64 // of that link, GB/s
	rank      int32   // GPU: in the communicator, -1 for a mention
}

// pathRow is all paths from one device.
type pathRow struct {
	from  logline.Device
	paths []logline.Path
}

// open is a device of the block under which others may stand.
type open struct {
	node   int
	indent int // of what stands under it
}

// topology takes a line of a block, or of the paths behind it.
func (b *Builder) topology(p int, r *logline.Record) {
	t, item := b.thread(p, r), &r.Topology
	if item.Kind == logline.BlockStart {
		t.startBlock(b)
		return
	}
	if t.block == comms.None { // the log begins inside a block
		t.startBlock(b)
	}
	block := &b.blocks[t.block]
	switch item.Kind {
	case logline.PathItem:
		block.paths = append(block.paths, pathRow{item.Device, item.Paths})
		b.held += int64(len(item.Paths)) * pathBytes
	case logline.NodeItem:
		t.node(block, item)
		b.held += nodeBytes
	}
}

func (t *thread) startBlock(b *Builder) {
	group := t.group
	if group != comms.None && b.groups[group].Step >= logline.Completed {
		group = comms.None // of the next one
	}
	t.block, t.parents = len(b.blocks), t.parents[:0]
	b.blocks = append(b.blocks, block{group: group})
	b.held += nodeBytes
}

func (t *thread) closeBlock() { t.block, t.parents = comms.None, t.parents[:0] }

// node puts a device under the last one that stands less far in.
func (t *thread) node(block *block, item *logline.TopologyItem) {
	n := node{Device: item.Device, parent: comms.None, link: item.Link, bandwidth: item.Bandwidth, rank: item.Rank}
	if item.Width == 0 { // no link: the top of a tree
		t.parents = t.parents[:0]
	}
	for len(t.parents) > 0 && t.parents[len(t.parents)-1].indent > item.Indent {
		t.parents = t.parents[:len(t.parents)-1]
	}
	if len(t.parents) > 0 {
		n.parent = t.parents[len(t.parents)-1].node
	}
	block.nodes = append(block.nodes, n)
	t.parents = append(t.parents, open{len(block.nodes) - 1, item.Indent + item.Width})
}

// links returns the links of every host, from the block that shows most of its GPUs, of equals the first: blocks are trimmed to the GPUs of
// their communicator.
func (b *Builder) links() (list []comms.Link) {
	best := map[string]int{} // by host, index of blocks
	var hosts []string
	for i := range b.blocks {
		x := &b.blocks[i]
		if x.group == comms.None {
			continue
		}
		host := b.comm.Processes[b.comm.Groups[x.group].Process].Host
		old, known := best[host]
		if !known {
			hosts = append(hosts, host)
		}
		if !known || len(x.ranks()) > len(b.blocks[old].ranks()) {
			best[host] = i
		}
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		list = append(list, b.blocks[best[h]].links()...)
	}
	return list
}

// ranks returns the GPUs of the communicator that the block shows, with their ranks in it.
func (b *block) ranks() map[logline.Device]int {
	ranks := map[logline.Device]int{}
	for _, n := range b.nodes {
		if n.rank >= 0 {
			ranks[n.Device] = int(n.rank)
		}
	}
	return ranks
}

// links returns the links that the block draws, each once: both its ends name it.
func (b *block) links() (list []comms.Link) {
	rank := b.ranks()
	device := func(d logline.Device) comms.Device {
		r, known := rank[d]
		if !known {
			r = -1
		}
		return comms.Device{Kind: d.Kind, Name: d.String(), Rank: r}
	}
	type key struct {
		a, b logline.Device
		link nccl.Link
	}
	seen := map[key]bool{}
	for _, n := range b.nodes {
		if n.parent == comms.None {
			continue
		}
		x, y := b.nodes[n.parent].Device, n.Device
		k := key{x, y, n.link}
		if compareDevices(y, x) {
			k = key{y, x, n.link}
		}
		if !seen[k] {
			seen[k] = true
			list = append(list, comms.Link{Group: b.group, From: device(x), To: device(y), Class: n.link, Bandwidth: n.bandwidth})
		}
	}
	return list
}

// compareDevices orders devices.
func compareDevices(x, y logline.Device) bool {
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.System, y.System), cmp.Compare(x.ID, y.ID)) < 0
}

// ways returns the paths between the GPUs of a block, and from each to the network card that
// it reaches best. Where no path leads to a card, every GPU has the fastest card of the machine.
// A device whose rank the block does not tell has no way.
func (b *block) ways() []comms.Path {
	ranks := b.ranks()
	var out, cards []comms.Path
	for i := range b.paths {
		from, known := ranks[b.paths[i].from]
		if !known {
			continue
		}
		card := comms.Path{Group: b.group, From: from, To: comms.ToNetwork}
		for _, p := range b.paths[i].paths {
			if p.To.Kind == nccl.NetworkPort && p.Bandwidth > card.Bandwidth {
				card.Class, card.Bandwidth = p.Class, p.Bandwidth
			}
			if to, known := ranks[p.To]; known && to != from {
				out = append(out, comms.Path{Group: b.group, From: from, To: to, Class: p.Class, Bandwidth: p.Bandwidth})
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
		if n.rank >= 0 && fastest > 0 {
			out = append(out, comms.Path{Group: b.group, From: int(n.rank), To: comms.ToNetwork, Class: nccl.NET, Bandwidth: fastest})
		}
	}
	return out
}
