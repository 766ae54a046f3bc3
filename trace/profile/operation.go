package profile

import "github.com/sfstat/sfstat/trace/enum"

// Operation is what a communicating call does.
type Operation uint8

const (
	UnknownOperation Operation = iota
	AllReduce
	AllGather
	ReduceScatter
	Broadcast
	Reduce
	AllToAll
	Gather
	Scatter
	Barrier
	Send
	Recv
	SendRecv // a kernel that does both
)

var operationNames = [...]string{"communication", "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all",
	"gather", "scatter", "barrier", "send", "recv", "send-recv"}

func (o Operation) String() string { return enum.Name(operationNames[:], o) }

// PointToPoint reports whether the operation is between two ranks.
func (o Operation) PointToPoint() bool { return o >= Send }
