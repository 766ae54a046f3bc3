package logline

import (
	"bytes"
	"fmt"

	"github.com/sfstat/sfstat/trace/nccl"
)

// ItemKind is what a line of a topology block is.
type ItemKind uint8

const (
	BlockStart ItemKind = iota
	BlockEnd
	NodeItem // a device, or the place where a link leads
	PathItem // from one device to all others, behind the block
)

// Device names a device: System is 0 but on machines of several chassis, ID
// is the bus of a GPU, NIC or PCI switch, else a number.
type Device struct {
	Kind   nccl.DeviceKind
	System uint32
	ID     uint64
}

// String returns the device as NCCL 2.21 and later write it.
func (d Device) String() string { return fmt.Sprintf("%v/%x-%x", d.Kind, d.System, d.ID) }

// TopologyItem is one line of a block or of the paths behind it.
type TopologyItem struct {
	Kind      ItemKind
	Indent    int       // of the line's first character
	Link      nccl.Link // from the device above to this one
	Bandwidth float64   // of the link, GB/s
	Width     int       // NodeItem: of what stands before the device, which is how far its own devices are indented
	Device    Device
	Rank      int32  // GPU: its rank in the communicator, -1 where the line does not say
	Paths     []Path // of a PathItem
}

// topology reads a line of the block; inner is text without its indent.
func (r *Record) topology(text, inner []byte) {
	t := TopologyItem{Indent: len(text) - len(inner), Rank: -1}
	r.Kind = TopologyLine
	c := cursor{b: inner}
	switch {
	case c.try("=== System"):
		t.Kind = BlockStart
	case c.try("==="):
		t.Kind = BlockEnd
	case c.try("+ "):
		t.Link = nccl.ParseLink(c.name())
		c.word("[")
		t.Bandwidth = c.number()
		c.word("] - ")
		t.Width = len(inner) - len(c.b)
		t.device(&c)
	default:
		t.device(&c)
		if c.try(" :") {
			t.Kind, t.Paths = PathItem, paths(c.b)
		}
	}
	if c.bad {
		r.setDamaged("a line of the topology that is cut short or overwritten")
		return
	}
	r.Topology = t
}

// device reads "GPU/0-c1000 (3)" or, up to 2.20, "GPU/C1000 (3)".
func (t *TopologyItem) device(c *cursor) {
	t.Kind = NodeItem
	t.Device = readDevice(c)
	if t.Device.Kind == nccl.GPU && c.try(" (") {
		t.Rank = c.small()
		c.word(")")
	}
}

func readDevice(c *cursor) Device {
	name := c.name()
	d := Device{Kind: nccl.ParseDevice(name)}
	c.word("/")
	d.ID = c.hex()
	if c.try("-") {
		d.System, d.ID = uint32(d.ID), c.hex()
	}
	if d.Kind == nccl.UnknownDevice {
		c.bad = true
	}
	return d
}

// Path is one entry of a path line.
type Path struct {
	To        Device
	Bandwidth float64 // of the narrowest link, GB/s
	Class     nccl.Link
}

// paths reads "GPU/0-25000 (1/80.0/NVL)" and what follows it, up to the first that cannot be read.
func paths(b []byte) (list []Path) {
	for {
		c := cursor{b: bytes.TrimLeft(b, " ")}
		p := Path{To: readDevice(&c)}
		c.word(" (")
		c.small() // hops
		c.word("/")
		p.Bandwidth = c.number()
		c.word("/")
		p.Class = nccl.ParseLink(c.name())
		c.word(")")
		if c.bad {
			return list
		}
		list, b = append(list, p), c.b
	}
}
