package comms

import (
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// State is how far a call got.
type State uint8

const (
	StateUnknown State = iota
	Scheduled
	Started
	Completed
)

var stateNames = [...]string{"unknown", "scheduled", "started", "completed"}

func (s State) String() string { return enum.Name(stateNames[:], s) }

// Names returns the names of all values.
func (State) Names() []string { return stateNames[:] }

// Call is one call of one process: a collective, a send or a receive, as
// its process entered it. [UnknownCall] is one of which nothing is known.
type Call struct {
	Process  int    // index of Processes
	Group    int    // index of Groups, None: not known
	Name     string // as the source writes it ("gloo:all_reduce"), where Op does not tell
	Op       nccl.Op
	Datatype nccl.Datatype
	HasEnter bool
	State    State
	Retired  bool
	// No other kernel can have run the call.
	KernelSure bool
	Kernel     int   // that ran it, index of its process's Kernels; None: not known, or none
	Seq        int64 // among the collectives of the group, or among its sends and receives; −1: not known
	OpSeq      int64 // among the calls of the group with the same Op; −1: not known
	Launch     int64 // launches of the group before it, as its process counts; calls that were launched together share it; −1: not known
	Enter      int64 // when the host entered the call, where HasEnter
	Exit       int64 // when the host left it, on a source that knows

	Step  int64  // of the training that it is in; −1: not known
	Stage string // of the step; "": not known

	Count     int64 // elements, as the call counts them; −1: not known
	Bytes     int64 // count × size of the type; −1: not known
	Reduction nccl.Reduction
	Peer      int // root of a rooted collective, other end of a send or receive, as a rank of the group; −1: none
	Tensors   *Tensors

	Thread     int64   // that entered it; 0: not known
	Stream     uint64  // on which it runs, as the source names it; 0: not known
	Send, Recv uint64  // addresses of its buffers; 0: not known
	Tuning     *Tuning // nil: not known

	Stack  int   // index of Stacks, None: not known
	Source int   // index of Sources
	Line   int64 // in its source: line, row or entry, from 1
}

// UnknownCall returns a call of a process without any known property.
func UnknownCall(process int) Call {
	return Call{Process: process, Group: None, Seq: -1, OpSeq: -1, Launch: -1, Step: -1, Count: -1, Bytes: -1,
		Datatype: nccl.UnknownType, Peer: -1, Kernel: None, Stack: None}
}

// Tensors is what a call took and gave, each with its sizes.
type Tensors struct {
	InSizes, OutSizes [][]int64
	InTypes, OutTypes []string
}

// Elements returns the number of elements of all tensors, −1 where it is not known.
func Elements(shape [][]int64) int64 {
	if len(shape) == 0 {
		return -1
	}
	sum := int64(0)
	for _, t := range shape {
		n := int64(1)
		for _, dim := range t {
			if dim < 0 || dim > 0 && n > (1<<62)/dim {
				return -1
			}
			n *= dim
		}
		if sum += n; sum < 0 {
			return -1
		}
	}
	return sum
}

// Tuning is how NCCL chose to run a collective.
type Tuning struct {
	Algo       nccl.Algo
	Protocol   nccl.Protocol
	Channels   int32 // 0: not known
	CopyEngine bool  // no kernel runs it
}

// Frame is one line of a Python stack, innermost first.
type Frame struct {
	Function string
	File     string
	Line     int
}

// Kernel is a kernel that communicates.
type Kernel struct {
	nccl.KernelName
	HasSpan     bool
	HasLaunch   bool
	HasPeerWait bool
	Replay      bool  // a CUDA graph launched it: its call was recorded once, when the graph was captured
	Start, End  int64 // when HasSpan
	Duration    int64 // as the device measured it by itself; 0: not measured
	Reported    int64 // when its process wrote down that it had ended; 0: not known
	PeerWait    int64 // mean time for which its proxies waited for the other side, when HasPeerWait
	Stream      int64
	Correlation int64   // by which its source ties it to its launch
	Launch      int64   // when the host launched it, when HasLaunch
	Thread      int64   // that launched it; 0: not known
	Grid, Block int32   // blocks, which are channels in use, and threads of each; 0: not known
	Config      *Config // nil: not known
}

// Config is how a kernel was launched, shared by all that were launched alike. −1 stands for what is not known.
type Config struct {
	Name                        string // in full
	Grid, Block                 [3]int64
	Registers                   int64 // of a thread
	StaticShared, DynamicShared int64 // bytes of a block
	Local                       int64 // bytes of local memory, in all
}
