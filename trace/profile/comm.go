package profile

import (
	"fmt"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// Pieces returns, for each call of Comm, the position of the call that stands for its kernel: its own, unless a kernel ran
// several.
func (r *Rank) Pieces() []int {
	at := make([]int, len(r.Comm.Calls))
	first := 0 // of its process
	for i := range at {
		c := &r.Comm.Calls[i]
		if c.Process != r.Comm.Calls[first].Process {
			first = i
		}
		if at[i] = i; c.Kernel != comms.None {
			at[i] = first + c.Kernel
		}
	}
	return at
}

// PeerRank returns the rank of the other end of a send or receive of Comm, −1: not known. Without a list of members a
// position is a rank where that of the caller is its own.
func (r *Rank) PeerRank(c *comms.Call) int {
	g := &r.Comm.Groups[c.Group]
	switch {
	case g.Rank < 0 || len(g.Members) == 0 && g.Rank == r.ID:
		return c.Peer
	case c.Peer < len(g.Members):
		return g.Members[c.Peer]
	}
	return -1
}

// GroupKeys returns keys of the groups of Comm: their members where known.
func (r *Rank) GroupKeys() []string {
	keys := make([]string, len(r.Comm.Groups))
	known := make(map[*int]string) // by the list, which groups may share
	for i := range r.Comm.Groups {
		g := &r.Comm.Groups[i]
		if len(g.Members) == 0 || g.Size != 0 && g.Size != len(g.Members) {
			keys[i] = fmt.Sprintf("%s/%d", g.Name, g.Size)
			continue
		}
		key, ok := known[&g.Members[0]]
		if !ok {
			key = trace.RankList(g.Members)
			known[&g.Members[0]] = key
		}
		keys[i] = key
	}
	return keys
}

// ShiftCalls moves by ns the calls and kernels of the steps that it is to.
func (r *Rank) ShiftCalls(ns int64, of func(step int64) bool) {
	for _, calls := range [...][]comms.Call{r.Comm.Calls, r.Entered.Calls} {
		for i := range calls {
			c := &calls[i]
			if !of(c.Step) {
				continue
			}
			if c.HasEnter {
				c.Enter, c.Exit = c.Enter+ns, c.Exit+ns
			}
			if c.KernelSure {
				k := &r.Comm.Processes[c.Process].Kernels[c.Kernel]
				k.Launch, k.Start, k.End = k.Launch+ns, k.Start+ns, k.End+ns
			}
		}
	}
}
