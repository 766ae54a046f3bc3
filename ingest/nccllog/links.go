package nccllog

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// links are those of every host, from the block that shows most of its GPUs, of equals the first: blocks are trimmed to the GPUs of
// their communicator.
func (b *Builder) links() (list []comms.Link) {
	best := map[string]int{} // by host, index of blocks
	var hosts []string
	for i := range b.blocks {
		x := &b.blocks[i]
		if x.group == comms.None {
			continue
		}
		host := b.processes[b.groups[x.group].process].host
		old, known := best[host]
		if !known {
			hosts = append(hosts, host)
		}
		if !known || x.gpus() > b.blocks[old].gpus() {
			best[host] = i
		}
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		list = append(list, b.blocks[best[h]].links()...)
	}
	return list
}

// gpus is how many GPUs of the communicator a block shows.
func (b *block) gpus() (n int) {
	for i := range b.nodes {
		if b.nodes[i].Kind == nccl.GPU && b.nodes[i].rank >= 0 {
			n++
		}
	}
	return n
}

// links are what the block draws, each link once: both its ends name it.
func (b *block) links() (list []comms.Link) {
	rank := map[logline.Device]int{}
	for _, n := range b.nodes {
		if n.rank >= 0 {
			rank[n.Device] = int(n.rank)
		}
	}
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
		if before(y, x) {
			k = key{y, x, n.link}
		}
		if !seen[k] {
			seen[k] = true
			list = append(list, comms.Link{Group: b.group, From: device(x), To: device(y), Class: n.link, Bandwidth: n.bandwidth})
		}
	}
	return list
}

// before orders devices.
func before(x, y logline.Device) bool {
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.System, y.System), cmp.Compare(x.ID, y.ID)) < 0
}
