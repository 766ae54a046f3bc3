package profile

import (
	"fmt"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// Kernels are those that communicated.
func (r *Rank) Kernels() []comms.Kernel {
	if len(r.Comm.Processes) == 0 {
		return nil
	}
	return r.Comm.Processes[0].Kernels
}

// Ran is from when to when a call of Comm ran: its kernel, or else the call itself.
func (r *Rank) Ran(c *comms.Call) (start, end int64) {
	if c.Kernel == comms.None {
		return c.Enter, c.Exit
	}
	k := &r.Kernels()[c.Kernel]
	return k.Start, k.End
}

// Pieces are, for each call of Comm, the position of the call that stands for what
// ran it: it does itself, but for those that a kernel ran of which there are several.
func (r *Rank) Pieces() []int {
	at, of := make([]int, len(r.Comm.Calls)), make([]int, len(r.Kernels()))
	for i := range at {
		if c := &r.Comm.Calls[i]; c.KernelSure {
			of[c.Kernel] = i
		}
	}
	for i := range at {
		if at[i] = i; r.Comm.Calls[i].Kernel != comms.None {
			at[i] = of[r.Comm.Calls[i].Kernel]
		}
	}
	return at
}

// PeerRank is the rank that the other end of a send or receive of Comm is, −1: not
// known. Without a list of members a position is a rank where that of the caller is
// its own.
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

// GroupKeys tell the groups of Comm apart: by their members where these are known.
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
	kernels := r.Kernels()
	for _, calls := range [...][]comms.Call{r.Comm.Calls, r.Entered.Calls} {
		for i := range calls {
			c := &calls[i]
			if !of(c.Step) {
				continue
			}
			c.Enter, c.Exit = c.Enter+ns, c.Exit+ns
			if c.KernelSure {
				k := &kernels[c.Kernel]
				k.Launch, k.Start, k.End = k.Launch+ns, k.Start+ns, k.End+ns
			}
		}
	}
}

// addCalls adds what another recording of the same process has.
func addCalls(to, from *comms.Record) {
	if len(to.Processes) == 0 {
		*to = *from
		return
	}
	groups, kernels := len(to.Groups), len(to.Processes[0].Kernels)
	to.Groups = append(to.Groups, from.Groups...)
	for _, c := range from.Calls {
		c.Group += groups
		if c.Kernel != comms.None {
			c.Kernel += kernels
		}
		to.Calls = append(to.Calls, c)
	}
	for _, p := range from.Processes {
		to.Processes[0].Kernels = append(to.Processes[0].Kernels, p.Kernels...)
	}
}
