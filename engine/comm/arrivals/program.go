package arrivals

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Program is the calls that the ranks of a job entered, numbered: ranks, groups and kinds of calls. The zero Program is empty.
type Program struct {
	hosts  map[int]string // of ranks, where the records do not tell them
	locals map[int]int    // numbers of ranks on their hosts, by the same recorders; negative: not known
	ranks  []rank
	byRank map[int]int
	groups []group
	named  map[string]int // groups by name, description and members
	key    []byte
	kinds  []kind
	known  ordered.Numbers[string] // kinds by content
	stacks [][]comms.Frame
	framed ordered.Numbers[string] // stacks by content
}

// rank is one process.
type rank struct {
	id     int
	host   string
	calls  []call
	lost   int64
	status map[int]status // by group
	// windows: it is what a recorder wrote when it closed windows, which says
	// nothing of what came after.
	windows bool
	written int64 // by when its record was, on its clock; 0: not known
	extent  comms.Extent
}

// status is how far a process says that it got in a group.
type status struct {
	enqueued, completed int64
	timedOut            bool // it says that it waited for too long
}

// call is one entry of a rank, small, for there are many.
type call struct {
	enter int64
	held  int64 // until the rank knew that it was done; 0: not known
	seq   int64
	group int32
	kind  int32
	peer  int32 // rank in the group, −1
	nth   int32 // among those of its group in its step, from 1; 0: not known
	state comms.State
	first bool // of its rank in a recorded step
}

func (c *call) done() bool { return c.state == comms.Completed }

// kind is what calls of one line of code have alike.
type kind struct {
	name    string
	op      nccl.Op
	tensors *comms.Tensors
	stack   int32
	size    int    // of the group
	stage   string // of the step, where the record says so
}

// group is a process group over all its members.
type group struct {
	name, desc string
	id         uint64
	silent     bool  // its messages are counted and not recorded
	onHost     bool  // its members wait for its calls
	members    []int // global ranks, known from its configuration; nil: those that have entries
}

// add takes the calls of processes whose rank is known. A second record of one
// rank is merged with the first: of calls in both one stays, and of a process
// that was started again the later.
func (j *Program) add(c *comms.Record) {
	a := j.adding(c)
	for p := range c.Processes {
		if (c.Processes[p].Stack != nil || c.Processes[p].Ended != "") && !slices.ContainsFunc(c.Groups, func(g comms.Group) bool { return g.Process == p }) {
			continue // it says nothing of calls
		}
		j.merge(a.process(p))
	}
}

func (j *Program) prepare() {
	if j.byRank == nil {
		j.byRank, j.named, j.known, j.framed = map[int]int{}, map[string]int{}, ordered.Numbers[string]{}, ordered.Numbers[string]{}
	}
}

// adding is one record on its way into a job.
type adding struct {
	*Program
	c      *comms.Record
	stacks []int32
	kinds  map[kind]int32 // by what of the record they refer to
}

func (j *Program) adding(c *comms.Record) *adding {
	a := &adding{Program: j, c: c, stacks: make([]int32, len(c.Stacks)), kinds: map[kind]int32{}}
	for i, frames := range c.Stacks {
		at, first := j.framed.Of(fmt.Sprint(frames))
		if first {
			j.stacks = append(j.stacks, frames)
		}
		a.stacks[i] = int32(at)
	}
	return a
}

func (a *adding) process(p int) rank {
	from := &a.c.Processes[p]
	r := rank{id: from.Rank, host: from.Host, lost: from.Lost, written: from.Written, extent: from.Extent, status: map[int]status{}}
	groups := make([]int32, len(a.c.Groups))
	for i := range a.c.Groups {
		groups[i] = -1
		if g := &a.c.Groups[i]; g.Process == p {
			groups[i] = a.group(g)
			in := &a.groups[groups[i]]
			in.silent, in.onHost = in.silent || g.Silent, in.onHost || g.OnHost
			r.status[int(groups[i])] = status{g.Enqueued, g.Completed, g.TimedOut}
		}
	}
	nth, step := map[inStep]int32{}, int64(-1)
	for i := range a.c.Calls {
		c := &a.c.Calls[i]
		if c.Process != p || !c.HasEnter || c.Group < 0 {
			continue
		}
		made := call{enter: c.Enter, seq: c.Seq, group: groups[c.Group], kind: a.kind(c), peer: int32(c.Peer), state: c.State}
		if c.Retired {
			made.state = comms.Completed
		}
		if c.Exit > c.Enter {
			made.held = c.Exit - c.Enter
		}
		if c.Step >= 0 && a.c.Groups[c.Group].OnHost {
			at := inStep{made.group, c.Step}
			nth[at]++
			made.nth = nth[at]
		}
		made.first = c.Step >= 0 && c.Step != step
		step = c.Step
		r.calls = append(r.calls, made)
	}
	a.number(r.calls)
	return r
}

// inStep is a step of a group.
type inStep struct {
	group int32
	step  int64
}

// number gives numbers to calls that have none, by their order.
func (j *Program) number(calls []call) {
	type numbered struct {
		group   int32
		message bool // these are numbered by themselves
	}
	last := map[numbered]int64{}
	for i := range calls {
		c := &calls[i]
		key := numbered{c.group, j.isMessage(c)}
		if c.seq < 0 {
			c.seq = last[key] + 1
		}
		last[key] = c.seq
	}
}

// kind is the number of the kind of a call in the job.
func (a *adding) kind(c *comms.Call) int32 {
	k := kind{name: cmp.Or(c.Name, c.Op.String()), tensors: c.Tensors, stack: -1, size: a.c.Groups[c.Group].Size, op: c.Op, stage: c.Stage}
	k.name, _, _ = strings.Cut(k.name, " ") // "send 1->2"
	if c.Stack >= 0 {
		k.stack = a.stacks[c.Stack]
	}
	i, ok := a.kinds[k]
	if !ok {
		at, first := a.known.Of(fmt.Sprint(k.name, k.op, k.stack, k.size, shapeOf(&k), k.stage))
		if i = int32(at); first {
			a.Program.kinds = append(a.Program.kinds, k)
		}
		a.kinds[k] = i
	}
	return i
}

// group is the number of a group in the job. Names are not unique: those of different members are different
// groups. A record without entries has no description: its group is the one that has the name and the members.
func (j *Program) group(g *comms.Group) int32 {
	if i, ok := j.named[j.keyOf(g)]; ok {
		return int32(i)
	}
	i := len(j.groups)
	if g.Members != nil {
		alike := func(of group) bool {
			return (of.desc == "" || g.Desc == "") && of.name == g.Name && of.id == g.ID && slices.Equal(of.members, g.Members)
		}
		if at := slices.IndexFunc(j.groups, alike); at >= 0 {
			i = at
			j.groups[i].desc = cmp.Or(j.groups[i].desc, g.Desc)
		}
	}
	if i == len(j.groups) {
		j.groups = append(j.groups, group{name: g.Name, desc: g.Desc, id: g.ID, members: g.Members})
	}
	j.named[j.keyOf(g)] = i
	return int32(i)
}

// keyOf returns what tells a group from others.
func (j *Program) keyOf(g *comms.Group) string {
	j.key = append(append(append(j.key[:0], g.Name...), 0), g.Desc...)
	j.key = binary.LittleEndian.AppendUint64(append(j.key, 0), g.ID)
	for _, r := range g.Members {
		j.key = binary.LittleEndian.AppendUint32(j.key, uint32(r))
	}
	return string(j.key)
}

// merge adds a process, or what is new of one that is there.
func (j *Program) merge(r rank) {
	i, ok := j.byRank[r.id]
	if !ok {
		j.byRank[r.id] = len(j.ranks)
		j.ranks = append(j.ranks, r)
		return
	}
	old := &j.ranks[i]
	if now, had := newest(&r), newest(old); now < had || now == had && r.extent != comms.Whole && old.extent == comms.Whole {
		r, *old = *old, r
	}
	// old is the earlier record now, and r the later.
	at := make(map[call]int, len(r.calls))
	for k, c := range r.calls {
		at[identity(c)] = k
	}
	again := false // started again: numbers of the later record begin anew
	var before []call
	for _, c := range old.calls {
		k, both := at[identity(c)]
		switch {
		case !both:
			before = append(before, c)
			again = again || len(r.calls) > 0 && c.enter < r.calls[0].enter && r.lost == 0
		case j.kinds[r.calls[k].kind].stack < 0: // JSON has no frames
			r.calls[k].kind = c.kind
		}
	}
	if !again && len(before) > 0 {
		r.calls = append(before, r.calls...)
		slices.SortStableFunc(r.calls, func(a, b call) int { return cmp.Compare(a.enter, b.enter) })
		r.lost = min(r.lost, old.lost)
	}
	r.host = cmp.Or(r.host, old.host)
	if newest(&r) == newest(old) && old.written != 0 { // two files of one dump: the earlier says more
		r.written = min(cmp.Or(r.written, old.written), old.written)
	}
	*old = r
}

// mostCalls is how many calls of a rank are kept of a recording that goes on:
// the latest.
const mostCalls = 1 << 16

// extend adds what a process recorded after what is there.
func (j *Program) extend(r rank) {
	i, ok := j.byRank[r.id]
	if !ok {
		r.windows = true
		j.byRank[r.id] = len(j.ranks)
		j.ranks = append(j.ranks, r)
		return
	}
	old := &j.ranks[i]
	last := newest(old)
	for _, c := range r.calls {
		if c.enter > last {
			old.calls = append(old.calls, c)
		}
	}
	old.lost += r.lost
	if extra := len(old.calls) - mostCalls; extra > mostCalls/4 { // now and then: O(1) a call
		old.lost += int64(extra)
		old.calls = append(old.calls[:0], old.calls[extra:]...)
	}
}

// identity is a call without what differs between two dumps of it.
func identity(c call) call {
	c.state, c.kind, c.first = 0, 0, false
	return c
}

func newest(r *rank) int64 {
	if len(r.calls) == 0 {
		return 0
	}
	return r.calls[len(r.calls)-1].enter
}

// shapeOf is sizes and types as text, to compare.
func shapeOf(k *kind) string {
	if k.tensors == nil {
		return ""
	}
	return fmt.Sprint(*k.tensors)
}

// ratio is of how many parts the whole of an all-gather or a reduce-scatter is; 0 where
// that is not known.
func (k *kind) ratio() int64 {
	whole, part, ok := k.divided()
	if n := comms.Elements(part); ok && n > 0 && comms.Elements(whole)%n == 0 {
		return comms.Elements(whole) / n
	}
	return 0
}

// divided is what a call has whole and what it has in part: an all-gather gives so many times as much as it
// takes as the group has members, a reduce-scatter the reverse; ok is false for other calls, and where sizes are not known.
func (k *kind) divided() (whole, part [][]int64, ok bool) {
	if k.tensors == nil || len(k.tensors.InSizes) == 0 || len(k.tensors.OutSizes) == 0 || k.uneven() {
		return nil, nil, false
	}
	switch k.op {
	case nccl.AllGather:
		return k.tensors.OutSizes, k.tensors.InSizes, true
	case nccl.ReduceScatter:
		return k.tensors.InSizes, k.tensors.OutSizes, true
	}
	return nil, nil, false
}

// uneven reports whether members may give and take different sizes.
func (k *kind) uneven() bool {
	return k.op == nccl.AlltoAll || strings.HasSuffix(k.name, "_v") || strings.Contains(k.name, "all_to_all") || strings.Contains(k.name, "alltoall")
}
