package nccllog

// commOf finds the communicator that a pointer means now, and makes one up where no
// line told of it.
func (b *Builder) commOf(p int, c *Call, line int64) int {
	key := pointerKey{p, c.Comm}
	if i, ok := b.live[key]; ok {
		if b.log.Communicators[i].Ranks == c.Ranks {
			return i
		}
	}
	return b.newComm(p, line, CommEvent{Pointer: c.Comm, Ranks: c.Ranks, Rank: -1, NVMLDev: -1, Split: -1}, true)
}

func (b *Builder) newComm(p int, line int64, e CommEvent, inferred bool) int {
	i := len(b.log.Communicators)
	c := Communicator{Process: p, CommEvent: e, Parent: None, Inferred: inferred, Line: line, File: b.file}
	if e.Parent != 0 {
		if parent, ok := b.live[pointerKey{p, e.Parent}]; ok {
			c.Parent = parent
		}
	}
	b.log.Communicators = append(b.log.Communicators, c)
	b.live[pointerKey{p, e.Pointer}] = i
	b.held += commBytes + int64(len(e.Func))
	return i
}

// commLine takes the next step in the life of a communicator. A pointer that begins
// again is another communicator: memory is used again.
func (b *Builder) commLine(p int, r *Record) {
	e := r.Comm
	key := pointerKey{p, e.Pointer}
	i, known := b.live[key]
	if e.Step >= Destroyed {
		if known {
			b.log.Communicators[i].Step = e.Step
			delete(b.live, key)
		}
		return
	}
	if known && !b.log.Communicators[i].continuedBy(e) {
		known = false
	}
	if !known {
		i = b.newComm(p, r.Line, e, false)
	} else {
		b.log.Communicators[i].adopt(e)
	}
	b.thread(p, r).making(b, i)
}

// continuedBy says whether e is about this communicator.
func (c *Communicator) continuedBy(e CommEvent) bool {
	if c.Ranks != e.Ranks || c.Rank != e.Rank && c.Rank >= 0 {
		return false
	}
	if c.ID != 0 && e.ID != 0 && c.ID != e.ID {
		return false
	}
	if c.Inferred { // torch makes communicators when the first call needs them, but calls come after Init
		return c.Step < Completed
	}
	if e.Step <= c.Step { // once more from the beginning, or said twice
		return c.Calls == 0 && e.Step == c.Step
	}
	return true
}

// adopt takes over what e says and c does not.
func (c *Communicator) adopt(e CommEvent) {
	old := c.CommEvent
	c.CommEvent, c.Inferred = e, false
	if e.ID == 0 {
		c.ID = old.ID
	}
	if e.Parent == 0 {
		c.CommEvent.Parent, c.Split, c.Color, c.Key = old.Parent, old.Split, old.Color, old.Key
	}
	if e.Split < 0 {
		c.Split = old.Split
	}
	c.Nodes, c.LocalRanks, c.LocalRank = old.Nodes, old.LocalRanks, old.LocalRank
	c.CollChannels, c.PeerToPeerChans = old.CollChannels, old.PeerToPeerChans
}

// addition takes a line that tells more about a communicator: by its pointer, or of
// the one that the thread is making.
func (b *Builder) addition(p int, r *Record) {
	i, ok := b.live[pointerKey{p, r.Comm.Pointer}]
	if r.Kind == ChannelLine {
		i = b.thread(p, r).comm
		ok = i != None
	}
	if !ok {
		return
	}
	c := &b.log.Communicators[i]
	if r.Kind == ShapeLine {
		c.Nodes, c.LocalRanks, c.LocalRank = r.Comm.Nodes, r.Comm.LocalRanks, r.Comm.LocalRank
		return
	}
	c.CollChannels, c.PeerToPeerChans = r.Comm.CollChannels, r.Comm.PeerToPeerChans
}
