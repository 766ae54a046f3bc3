package nccllog

import (
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
		block.path(item)
		b.held += int64(len(block.paths[len(block.paths)-1].paths)) * pathBytes
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

// path reads the paths from one device.
func (block *block) path(item *logline.TopologyItem) {
	row := pathRow{from: item.Device}
	for rest := item.Paths; ; {
		p, more, ok := logline.NextPath(rest)
		if !ok {
			break
		}
		row.paths, rest = append(row.paths, p), more
	}
	block.paths = append(block.paths, row)
}
