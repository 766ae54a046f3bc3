package sync

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Program is the calls that the ranks of a job entered, numbered: ranks, groups and kinds of calls. The zero Program is empty.
type Program struct {
	Hosts  map[int]string // of ranks, where the records do not tell them
	Locals map[int]int    // numbers of ranks on their hosts, by the same recorders; negative: not known
	Ranks  []Rank
	ByRank map[int]int
	Groups []Group
	named  map[string]int // groups by name, description and members
	key    []byte
	Kinds  []Kind
	known  ordered.Numbers[string] // kinds by content
	Stacks [][]comms.Frame
	framed ordered.Numbers[string] // stacks by content
}

// Rank is one process.
type Rank struct {
	ID       int
	Host     string
	Calls    []Call
	Lost     int64
	Progress map[int]Progress // by group
	// FromWindows: a recorder wrote the calls when it closed windows, so later calls are unknown.
	FromWindows bool
	Written     int64 // by when its record was, on its clock; 0: not known
	Extent      comms.Extent
	steps       [2]int64 // the first and the last recorded step of its calls; zero: not known
}

// Progress is how far a process says that it got in a group.
type Progress struct {
	Enqueued, Completed int64
	TimedOut            bool // it says that it waited for too long
}

// Call is one entry of a rank, small, for there are many.
type Call struct {
	Enter int64
	Held  int64 // until the rank knew that it was done; 0: not known
	Seq   int64
	Group int32
	Kind  int32
	Peer  int32 // rank in the group, −1
	State comms.State
	Nth   int8 // among those of its group in its step, from 1; 0: not known; the largest there is: that, or a later one
	First bool // of its rank in a recorded step
	Break bool // calls between the one before and it were not recorded: steps are missing, or the job began anew
}

// IsDone reports whether the call is recorded as completed.
func (c *Call) IsDone() bool { return c.State == comms.Completed }

// Kind is what calls of one line of code have alike.
type Kind struct {
	Name    string
	Op      nccl.Op
	Tensors *comms.Tensors
	Stack   int32
	Size    int    // of the group
	Stage   string // of the step, where the record says so
}

// Group is a process group over all its members.
type Group struct {
	Name, Desc string
	ID         uint64
	Silent     bool  // its messages are counted and not recorded
	OnHost     bool  // its members wait for its calls
	Members    []int // global ranks, known from its configuration; nil: those that have entries
}

// Add takes the calls of processes whose rank is known. A second record of one rank is merged with the first: of
// calls in both one stays, and of a process that was started again the later.
func (j *Program) Add(c *comms.Record) {
	a := j.sourceOf(c)
	for p := range c.Processes {
		if (c.Processes[p].Stack != nil || c.Processes[p].Ended != "") && !slices.ContainsFunc(c.Groups, func(g comms.Group) bool { return g.Process == p }) {
			continue // it says nothing of calls
		}
		j.Merge(a.process(p))
	}
}

// Prepare makes the zero Program ready for calls.
func (j *Program) Prepare() {
	if j.ByRank == nil {
		j.ByRank, j.named, j.known, j.framed = map[int]int{}, map[string]int{}, ordered.Numbers[string]{}, ordered.Numbers[string]{}
	}
}

// source is one record on its way into a program.
type source struct {
	*Program
	c      *comms.Record
	stacks []int32
	kinds  map[Kind]int32 // by what of the record they refer to
}

func (j *Program) sourceOf(c *comms.Record) *source {
	a := &source{Program: j, c: c, stacks: make([]int32, len(c.Stacks)), kinds: map[Kind]int32{}}
	for i, frames := range c.Stacks {
		at, first := j.framed.Of(fmt.Sprint(frames))
		if first {
			j.Stacks = append(j.Stacks, frames)
		}
		a.stacks[i] = int32(at)
	}
	return a
}

func (a *source) process(p int) Rank {
	from := &a.c.Processes[p]
	r := Rank{ID: from.Rank, Host: from.Host, Lost: from.Lost, Written: from.Written, Extent: from.Extent, Progress: map[int]Progress{}}
	groups := make([]int32, len(a.c.Groups))
	for i := range a.c.Groups {
		groups[i] = -1
		if g := &a.c.Groups[i]; g.Process == p {
			groups[i] = a.group(g)
			in := &a.Groups[groups[i]]
			in.Silent, in.OnHost = in.Silent || g.Silent, in.OnHost || g.OnHost
			r.Progress[int(groups[i])] = Progress{g.Enqueued, g.Completed, g.TimedOut}
		}
	}
	nth, step, calls := map[groupStep]int32{}, int64(-1), 0
	for i := range a.c.Calls {
		if a.c.Calls[i].Process == p {
			calls++
		}
	}
	r.Calls = make([]Call, 0, calls)
	for i := range a.c.Calls {
		c := &a.c.Calls[i]
		if c.Process != p || !c.HasEnter || c.Group < 0 {
			continue
		}
		made := Call{Enter: c.Enter, Seq: c.Seq, Group: groups[c.Group], Kind: a.kind(c), Peer: int32(c.Peer), State: c.State}
		if c.Retired {
			made.State = comms.Completed
		}
		if c.Exit > c.Enter {
			made.Held = c.Exit - c.Enter
		}
		if c.Step >= 0 {
			at := groupStep{made.Group, c.Step}
			nth[at]++
			made.Nth = int8(min(nth[at], math.MaxInt8))
			if len(nth) == 1 && made.Nth == 1 {
				r.steps[0] = c.Step
			}
			r.steps[1] = c.Step
		}
		made.First = c.Step >= 0 && c.Step != step
		step = c.Step
		r.Calls = append(r.Calls, made)
	}
	a.number(r.Calls)
	return r
}

// groupStep is a step of a group.
type groupStep struct {
	group int32
	step  int64
}

// number gives numbers to calls that have none, by their order.
func (j *Program) number(calls []Call) {
	type numbered struct {
		group   int32
		message bool // these are numbered by themselves
	}
	last := map[numbered]int64{}
	for i := range calls {
		c := &calls[i]
		key := numbered{c.Group, j.IsMessage(c)}
		if c.Seq < 0 {
			c.Seq = last[key] + 1
		}
		last[key] = c.Seq
	}
}

// kind returns the number of the kind of a call in the program.
func (a *source) kind(c *comms.Call) int32 {
	k := Kind{Name: cmp.Or(c.Name, c.Op.String()), Tensors: c.Tensors, Stack: -1, Size: a.c.Groups[c.Group].Size, Op: c.Op, Stage: c.Stage}
	k.Name, _, _ = strings.Cut(k.Name, " ") // "send 1->2"
	if c.Stack >= 0 {
		k.Stack = a.stacks[c.Stack]
	}
	i, ok := a.kinds[k]
	if !ok {
		at, first := a.known.Of(fmt.Sprint(k.Name, k.Op, k.Stack, k.Size, ShapeOf(&k), k.Stage))
		if i = int32(at); first {
			a.Program.Kinds = append(a.Program.Kinds, k)
		}
		a.kinds[k] = i
	}
	return i
}

// group returns the number of a group in the program. Names are not unique: those of different members are different
// groups. A record without entries has no description: its group is the one that has the name and the members.
func (j *Program) group(g *comms.Group) int32 {
	if i, ok := j.named[j.keyOf(g)]; ok {
		return int32(i)
	}
	i := len(j.Groups)
	if g.Members != nil {
		alike := func(of Group) bool {
			return (of.Desc == "" || g.Desc == "") && of.Name == g.Name && of.ID == g.ID && slices.Equal(of.Members, g.Members)
		}
		if at := slices.IndexFunc(j.Groups, alike); at >= 0 {
			i = at
			j.Groups[i].Desc = cmp.Or(j.Groups[i].Desc, g.Desc)
		}
	}
	if i == len(j.Groups) {
		j.Groups = append(j.Groups, Group{Name: g.Name, Desc: g.Desc, ID: g.ID, Members: g.Members})
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

// Merge adds a process, or what is new of one that is there.
func (j *Program) Merge(r Rank) {
	i, ok := j.ByRank[r.ID]
	if !ok {
		j.ByRank[r.ID] = len(j.Ranks)
		j.Ranks = append(j.Ranks, r)
		return
	}
	old := &j.Ranks[i]
	if now, had := Newest(&r), Newest(old); now < had || now == had && r.Extent != comms.Whole && old.Extent == comms.Whole {
		r, *old = *old, r
	}
	// old is the earlier record now, and r the later.
	at := make(map[Call]int, len(r.Calls))
	for k, c := range r.Calls {
		at[identity(c)] = k
	}
	again := false // started again: numbers of the later record begin anew
	var before []Call
	for _, c := range old.Calls {
		k, both := at[identity(c)]
		switch {
		case !both:
			before = append(before, c)
			again = again || len(r.Calls) > 0 && c.Enter < r.Calls[0].Enter && r.Lost == 0
		case j.Kinds[r.Calls[k].Kind].Stack < 0: // JSON has no frames
			r.Calls[k].Kind = c.Kind
		}
	}
	if !again && len(before) > 0 {
		r.Calls = append(before, r.Calls...)
		slices.SortStableFunc(r.Calls, func(a, b Call) int { return cmp.Compare(a.Enter, b.Enter) })
		r.Lost = min(r.Lost, old.Lost)
	}
	r.Host = cmp.Or(r.Host, old.Host)
	if Newest(&r) == Newest(old) && old.Written != 0 { // two files of one dump: the earlier says more
		r.Written = min(cmp.Or(r.Written, old.Written), old.Written)
	}
	*old = r
}

// maxKeptCalls is how many of the latest calls of a rank are kept of a growing recording.
const maxKeptCalls = 1 << 16

// Extend appends what processes of a growing recording recorded since the last call. It reports whether the job began
// anew: a known process numbers its calls from the beginning.
func (j *Program) Extend(c *comms.Record) (anew bool) {
	j.Prepare()
	a := j.sourceOf(c)
	for p := range c.Processes {
		if j.extend(a.process(p)) {
			anew = true
		}
	}
	return anew
}

// extend appends the calls that a process recorded since the last call, and reports whether it began anew.
func (j *Program) extend(r Rank) (anew bool) {
	i, ok := j.ByRank[r.ID]
	if !ok {
		r.FromWindows = true
		j.ByRank[r.ID] = len(j.Ranks)
		j.Ranks = append(j.Ranks, r)
		return false
	}
	old := &j.Ranks[i]
	last := Newest(old)
	from := slices.IndexFunc(r.Calls, func(c Call) bool { return c.Enter > last })
	if from >= 0 {
		next := r.Calls[from:]
		anew = beginsAnew(old.Calls, &next[0])
		next[0].Break = anew || r.steps[0] > old.steps[1]+1
		for _, c := range next {
			if c.Enter > last {
				old.Calls = append(old.Calls, c)
			}
		}
		old.steps[1] = r.steps[1]
	}
	old.Lost += r.Lost
	if extra := len(old.Calls) - maxKeptCalls; extra > maxKeptCalls/4 { // now and then: O(1) a call
		old.Lost += int64(extra)
		old.Calls = append(old.Calls[:0], old.Calls[extra:]...)
	}
	return anew
}

// maxCallsBefore is how far back the previous call of a kind is looked for.
const maxCallsBefore = 64

// beginsAnew reports whether a call has no higher number than the last one before it of its kind and group.
func beginsAnew(before []Call, c *Call) bool {
	for k := len(before) - 1; k >= max(0, len(before)-maxCallsBefore); k-- {
		if b := &before[k]; b.Group == c.Group && b.Kind == c.Kind {
			return c.Seq <= b.Seq
		}
	}
	return false
}

// identity returns a call without what differs between two dumps of it.
func identity(c Call) Call {
	c.State, c.Kind, c.First, c.Break = 0, 0, false, false
	return c
}

// Newest returns when a rank entered its last call, ns; 0 without one.
func Newest(r *Rank) int64 {
	if len(r.Calls) == 0 {
		return 0
	}
	return r.Calls[len(r.Calls)-1].Enter
}

// ShapeOf returns sizes and types as text, to compare.
func ShapeOf(k *Kind) string {
	if k.Tensors == nil {
		return ""
	}
	return fmt.Sprint(*k.Tensors)
}

// Ratio returns into how many parts an all-gather or a reduce-scatter divides the whole; 0 where that is not known.
func (k *Kind) Ratio() int64 {
	whole, part, ok := k.Sizes()
	if n := comms.Elements(part); ok && n > 0 && comms.Elements(whole)%n == 0 {
		return comms.Elements(whole) / n
	}
	return 0
}

// Sizes returns the whole and the partial sizes of a call: output and input of an all-gather, input and output of a
// reduce-scatter; the ratio is the group's size. ok is false for other calls and unknown sizes.
func (k *Kind) Sizes() (whole, part [][]int64, ok bool) {
	if k.Tensors == nil || len(k.Tensors.InSizes) == 0 || len(k.Tensors.OutSizes) == 0 || k.Uneven() {
		return nil, nil, false
	}
	switch k.Op {
	case nccl.AllGather:
		return k.Tensors.OutSizes, k.Tensors.InSizes, true
	case nccl.ReduceScatter:
		return k.Tensors.InSizes, k.Tensors.OutSizes, true
	}
	return nil, nil, false
}

// Uneven reports whether members may give and take different sizes.
func (k *Kind) Uneven() bool {
	return k.Op == nccl.AlltoAll || strings.HasSuffix(k.Name, "_v") || strings.Contains(k.Name, "all_to_all") || strings.Contains(k.Name, "alltoall")
}
