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

// Entered is when the host of each rank entered each collective, from the
// profiles of one run. nil where that cannot be compared: some rank recorded
// device work, behind which its host runs ahead; a call does not say in which of
// several groups it is, or of which ranks where some have no profile; or a send or
// receive does not say with whom. O(calls).
func Entered(ranks []*profile.Rank, run string) *comms.Record {
	if len(ranks) < 2 {
		return nil
	}
	numbered, all := true, len(ranks) == worldOf(ranks)
	for _, r := range ranks {
		if !comparable(r) || !all && slices.ContainsFunc(r.Entries, func(c profile.Collective) bool { return c.Ranks == nil }) {
			return nil
		}
		numbered = numbered && !slices.ContainsFunc(r.Entries, func(c profile.Collective) bool { return c.Seq < 0 && !c.Op.Message() })
	}
	e := entered{c: &comms.Record{Run: run}, tensors: map[shape]*comms.Tensors{}, most: maxEntered / len(ranks)}
	if !numbered {
		e.common = commonSteps(ranks)
	}
	for _, r := range byID(ranks) {
		e.add(r)
	}
	if len(e.c.Calls) == 0 {
		return nil
	}
	return e.c
}

// comparable reports whether the calls of a rank can be held against others'.
func comparable(r *profile.Rank) bool {
	if len(r.Entries) == 0 || slices.ContainsFunc(r.Steps, func(s profile.Step) bool { return s.Set }) {
		return false
	}
	return !slices.ContainsFunc(r.Entries, func(c profile.Collective) bool {
		return c.Group == "" && r.Groups > 1 || c.Op.Message() && peerIn(&c) < 0
	})
}

// peerIn is the other end of a send or receive, as a rank of its group; −1: not
// known.
func peerIn(c *profile.Collective) int {
	switch {
	case c.Op == nccl.SendRecv:
		return -1
	case c.Self >= 0:
		return c.Peer
	}
	return slices.Index(c.Ranks, c.Peer)
}

// commonSteps are the numbers of the steps that all ranks have: calls without
// numbers are counted in them.
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

// entered is a record in the making.
type entered struct {
	c       *comms.Record
	common  map[int64]bool // steps to which calls are limited; nil: all
	tensors map[shape]*comms.Tensors
	most    int // calls of a rank
}

// shape is what calls of one size and type have alike.
type shape struct {
	bytes int64
	dtype string
}

// add adds the calls of a rank.
func (e *entered) add(r *profile.Rank) {
	process, source := len(e.c.Processes), len(e.c.Sources)
	e.c.Sources = append(e.c.Sources, comms.Source{Name: r.Source, Path: r.Source, Kind: comms.SourceKineto})
	e.c.Processes = append(e.c.Processes, comms.Process{Rank: r.ID, Host: r.Host, LocalRank: r.LocalRank, Device: -1, Clock: process, Source: source, Begin: startOf(r)})
	groups := map[string]int{}
	left := e.most
	for i := range r.Entries {
		from := &r.Entries[i]
		if e.common != nil && (from.Step < 0 || !e.common[r.Steps[from.Step].Index]) {
			continue
		}
		if left--; left < 0 {
			e.c.Notes = append(e.c.Notes, input.Note{Kind: input.NoteRecorder,
				Text: fmt.Sprintf("rank %d entered more than %d collectives: when it entered the others is not compared", r.ID, e.most)})
			break
		}
		g, ok := groups[from.Group]
		if !ok {
			g = len(e.c.Groups)
			groups[from.Group] = g
			e.c.Groups = append(e.c.Groups, comms.Group{Process: process, Name: from.Group, Desc: from.Desc, Rank: slices.Index(from.Ranks, r.ID),
				Size: from.Size, Members: from.Ranks, Enqueued: -1, Started: -1, Completed: -1, OnHost: r.Backend == "gloo" || r.Backend == "mpi"})
		}
		call := e.call(from)
		call.Process, call.Group, call.Source = process, g, source
		if from.Step >= 0 {
			call.Step = r.Steps[from.Step].Index
		}
		if from.Stage >= 0 {
			call.Stage = r.Stages[from.Stage]
		}
		e.c.Calls = append(e.c.Calls, call)
	}
}

// call is one call, wherever it was made.
func (e *entered) call(from *profile.Collective) comms.Call {
	c := comms.UnknownCall(0)
	c.Op, c.Name = from.Op, strings.ReplaceAll(from.Op.Words(), "-", "_")
	c.Enter, c.HasEnter, c.Exit = from.Start, true, from.End
	c.State = comms.Completed // a profile is written when all is done
	c.Bytes = from.Bytes
	if e.common == nil {
		c.Seq = from.Seq
	}
	if from.Op.Message() {
		c.Peer = peerIn(from)
	}
	if from.Bytes >= 0 {
		k := shape{from.Bytes, from.Dtype}
		if e.tensors[k] == nil {
			e.tensors[k] = &comms.Tensors{InSizes: [][]int64{{from.Bytes}}, InTypes: []string{"Byte"}}
		}
		c.Tensors = e.tensors[k]
	}
	return c
}
