package trace

import "github.com/sfstat/sfstat/trace/nccl"

// None is the index of nothing in the slices of a Comm.
const None = -1

// Comm is what a job recorded of its communication, whoever recorded it: debug
// logs, profilers, Flight Recorder dumps, a recorder in the training loop.
// Every reader of communication fills it, and says of each record where it is
// from; what a source does not know is left at the value that says so. Records
// refer to one another by index.
//
// Times are nanoseconds on the clock of the process that recorded them. Clocks
// of different Processes do not compare unless their Clock fields are equal.
type Comm struct {
	Run       string
	Sources   []CommSource
	Processes []CommProcess
	Groups    []CommGroup
	Calls     []CommCall // of each process in the order of its launches
	Stacks    [][]Frame  // of Calls, each once
	Notes     []Note
}

// CommSource is one file or stream.
type CommSource struct {
	Name string
	Kind CommSourceKind
}

// CommSourceKind is what recorded a source.
type CommSourceKind uint8

const (
	SourceUnknown CommSourceKind = iota
	SourceNCCLLog
	SourceNsight
	SourceInspector
	SourceFlightRecorder
	SourceKineto
	SourcePacket // the recorder's own arrivals
)

var commSourceNames = [...]string{"unknown", "nccl_log", "nsight", "nccl_inspector", "flight_recorder", "kineto", "packet"}

func (k CommSourceKind) String() string { return nameOf(commSourceNames[:], int(k)) }

// CommProcess is one process of the job.
type CommProcess struct {
	Rank      int // global; −1: not known
	Host      string
	LocalRank int   // −1: not known
	PID       int64 // 0: not known
	Device    int64 // CUDA index; −1: not known
	Clock     int   // processes of equal Clock read the same clock; a reader numbers them
	Source    int   // index of Sources
	Lost      int64 // records that a ring or a sample dropped; −1: some, and it is not known how many
}

// CommGroup is one process's side of a communicator or process group.
type CommGroup struct {
	Process int    // index of Processes
	Name    string // as the source names it ("0", "default_pg"); names need not be unique
	Desc    string
	ID      uint64 // equal on all members (NCCL's commId); 0: not known
	Rank    int    // in the group; −1: not known
	Size    int    // members; 0: not known
	Members []int  // global ranks in the order of the group; nil: not known
	// The last collective that the process enqueued, started and completed, by
	// sequence number; −1: not known.
	Enqueued, Started, Completed int64
}

// CommState is how far a call got.
type CommState uint8

const (
	CommStateUnknown CommState = iota
	CommScheduled
	CommStarted
	CommCompleted
)

var commStateNames = [...]string{"unknown", "scheduled", "started", "completed"}

func (s CommState) String() string { return nameOf(commStateNames[:], int(s)) }

// CommCall is one call of one process: a collective, a send or a receive, as
// its process entered it.
type CommCall struct {
	Group     int // index of Groups, None: not known
	Op        nccl.Op
	Name      string // as the source writes it ("gloo:all_reduce"); tells operations that Op does not know
	Seq       int64  // among the collectives of the group, or among its sends and receives; −1: not known
	OpID      int64  // logical operation: calls that were coalesced have one; −1: not known
	Enter     int64  // when the host entered the call
	HasEnter  bool
	Exit      int64 // when the host left it, on a source that knows
	HasExit   bool
	Count     int64 // elements; −1: not known
	Bytes     int64 // −1: not known
	Datatype  nccl.Datatype
	Reduction nccl.Reduction
	Peer      int // root of a rooted collective, other end of a send or receive, as a rank of the group; −1: none
	InSizes   [][]int64
	OutSizes  [][]int64
	InTypes   []string
	OutTypes  []string
	State     CommState
	Retired   bool
	Stack     int // index of Stacks, None: not known
	Pos       Pos
}

// Frame is one line of a Python stack, innermost first.
type Frame struct {
	Function string
	File     string
	Line     int
}
