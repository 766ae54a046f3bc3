package nccl

import (
	"strconv"
	"strings"
)

// wordsOf are looked for in names without signs and in lower case; words that hold
// others come first.
var wordsOf = []struct {
	word string
	op   Op
}{
	{"allreduce", AllReduce}, {"crossdevicereduce", AllReduce}, {"twoshot", AllReduce}, {"oneshot", AllReduce},
	{"allgather", AllGather}, {"reducescatter", ReduceScatter}, {"alltoall", AlltoAll}, {"all2all", AlltoAll},
	{"sendrecv", SendRecv}, {"broadcast", Broadcast}, {"bcast", Broadcast}, {"barrier", Barrier},
	{"gather", Gather}, {"scatter", Scatter}, {"reduce", Reduce}, {"irecv", Recv}, {"recv", Recv}, {"isend", Send}, {"send", Send},
	{"dispatch", AlltoAll}, {"combine", AlltoAll},
}

// OpIn reads the name of a collective, a call or a kernel, whoever wrote it:
// "allreduce", "nccl:_all_gather_base", "ncclKernel_AllReduce_RING_LL_Sum_float(…)".
func OpIn(name string) Op {
	name = Function(name)
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	for _, w := range wordsOf {
		if strings.Contains(plain, w.word) {
			return w.op
		}
	}
	return UnknownOp
}

// Function returns the name of a function, such as a kernel, without its parameters and the namespaces that have no name.
func Function(name string) string {
	name = strings.ReplaceAll(strings.ReplaceAll(name, "(anonymous namespace)::", ""), "<unnamed>::", "")
	name, _, _ = strings.Cut(name, "(")
	return name
}

// rankBits hold every rank that a job may have.
const rankBits = 20

// Ends returns the positions in its group in the name of a send or receive of PyTorch: "nccl:send 0->1", "nccl:recv 1<-0"; −1
// without.
func Ends(name string) (self, peer int) {
	for _, arrow := range [...]string{"->", "<-"} {
		before, after, found := strings.Cut(name, arrow)
		if !found {
			continue
		}
		self, errSelf := strconv.ParseUint(before[strings.LastIndexByte(before, ' ')+1:], 10, rankBits)
		peer, errPeer := strconv.ParseUint(strings.TrimSpace(after), 10, rankBits)
		if errSelf == nil && errPeer == nil && self != peer {
			return int(self), int(peer)
		}
	}
	return -1, -1
}
