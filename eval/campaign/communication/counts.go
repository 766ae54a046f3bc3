package communication

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Count is what a log and a trace have of one operation, of ranks that have equally much:
//
//	Lines    = Tunings + Damaged + Repeated + Calls
//	Calls    = Silent + Joined + Launches
//	Launches − OnlyLogged + OnlyTraced = Kernels
//
// The first is what a counter of lines takes for calls. Sends and receives are counted as SendRecv, which is what runs
// them; where a group does several operations, its kernel counts for that of the largest.
type Count struct {
	Ranks []int
	numbers
}

// numbers are those of one operation.
type numbers struct {
	Op nccl.Op

	Lines    int64 // that begin with the operation
	Tunings  int64 // of them: how a collective is run, no call
	Damaged  int64 // cut short or overwritten
	Repeated int64 // the same call once more
	Calls    int64
	Silent   int64 // calls that launch nothing: of one rank, of no elements, by copies
	Joined   int64 // calls that run in the kernel of another one of their group
	Launches int64 // kernels that there must be
	Kernels  int64 // in the trace

	OnlyLogged int64 // launches without a kernel: the trace lacks it
	OnlyTraced int64 // kernels without a call: the log lacks it
}

// Counts returns the operations of a recording, ranks with equal numbers together. It leaves out ranks without calls or without
// kernels, and ranks whose calls and kernels were matched by NVTX and not by the log.
func (r *Recording) Counts() []Count {
	var out []Count
	for i := range r.Result.Ranks {
		k := &r.Result.Ranks[i]
		if k.Matching == nil {
			continue
		}
		ops := tally{}
		ops.lines(r.Result, k)
		ops.calls(r.Result, k)
		ops.kernels(r.Result, i)
		for _, op := range slices.Sorted(maps.Keys(ops)) {
			ops[op].Op = op
			out = gather(out, *ops[op], k.Rank)
		}
	}
	slices.SortStableFunc(out, func(a, b Count) int { return int(a.Op) - int(b.Op) })
	return out
}

// gather adds a rank to the count that is like its own.
func gather(all []Count, n numbers, rank int) []Count {
	for i := range all {
		if all[i].numbers == n {
			all[i].Ranks = append(all[i].Ranks, rank)
			return all
		}
	}
	return append(all, Count{[]int{rank}, n})
}

// tally is the numbers of one rank by operation.
type tally map[nccl.Op]*numbers

func (t tally) numbersOf(op nccl.Op) *numbers {
	if op.PointToPoint() {
		op = nccl.SendRecv
	}
	if t[op] == nil {
		t[op] = &numbers{}
	}
	return t[op]
}

// lines counts what a counter of lines sees.
func (t tally) lines(r *comm.Result, k *comm.Rank) {
	for _, m := range r.Recorded.Processes[k.Log].Lines {
		c := t.numbersOf(m.Op)
		c.Lines += m.Total()
		c.Tunings += m.Tunings
		c.Damaged += m.Damaged
	}
}

// calls counts calls and what they launch, by NCCL's rules.
func (t tally) calls(r *comm.Result, k *comm.Rank) {
	for i, why := range k.Matching.Why {
		c := t.numbersOf(r.Calls[k.Calls[i]].Op)
		switch why {
		case align.Duplicate:
			c.Repeated++
			continue
		case align.Launches:
			c.Joined++ // but for the one that gives its launch the name
		default:
			c.Silent++
		}
		c.Calls++
	}
	for i := range k.Matching.Launches {
		if l := &k.Matching.Launches[i]; l.Lead >= 0 {
			c := t.numbersOf(l.Op)
			c.Launches++
			c.Joined--
			c.OnlyLogged++ // until its kernel is found
		}
	}
}

// kernels counts what ran; one that only a replay of a graph launched has no call of its own and is left out.
func (t tally) kernels(r *comm.Result, rank int) {
	k := &r.Ranks[rank]
	launched := map[int]nccl.Op{} // kernels with a call
	for _, m := range k.Matching.Matches {
		if l := &k.Matching.Launches[m.Launch]; l.Lead >= 0 {
			launched[m.Kernel] = l.Op
			t.numbersOf(l.Op).OnlyLogged--
		}
	}
	for n, x := range r.Kernels(rank) {
		if x.Replay {
			continue
		}
		op, known := launched[n]
		if !known {
			op = x.Op
			t.numbersOf(op).OnlyTraced++
		}
		t.numbersOf(op).Kernels++
	}
}
