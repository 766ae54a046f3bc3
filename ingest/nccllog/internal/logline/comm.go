package logline

import "bytes"

// comm reads the lines about a communicator; false if the message is about
// something else.
func (r *Record) comm(text []byte) bool {
	c := cursor{b: text}
	if c.try("[Rank ") { // 2.29 on, before the start of what is no split
		c.dec()
		c.word("] ")
	}
	e := CommEvent{NVMLDev: -1, Split: -1}
	if len(c.b) > 4 && string(c.b[:4]) == "nccl" {
		e.Func = function(c.name())
		c.word(" ")
	}
	c.word("comm 0x")
	e.Pointer = c.hex()
	c.word(" rank ")
	e.Rank = c.small()
	if c.bad {
		return false
	}
	if c.try(" nRanks ") {
		r.shape(e, c)
		return true
	}
	r.life(e, c)
	return true
}

// functions are those that make a communicator, so that each name is kept once.
var functions = []string{"ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable", "ncclCommInitAll",
	"ncclCommSplit", "ncclCommShrink", "ncclCommGrow"}

func function(name []byte) string {
	name = bytes.TrimSuffix(name, []byte("_impl")) // RCCL 2.27
	for _, f := range functions {
		if string(name) == f {
			return f
		}
	}
	return string(name)
}

// shape reads "comm 0x… rank 0 nRanks 24 nNodes 3 localRanks 8 localRank 0 …".
func (r *Record) shape(e CommEvent, c cursor) {
	e.Ranks = c.small()
	c.word(" nNodes ")
	e.Nodes = c.small()
	c.word(" localRanks ")
	e.LocalRanks = c.small()
	c.word(" localRank ")
	e.LocalRank = c.small()
	if c.bad {
		r.damaged("a communicator's shape that is cut short or overwritten")
		return
	}
	r.Kind, r.Comm = ShapeLine, e
}

// life reads from " nranks" on: the fields that the version has, then how far it is.
func (r *Record) life(e CommEvent, c cursor) {
	c.word(" nranks ")
	e.Ranks = c.small()
	c.word(" cudaDev ")
	e.CudaDev = c.small()
	if c.try(" nvmlDev ") {
		e.NVMLDev = c.small()
	}
	if c.try(" busId ") {
		e.Bus, e.HasBus = c.hex(), true
	}
	if c.try(" parent ") {
		e.split(&c)
	}
	if c.try(" commId 0x") {
		e.ID = c.hex()
	}
	e.Step = e.step(&c)
	if c.bad {
		r.damaged("a communicator's line that is cut short or overwritten")
		return
	}
	r.Kind, r.Comm = CommLine, e
}

// split reads what the lines of ncclCommSplit and its kin add.
func (e *CommEvent) split(c *cursor) {
	e.Parent = c.pointer()
	if c.try(" splitCount ") || c.try(" childCount ") {
		e.Split = c.dec()
	}
	c.word(" color ")
	e.Color = c.int()
	c.word(" key ")
	e.Key = c.int()
}

// step reads the end: " - Init COMPLETE", "- Init START", nothing in 2.4. RCCL puts
// sizes before it.
func (e *CommEvent) step(c *cursor) Step {
	i := bytes.Index(c.b, []byte("- "))
	if i < 0 {
		if len(bytes.TrimSpace(c.b)) > 0 || e.HasBus {
			c.bad = true
		}
		return Announced
	}
	switch end := c.b[i+2:]; {
	case bytes.HasPrefix(end, []byte("Init START")):
		return Started
	case bytes.HasPrefix(end, []byte("Init COMPLETE")):
		return Completed
	case bytes.HasPrefix(end, []byte("Destroy COMPLETE")):
		return Destroyed
	case bytes.HasPrefix(end, []byte("Abort COMPLETE")):
		return Aborted
	}
	c.bad = true
	return Announced
}

// channels reads "8 coll channels, 0 nvls channels, 8 p2p channels, 8 p2p channels
// per peer", of the communicator that the thread is making.
func (r *Record) channels(coll int64, c cursor) {
	r.Kind = ChannelLine
	r.Comm = CommEvent{CollChannels: int32(min(coll, 1<<16)), NVMLDev: -1, Split: -1}
	for part := range bytes.SplitSeq(c.b, []byte(", ")) {
		p := cursor{b: part}
		n := p.dec()
		if p.word(" p2p channels"); !p.bad && len(p.b) == 0 {
			r.Comm.PeerToPeerChans = int32(min(n, 1<<16))
		}
	}
}
