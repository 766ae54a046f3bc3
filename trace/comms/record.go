// Package comms holds what a job recorded of its communication, whichever source
// it is from: processes, their communicators, the calls that they entered and the
// kernels that ran them.
//
// Every reader of communication makes a [Record], and package comm (among the
// engines) judges it. The names of NCCL's operations, algorithms and links are in
// package nccl, beside this one.
package comms

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

const (
	None      = -1 // index of nothing in the slices of a Record
	ToNetwork = -1 // where a Path leads that leaves the machine
)

// Record is what a job recorded of its communication, whoever recorded it: debug
// logs, profilers, Flight Recorder dumps, a recorder in the training loop.
// Every reader of communication fills it, and says of each record where it is
// from; what a source does not know is left at the value that says so. Records
// refer to one another by index.
//
// Times are nanoseconds on the clock of the process that recorded them. Clocks
// of different Processes do not compare unless their Clock fields are equal.
//
// A process that two sources saw stands twice: which is which is for an engine
// to find.
type Record struct {
	Run       string
	Sources   []Source
	Processes []Process
	Groups    []Group // of each process in the order of their making, parents before their splits
	Calls     []Call  // of each process in the order of its launches
	Paths     []Path
	Links     []Link
	Stacks    [][]Frame // of Calls, each once
	Warnings  []Warning
	Unread    []Unread
	Orphans   int64 // calls whose record does not say whose they are, and which their communicator gave back
	Strays    int64 // … and which it could not give back
	Untied    int64 // tunings whose call was not found
	Notes     []input.Note
	Logged    bool // what groups have launched is counted in a log, which may lack ranks, and is no answer of NCCL
}

// Entries reports whether what is recorded is when ranks entered their calls: all
// processes know their rank, and none has kernels. Logs of NCCL say when calls were made, which is no more than that.
func (c *Record) Entries() bool {
	return !slices.ContainsFunc(c.Sources, func(s Source) bool { return s.Kind == SourceNCCLLog }) && !slices.ContainsFunc(c.Processes, func(p Process) bool { return p.Rank < 0 || len(p.Kernels) > 0 })
}

// RunName implements [trace.Recording].
func (c *Record) RunName() string { return c.Run }

// Source is one file or stream.
type Source struct {
	Name string // as results show it
	Path string // as it was opened
	Kind SourceKind
}

// SourceKind is what recorded a source.
type SourceKind uint8

const (
	SourceUnknown SourceKind = iota
	SourceNCCLLog
	SourceNsight
	SourceInspector
	SourceFlightRecorder
	SourceKineto
	SourcePacket // the recorder's own arrivals
	SourcePySpy
	SourceRAS      // of NCCL
	SourceHangText // messages of time-outs in a log
)

var sourceNames = [...]string{"unknown", "nccl_log", "nsight", "nccl_inspector", "flight_recorder", "kineto", "packet", "py_spy", "nccl_ras", "hang_text"}

func (k SourceKind) String() string { return enum.Name(sourceNames[:], k) }

// Process is one process of the job as one source saw it.
type Process struct {
	ID        int64 // as the source numbers processes, such as Nsight's globalPid
	Rank      int   // global; −1: not known
	Host      string
	LocalRank int    // −1: not known
	PID       int64  // 0: not known
	Device    int64  // CUDA index; −1: not known
	Bus       uint64 // of its GPU: domain<<20 | bus<<12 | device<<4 | function; 0: not known
	Clock     int    // processes of equal Clock read the same clock; a reader numbers them from 0
	Source    int    // index of Sources; of one whose records stand in several, the first
	Lost      int64  // records that a ring or a sample dropped; −1: some, and it is not known how many
	Begin     int64  // of its first record; 0: not known
	Written   int64  // when its file was last written, nanoseconds since 1970; 0: not known
	Extent    Extent // how much of its file could be read
	Steps     []Span
	Phases    []Span   // of steps, as the program marks them: passes, microbatches, the optimizer
	Kernels   []Kernel // by Start
	Lines     []Lines  // of a log, each operation once
	Stack     []Frame  // where its main thread was when somebody looked, innermost first; nil: nobody did
	Ended     string   // exception or exit code that it ended with, where Stack is that of its traceback; "": none is known
}

// Extent is how much of a file could be read.
type Extent uint8

const (
	Whole     Extent = iota
	CutOff           // it ends in the middle: what came last is missing
	Damaged          // some of its entries cannot be read
	NoEntries        // it is well-formed and has none
)

// Span is a named piece of time, such as a training step.
type Span struct {
	Name       string
	Start, End int64
}

// Lines counts the lines of a log that begin with the name of an
// operation: who counts those counts calls, and more.
type Lines struct {
	Op      nccl.Op
	Calls   int64 // lines of calls, repeated ones too
	Tunings int64
	Damaged int64 // cut short or overwritten
}

// Total returns the number of all lines.
func (l Lines) Total() int64 { return l.Calls + l.Tunings + l.Damaged }

// Group is one process's side of a communicator or process group.
type Group struct {
	Process int    // index of Processes
	Name    string // as the source names it ("0", "default_pg"); names need not be unique
	Desc    string
	ID      uint64 // equal on all members (NCCL's commId); 0: not known
	Handle  uint64 // by which its process calls it, a pointer; 0: not known
	Split   *Split // nil: no split of another, or not known
	Rank    int    // in the group; −1: not known
	Size    int    // members; 0: not known
	Members []int  // global ranks in the order of the group; nil: not known
	// Launches of its calls are counted from its making. A profiler that
	// began later counts from its own beginning.
	FromStart bool
	// The last collective that the process enqueued and completed, by sequence
	// number; −1: not known.
	Enqueued, Completed int64
	// Launched counts the calls that its process has launched on it, when that was asked; nil: not known.
	Launched []Launched
	// TimedOut: its process says that it waited for too long.
	TimedOut bool
	// Unanswered: its process was asked, and did not answer.
	Unanswered bool
	// Silent: its sends and receives are counted and not recorded.
	Silent bool
	// OnHost: its backend works on CPUs (Gloo, MPI), so that the host waits for
	// every call before it uses what that gives.
	OnHost bool
}

// Launched is how many calls of an operation were launched.
type Launched struct {
	Op nccl.Op
	N  int64
}

// Split says how a communicator was split off: its members made the same
// split of the same parent, with the same colour.
type Split struct {
	Parent int   // index of Groups, None: not known
	Number int64 // the parent's splits before it, −1: not known
	Color  int64
}

// Path is the way from one member of a group to another on the same
// machine, or to the network, as one of its processes saw the topology.
type Path struct {
	Group     int       // index of Groups
	From, To  int       // ranks in the group; To may be ToNetwork
	Class     nccl.Link // of its worst link
	Bandwidth float64   // of its narrowest link, GB/s
}

// Device is a device of a machine, named as its topology names it.
type Device struct {
	Name string          // name, unique on the host
	Kind nccl.DeviceKind // kind of culprit
	Rank int             // rank of the job that has it
}

// Link is a link between two devices of one machine, as one process of a group saw the topology. Links of a group are those of the
// machine that this process is on; a machine has those of one process.
type Link struct {
	Group     int // index of Groups
	From, To  Device
	Class     nccl.Link
	Bandwidth float64 // GB/s; 0: not known
}

// Warning is a warning that NCCL printed.
type Warning struct {
	Process int // index of Processes
	Source  int // index of Sources
	Line    int64
	Text    string
}

// Unread is records that could not be read, of one reason, with the first of them.
type Unread struct {
	Reason string
	Count  int64
	Source int // index of Sources
	Line   int64
	Text   string // its beginning
}

// CountUnread counts a record that could not be read, and keeps it if it is the first of its reason.
func (c *Record) CountUnread(u Unread) {
	i := slices.IndexFunc(c.Unread, func(x Unread) bool { return x.Reason == u.Reason })
	if i < 0 {
		i = len(c.Unread)
		c.Unread = append(c.Unread, u)
	}
	c.Unread[i].Count++
}

// Ran returns when a call ran, from begin to end: its kernel, or else the call itself.
func (c *Record) Ran(call int) (start, end int64) {
	x := &c.Calls[call]
	if x.Kernel == None {
		return x.Enter, x.Exit
	}
	k := &c.Processes[x.Process].Kernels[x.Kernel]
	return k.Start, k.End
}

// Pos returns where a call was recorded.
func (c *Record) Pos(call int) input.Pos {
	x := &c.Calls[call]
	s := &c.Sources[x.Source]
	switch s.Kind {
	case SourceNsight:
		return input.Pos{File: s.Path, Inside: fmt.Sprintf("NVTX_EVENTS row %d", x.Line)}
	case SourceFlightRecorder:
		return input.Pos{File: s.Path, Inside: fmt.Sprintf("entry %d", x.Line)}
	}
	return input.Pos{File: s.Path, Line: x.Line}
}
