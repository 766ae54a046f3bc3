package nccllog

// open is a device of the block under which others may stand.
type open struct {
	node   int
	indent int // of what stands under it
}

// topology takes a line of a block, or of the paths behind it.
func (b *Builder) topology(p int, r *Record) {
	t, item := b.thread(p, r), &r.Topology
	if item.Kind == BlockStart {
		t.startBlock(b, p, item)
		return
	}
	if t.block == None { // the log begins inside a block
		t.startBlock(b, p, &TopologyItem{})
	}
	block := &b.log.Blocks[t.block]
	switch item.Kind {
	case BlockEnd:
		block.Whole = true
	case PathItem:
		block.path(item)
		b.held += int64(len(block.Paths[len(block.Paths)-1].Paths)) * pathBytes
	case NodeItem:
		t.node(block, item)
		b.held += nodeBytes
	}
}

func (t *thread) startBlock(b *Builder, p int, item *TopologyItem) {
	t.closeBlock(b)
	comm := t.comm
	if comm != None && b.log.Communicators[comm].Step >= Completed {
		comm = None // of the next one
	}
	t.block = len(b.log.Blocks)
	t.parents = t.parents[:0]
	b.log.Blocks = append(b.log.Blocks, Block{Process: p, Comm: comm, Widest: item.Bandwidth, Each: item.Total})
	b.held += nodeBytes
}

func (t *thread) closeBlock(*Builder) { t.block, t.parents = None, t.parents[:0] }

// node puts a device under the last one that stands less far in.
func (t *thread) node(block *Block, item *TopologyItem) {
	n := Node{Device: item.Device, Parent: None, Link: item.Link, Bandwidth: item.Bandwidth, Rank: item.Rank}
	if item.Width == 0 { // no link: the top of a tree
		t.parents = t.parents[:0]
	}
	for len(t.parents) > 0 && t.parents[len(t.parents)-1].indent > item.Indent {
		t.parents = t.parents[:len(t.parents)-1]
	}
	if len(t.parents) > 0 {
		n.Parent = t.parents[len(t.parents)-1].node
	}
	block.Nodes = append(block.Nodes, n)
	t.parents = append(t.parents, open{len(block.Nodes) - 1, item.Indent + item.Width})
}

// path reads the paths from one device.
func (block *Block) path(item *TopologyItem) {
	row := PathRow{From: item.Device}
	for rest := item.Paths; ; {
		p, more, ok := nextPath(rest)
		if !ok {
			break
		}
		row.Paths, rest = append(row.Paths, p), more
	}
	block.Paths = append(block.Paths, row)
}
