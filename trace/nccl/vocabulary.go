package nccl

import "github.com/sfstat/sfstat/trace/enum"

// Op is what a rank asked its communicator to do, or what a kernel does. PyTorch's
// operations and those of other profilers are the same, and Barrier besides.
type Op uint8

const (
	UnknownOp Op = iota
	AllGather
	AllReduce
	Broadcast
	Reduce
	ReduceScatter
	Send
	Recv
	AlltoAll
	Gather
	Scatter
	PutSignal
	Signal
	WaitSignal
	AllToAllPivot
	SendRecv // never a call: the kernel that runs the sends and receives of a group
	Generic  // a kernel whose name does not tell: RCCL runs nearly everything so
	Barrier  // of PyTorch: NCCL has no name for it, and results that list its operations none either
	numOps
)

var opNames = [numOps]string{"unknown", "AllGather", "AllReduce", "Broadcast", "Reduce", "ReduceScatter", "Send", "Recv",
	"AlltoAll", "Gather", "Scatter", "PutSignal", "Signal", "WaitSignal", "AllToAllPivot", "SendRecv", "Generic", ""}

func (o Op) String() string { return enum.Name(opNames[:], o) }

// Names returns the names of all values.
func (Op) Names() []string { return enum.Names(func(i int) string { return Op(i).String() }) }

// ParseOp reads the name as the log and kernels write it, UnknownOp for any
// other.
func ParseOp[T ~string | ~[]byte](name T) Op {
	return valueOf[Op](opNames[:Barrier], name)
}

var opWords = [numOps]string{"communication", "all-gather", "all-reduce", "broadcast", "reduce", "reduce-scatter", "send", "recv",
	"all-to-all", "gather", "scatter", "put-signal", "signal", "wait-signal", "all-to-all-pivot", "send-recv", "communication", "barrier"}

// Words returns the name as in prose and XLA, "all-reduce".
func (o Op) Words() string { return enum.Name(opWords[:], o) }

// valueOf returns the value of a name, 0 where it has none.
func valueOf[E ~uint8, T ~string | ~[]byte](names []string, name T) E {
	for i := 1; i < len(names); i++ {
		if string(name) == names[i] {
			return E(i)
		}
	}
	return 0
}

// PointToPoint reports whether the operation runs in a SendRecv kernel: sends, receives, and NCCL's combinations of them.
func (o Op) PointToPoint() bool {
	switch o {
	case Send, Recv, AlltoAll, Gather, Scatter, SendRecv:
		return true
	}
	return false
}

// OfMessages reports whether the operation is a collective that NCCL builds from sends and receives.
func (o Op) OfMessages() bool { return o.PointToPoint() && !o.Message() }

// Message reports whether the operation is between two ranks: a send, a receive, or
// the kernel that does both.
func (o Op) Message() bool { return o == Send || o == Recv || o == SendRecv }

// OneSided reports whether the operation is a signal or a put, which launches no kernel named after it.
func (o Op) OneSided() bool { return o == PutSignal || o == Signal || o == WaitSignal }

// Rooted reports whether one rank of a collective gives or takes for all.
func (o Op) Rooted() bool { return o == Broadcast || o == Reduce || o == Gather || o == Scatter }

// Reduces reports whether the operation combines elements, so that its kernel is compiled for an element type.
func (o Op) Reduces() bool { return o == AllReduce || o == Reduce || o == ReduceScatter }

// Datatype is ncclDataType_t as printed; UnknownType is none of them.
type Datatype uint8

const (
	Int8 Datatype = iota
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	Bfloat16
	Float8E4M3
	Float8E5M2
	UnknownType Datatype = 255
)

var datatypes = [...]struct {
	name string
	size int64
}{{"int8", 1}, {"uint8", 1}, {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8}, {"float16", 2}, {"float32", 4},
	{"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}}

func (d Datatype) String() string {
	if int(d) < len(datatypes) {
		return datatypes[d].name
	}
	return "unknown"
}

// Size returns the bytes of one element, 0 for an unknown type.
func (d Datatype) Size() int64 {
	if int(d) < len(datatypes) {
		return datatypes[d].size
	}
	return 0
}

// Signless maps signed integers to their unsigned twins: kernels are compiled
// for one of the two.
func (d Datatype) Signless() Datatype {
	switch d {
	case Int8, Int32, Int64:
		return d + 1
	}
	return d
}

// Reduction is ncclRedOp_t as printed. From 5 on it is an operator that the
// program made.
type Reduction int64

const (
	Sum Reduction = iota
	Prod
	Max
	Min
	Avg
)

func (r Reduction) String() string {
	if names := [...]string{"sum", "prod", "max", "min", "avg"}; r >= 0 && int(r) < len(names) {
		return names[r]
	}
	return "user-made"
}

// Algo is how a collective is laid over the ranks.
type Algo uint8

const (
	UnknownAlgo Algo = iota
	Tree
	Ring
	CollNetDirect // COLLNET up to NCCL 2.13
	CollNetChain
	NVLS
	NVLSTree
	PAT
	numAlgos
)

var algoNames = [numAlgos]string{"unknown", "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"}

func (a Algo) String() string { return enum.Name(algoNames[:], a) }

// ParseAlgo reads the name as tuning lines and kernels write it.
func ParseAlgo[T ~string | ~[]byte](name T) Algo {
	if string(name) == "COLLNET" {
		return CollNetDirect
	}
	return valueOf[Algo](algoNames[:], name)
}

// AlgoNumber returns the algorithm of a number in tuning lines up to NCCL 2.23.
func AlgoNumber(n int64) Algo {
	if n < 0 || n >= int64(numAlgos)-1 {
		return UnknownAlgo
	}
	return Algo(n) + Tree
}

// Protocol is how data and flags travel.
type Protocol uint8

const (
	UnknownProtocol Protocol = iota
	LL
	LL128
	Simple
	numProtocols
)

var protocolNames = [numProtocols]string{"unknown", "LL", "LL128", "SIMPLE"}

func (p Protocol) String() string { return enum.Name(protocolNames[:], p) }

// ParseProtocol reads the name as tuning lines write it.
func ParseProtocol[T ~string | ~[]byte](name T) Protocol {
	return valueOf[Protocol](protocolNames[:], name)
}

// ProtocolNumber returns the protocol of a number in tuning lines up to NCCL 2.23.
func ProtocolNumber(n int64) Protocol {
	if n < 0 || n >= int64(numProtocols)-1 {
		return UnknownProtocol
	}
	return Protocol(n) + LL
}
