package nccllog

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// None is the index of nothing.
const None = -1

// Log is one or many files, put together.
type Log struct {
	Files         []string
	Processes     []Process
	Communicators []Communicator
	Calls         []LoggedCall // in the order of the files, and of the lines in each
	Tunings       []Tuning     // those that belong to a call
	Blocks        []Block
	Versions      []string // as written, each once
	Warnings      []Warning
	Census        Census
}

// Process is one process, by host and pid. One whose lines all lost their heads has pid 0.
type Process struct {
	Host  string
	PID   int64
	Clock Clock // of its calls
	Lines int64
	Named []Mentions // messages that begin with an operation, each once; a slice, since jobs have many processes
}

// Mentions are the messages that begin with the name of one operation: who counts those counts calls, and more.
type Mentions struct {
	Op      nccl.Op
	Calls   int64 // lines of calls, repeated ones too
	Tunings int64 // "AllReduce: 262144 Bytes -> …"
	Damaged int64 // cut short or overwritten
}

// Lines is all of them.
func (m Mentions) Lines() int64 { return m.Calls + m.Tunings + m.Damaged }

// Communicator is one rank's side of a communicator: what a pointer means from one
// Init to the next.
type Communicator struct {
	Process int // index of Processes
	CommEvent
	Parent   int   // index of Communicators, None where there is no parent, or it is not known
	Inferred bool  // no line tells of it, only calls do
	Calls    int64 // logged
	Line     int64 // of its first mention
	File     int
}

// LoggedCall is a call and where it belongs.
type LoggedCall struct {
	Call
	Process int // index of Processes
	Comm    int // index of Communicators
	Tuning  int // index of Tunings, None where this rank's log has none
	TID     int64
	Device  int32
	Time    int64 // nanoseconds on Clock
	Clock   Clock
	Orphan  bool // its line lost the head; the communicator's pointer told whose it is
	File    int
	Line    int64
}

// Pos is where the call stands.
func (l *Log) Pos(c *LoggedCall) trace.Pos {
	return trace.Pos{File: l.Files[c.File], Line: c.Line}
}

// TuningOf is the tuning of a call, nil where this rank's log has none.
func (l *Log) TuningOf(c *LoggedCall) *Tuning {
	if c.Tuning == None {
		return nil
	}
	return &l.Tunings[c.Tuning]
}

// Warning is a line of level WARN.
type Warning struct {
	Process int
	File    int
	Line    int64
	Text    string
}

// Block is the topology that one rank printed for one communicator.
type Block struct {
	Process      int
	Comm         int     // index of Communicators, None where no line tells
	Widest, Each float64 // GB/s: the largest of any link, and of one GPU in all
	Nodes        []Node
	Paths        []PathRow
	Whole        bool // its end was read
}

// Node is a device, or another mention of one: links lead to devices that stand
// elsewhere in the block.
type Node struct {
	Device
	Parent    int // index of Nodes; None at the top
	Link      nccl.Link
	Bandwidth float64 // of that link, GB/s
	Rank      int32   // GPU: in the communicator, -1 for a mention
}

// PathRow is all paths from one device.
type PathRow struct {
	From  Device
	Paths []Path
}

// Census counts what was read, by kind, and what was not used, each with its
// first example.
type Census struct {
	Lines     int64 // of text
	Records   int64 // a line may hold several
	Kinds     [Damaged + 1]int64
	Calls     map[nccl.Op]int64
	Orphans   int64     // calls without a head that their communicator gave back
	Strays    int64     // … that it could not, since none or several processes have it
	Untied    int64     // tuning lines whose call was not found
	Unused    []Example // messages that are NCCL's and not read, by what they are about; the last may stand for "all others"
	Damages   []Example // by reason
	Foreigner Example   // lines of other programs
}

// Example is a count with the first of its kind.
type Example struct {
	About string
	Count int64
	File  int
	Line  int64
	Text  string // at most 200 bytes
}
