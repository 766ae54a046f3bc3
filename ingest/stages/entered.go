package stages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// maxEntered is how many calls of a run are handed on, over all ranks.
const maxEntered = 1 << 20

// enteredCollectives returns when the host of each rank entered each collective, from the
// profiles of one run; nil where that cannot be compared: some rank recorded
// device work, behind which its host runs ahead; a call does not say in which of
// several groups it is, or of which ranks where some have no profile; or a send or
// receive does not say with whom. O(calls).
func enteredCollectives(ranks []*profile.Rank, run string) *comms.Record {
	if len(ranks) < 2 {
		return nil
	}
	numbered, all := true, len(ranks) == worldOf(ranks)
	for _, r := range ranks {
		if !comparable(r) || !all && slices.ContainsFunc(r.Entered.Groups, func(g comms.Group) bool { return g.Members == nil }) {
			return nil
		}
		numbered = numbered && !slices.ContainsFunc(r.Entered.Calls, func(c comms.Call) bool { return c.Seq < 0 && !c.Op.Message() })
	}
	e := enteredCalls{tensors: map[int64]*comms.Tensors{}, most: maxEntered / len(ranks)}
	if !numbered {
		e.common = commonSteps(ranks)
	}
	var each []*comms.Record
	for _, r := range ranksByID(ranks) {
		each = append(each, e.recordOf(r))
	}
	c := comms.Join(each...)
	if c.Run = run; len(c.Calls) == 0 {
		return nil
	}
	return c
}

// comparable reports whether the calls of a rank can be held against others'.
func comparable(r *profile.Rank) bool {
	if len(r.Entered.Calls) == 0 || slices.ContainsFunc(r.Steps, func(s profile.Step) bool { return s.Set }) {
		return false
	}
	return !slices.ContainsFunc(r.Entered.Calls, func(c comms.Call) bool {
		g := &r.Entered.Groups[c.Group]
		return g.Name == "" && r.Groups > 1 || c.Op.Message() && peerIn(g, &c) < 0
	})
}

// peerIn returns the other end of a send or receive, as a rank of its group; −1: not known.
func peerIn(g *comms.Group, c *comms.Call) int {
	switch {
	case c.Op == nccl.SendRecv:
		return -1
	case g.Rank >= 0:
		return c.Peer
	}
	return slices.Index(g.Members, c.Peer)
}

// commonSteps returns the numbers of the steps that all ranks have, in which calls without numbers are counted.
func commonSteps(ranks []*profile.Rank) map[int64]bool {
	count := map[int64]int{}
	for _, r := range ranks {
		for i := range r.Steps {
			count[r.Steps[i].Index]++
		}
	}
	common := map[int64]bool{}
	for index, n := range count {
		common[index] = n == len(ranks)
	}
	return common
}

// enteredCalls chooses what is handed on.
type enteredCalls struct {
	common  map[int64]bool           // steps to which calls are limited; nil: all
	tensors map[int64]*comms.Tensors // by their bytes
	most    int                      // calls of a rank
}

// recordOf returns what a rank entered.
func (e *enteredCalls) recordOf(r *profile.Rank) *comms.Record {
	from := &r.Entered
	out := &comms.Record{Groups: slices.Clone(from.Groups),
		Sources:   []comms.Source{{Name: r.Source, Path: r.Source, Kind: comms.SourceKineto}},
		Processes: []comms.Process{{Rank: r.ID, Host: r.Host, LocalRank: r.LocalRank, Device: -1, Begin: startOf(r)}}}
	for i := range out.Groups {
		g := &out.Groups[i]
		g.Process, g.Rank, g.OnHost = 0, slices.Index(g.Members, r.ID), r.Backend == "gloo" || r.Backend == "mpi"
	}
	for _, c := range from.Calls { // of one process, whoever recorded it
		if e.common != nil && !e.common[c.Step] {
			continue
		}
		if len(out.Calls) == e.most {
			out.Notes = append(out.Notes, input.Note{Kind: input.NoteRecorder,
				Text: fmt.Sprintf("rank %d entered more than %d collectives: when it entered the others is not compared", r.ID, e.most)})
			break
		}
		out.Calls = append(out.Calls, e.call(c, &from.Groups[c.Group]))
	}
	return out
}

// call returns a call in the form that is compared with other ranks.
func (e *enteredCalls) call(c comms.Call, g *comms.Group) comms.Call {
	c.Process = 0
	c.Name = strings.ReplaceAll(c.Op.Words(), "-", "_")
	if e.common != nil {
		c.Seq = -1
	}
	if c.Op.Message() {
		c.Peer = peerIn(g, &c)
	} else {
		c.Peer = -1
	}
	if c.Bytes >= 0 {
		if e.tensors[c.Bytes] == nil {
			e.tensors[c.Bytes] = &comms.Tensors{InSizes: [][]int64{{c.Bytes}}, InTypes: []string{"Byte"}}
		}
		c.Tensors = e.tensors[c.Bytes]
	}
	return c
}
