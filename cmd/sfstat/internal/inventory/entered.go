package inventory

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// Entered is what files of one kind recorded of the calls that ranks entered: Flight Recorder dumps, stacks of ranks,
// or reports of NCCL's RAS.
type Entered struct {
	Source string `json:"source"`
	Files  int    `json:"files"`
	Ranks  string `json:"ranks"`      // as "3,5-7"
	Calls  int    `json:"calls"`      // with a record of their own
	Open   int    `json:"calls_open"` // of these, entered and not known to be completed
	Lost   int64  `json:"calls_lost"` // that a ring dropped; −1: some
	Stacks int    `json:"stacks"`     // of the main threads of ranks
	Tells  string `json:"tells"`      // whom or what, by which commands

	ranks map[int]bool
}

// told are the sources that are described so, and what each can tell.
var told = map[comms.SourceKind]string{
	comms.SourceFlightRecorder: "who is late (diagnose, arrivals), who is missing (hang)",
	comms.SourcePySpy:          "where ranks stand (hang)",
	comms.SourceRAS:            "who is behind (hang)",
}

// AddEntered counts the record of a file in, and returns what is in it alone; nil if it is from another source.
func (inv *Inventory) AddEntered(c *comms.Record) *Entered {
	source := c.Sources[0].Kind
	tells, ok := told[source]
	if !ok {
		return nil
	}
	none := func() Entered { return Entered{Source: source.String(), Tells: tells, ranks: map[int]bool{}} }
	one := none()
	one.add(c)
	entry(&inv.Entered, func(e *Entered) bool { return e.Source == source.String() }, none()).add(c)
	return &one
}

func (e *Entered) add(c *comms.Record) {
	e.Files++
	e.Calls += len(c.Calls)
	for i := range c.Calls {
		if !c.Calls[i].Retired && c.Calls[i].State != comms.Completed {
			e.Open++
		}
	}
	for i := range c.Processes {
		p := &c.Processes[i]
		e.ranks[p.Rank] = true
		if len(p.Stack) > 0 {
			e.Stacks++
		}
		if p.Lost < 0 || e.Lost < 0 {
			e.Lost = -1
		} else {
			e.Lost += p.Lost
		}
	}
	e.Ranks = trace.RankList(slices.Sorted(maps.Keys(e.ranks)))
}
