package logline

import "github.com/sfstat/sfstat/trace/nccl"

// Kind is what a record is.
type Kind uint8

const (
	Other    Kind = iota // nothing that is read further: of NCCL or, without a head, of another program
	CallLine             // one call of the API
	TuningLine
	CommLine // a communicator: begun, made, split, destroyed
	TopologyLine
	WarnLine
	Damaged // begins like one of the above and cannot be read
)

// Clock says what a stamp counts.
type Clock uint8

const (
	NoClock Clock = iota // no stamp, which is the default
	Epoch                // since 1970 UTC
	Wall                 // on the wall, in a zone that the log does not tell; read as if UTC
)

// Head is what stands before the message. All of it may be lacking.
type Head struct {
	Host   string
	PID    int64 // 0 where the line lost it
	TID    int64
	Device int32 // the CUDA index of the thread at that moment; -1 where there is none
	Clock  Clock
	Time   int64 // nanoseconds on Clock
}

// Record is one message of the log. Text is valid until the next Scan.
type Record struct {
	Kind     Kind
	Line     int64
	Head     Head
	HasHead  bool   // "NCCL INFO" stood there, perhaps without host and pid
	Text     []byte // the message
	Why      string // Damaged: what is wrong
	Call     Call
	Tuning   Tuning
	Comm     CommEvent
	Topology TopologyItem
}

// Call is one call of the API as logged when it was enqueued, before anything was
// launched.
type Call struct {
	Op         nccl.Op
	OpCount    uint64 // launches of the communicator so far, as this rank counts
	Send, Recv uint64 // buffers, 0 for (nil)
	Count      uint64 // elements, as the API counts them: per rank for AllGather and ReduceScatter
	Datatype   nccl.Datatype
	Reduction  nccl.Reduction // of what reduces
	Root       int64          // or the peer of a Send or Recv, a rank of the communicator
	Comm       uint64         // pointer, of this process
	Ranks      int32          // of the communicator
	Stream     uint64         // pointer
	Global     int32          // rank in the job, as RCCL says behind the call; -1 where it does not
}

// maxBytes is more than a message of one rank can have: memory of GPUs is less. Sums over all calls of a log stay below the
// largest int64.
const maxBytes = 1 << 40

// Bytes returns count times size of the type, 0 for an unknown type and -1 if that is more than any rank holds.
func (c *Call) Bytes() int64 {
	size := c.Datatype.Size()
	if size > 0 && c.Count > uint64(maxBytes/size) {
		return -1
	}
	return int64(c.Count) * size
}

// Tuning is how NCCL chose to run a collective; only the communicator's first rank
// prints it.
type Tuning struct {
	Op         nccl.Op // UnknownOp up to NCCL 2.22, which does not say
	Bytes      int64
	Algo       nccl.Algo
	Protocol   nccl.Protocol
	Channels   int32 // 0 where the line does not say
	CopyEngine bool  // moves the data, and no kernel
	Numeric    bool  // the form of up to 2.23: bytes are of all ranks, and of a whole group
}

// Step is how far a communicator has come.
type Step uint8

const (
	Announced Step = iota // 2.4, before Init COMPLETE
	Started
	Completed
	Destroyed // or aborted
)

// CommEvent is a line about the life of a communicator.
type CommEvent struct {
	Step    Step
	Pointer uint64
	Rank    int32
	Ranks   int32
	CudaDev int32
	Bus     uint64 // domain<<20 | bus<<12 | device<<4 | function
	HasBus  bool
	ID      uint64 // commId: equal on all ranks of the communicator; 0 where there is none
	Parent  uint64 // pointer, of a split or shrink
	Split   int64  // the parent's splits so far, -1 where the line does not say
	Color   int64
}
