package nccllog

import (
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
)

// communicator is one rank's side of a communicator: what a pointer means from one
// Init to the next.
type communicator struct {
	logline.CommEvent
	process  int
	parent   int   // of Builder.groups, None where there is no parent, or it is not known
	inferred bool  // no line tells of it, only calls do
	calls    int64 // logged
	global   int   // rank in the job of who calls; -1: not told
	source   int
	line     int64 // of its first mention
}

// group returns the communicator as results have it.
func (c *communicator) group() comms.Group {
	g := comms.Group{Process: c.process, ID: c.ID, Handle: c.Pointer, Rank: int(c.Rank), Size: int(c.Ranks), FromStart: true,
		Enqueued: -1, Completed: -1}
	if c.parent != comms.None {
		g.Split = &comms.Split{Parent: c.parent, Number: c.CommEvent.Split, Color: c.Color}
	}
	return g
}

// groupOf finds the communicator that a pointer means now, and makes one up where no
// line told of it.
func (b *Builder) groupOf(p int, c *logline.Call, line int64) int {
	if i, ok := b.live[pointerKey{p, c.Comm}]; ok && b.groups[i].Ranks == c.Ranks {
		return i
	}
	i := b.newGroup(p, line, logline.CommEvent{Pointer: c.Comm, Ranks: c.Ranks, Rank: -1, Split: -1})
	b.groups[i].inferred = true
	return i
}

func (b *Builder) newGroup(p int, line int64, e logline.CommEvent) int {
	i := len(b.groups)
	c := communicator{CommEvent: e, process: p, parent: comms.None, global: -1, source: b.source, line: line}
	if e.Parent != 0 {
		if parent, ok := b.live[pointerKey{p, e.Parent}]; ok {
			c.parent = parent
		}
	}
	b.groups = append(b.groups, c)
	b.live[pointerKey{p, e.Pointer}] = i
	b.held += commBytes
	return i
}

// commLine takes the next step in the life of a communicator. A pointer that begins
// again is another communicator: memory is used again.
func (b *Builder) commLine(p int, r *logline.Record) {
	e := r.Comm
	key := pointerKey{p, e.Pointer}
	i, known := b.live[key]
	if e.Step >= logline.Destroyed {
		if known {
			b.groups[i].Step = e.Step
			delete(b.live, key)
		}
		return
	}
	if known && b.groups[i].continuedBy(e) {
		b.groups[i].adopt(e)
	} else {
		i = b.newGroup(p, r.Line, e)
	}
	b.thread(p, r).setGroup(b, i)
}

// continuedBy reports whether e is about this communicator.
func (c *communicator) continuedBy(e logline.CommEvent) bool {
	if c.Ranks != e.Ranks || c.Rank != e.Rank && c.Rank >= 0 {
		return false
	}
	if c.ID != 0 && e.ID != 0 && c.ID != e.ID {
		return false
	}
	if c.inferred { // torch makes communicators when the first call needs them, but calls come after Init
		return c.Step < logline.Completed
	}
	if e.Step <= c.Step { // once more from the beginning, or said twice
		return c.calls == 0 && e.Step == c.Step
	}
	return true
}

// adopt takes over what e says and c does not.
func (c *communicator) adopt(e logline.CommEvent) {
	old := c.CommEvent
	c.CommEvent, c.inferred = e, false
	if e.ID == 0 {
		c.ID = old.ID
	}
	if e.Parent == 0 {
		c.CommEvent.Parent, c.CommEvent.Split, c.Color = old.Parent, old.Split, old.Color
	}
	if e.Split < 0 {
		c.CommEvent.Split = old.Split
	}
}
