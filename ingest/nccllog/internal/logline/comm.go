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
	e := CommEvent{Split: -1}
	if len(c.b) > 4 && string(c.b[:4]) == "nccl" {
		c.name()
		c.word(" ")
	}
	c.word("comm 0x")
	e.Pointer = c.hex()
	c.word(" rank ")
	e.Rank = c.small()
	if c.bad {
		return false
	}
	if !c.try(" nRanks ") { // those tell of nodes and local ranks
		r.life(e, c)
	}
	return true
}

// life reads from " nranks" on: the fields that the version has, then how far it is.
func (r *Record) life(e CommEvent, c cursor) {
	c.word(" nranks ")
	e.Ranks = c.small()
	c.word(" cudaDev ")
	e.CudaDev = c.small()
	if c.try(" nvmlDev ") {
		c.small()
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
		r.setDamaged("a communicator's line that is cut short or overwritten")
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
	c.int()
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
	case bytes.HasPrefix(end, []byte("Destroy COMPLETE")), bytes.HasPrefix(end, []byte("Abort COMPLETE")):
		return Destroyed
	}
	c.bad = true
	return Announced
}
