// Package parallel says what the communicators of a job are for: tensor, data, pipeline,
// expert or context parallelism. A layout that is given decides; else the operations,
// their sizes and repetition, and how the ranks lie are evidence for one or another, and
// where that does not decide, the kind stays unknown.
package parallel

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Communicator is one communicator of the job and what was done on it.
type Communicator struct {
	ID        string     // commId as the log writes it; of a split the parent's with number and colour; else host, pid and pointer
	Kind      Kind       // what it is for: data, tensor, pipeline, expert or context parallelism
	Evidence  []Evidence // of the kind
	Ranks     []int      // ranks of the job that are in it and left a log, ascending; each once
	NRanks    int        // ranks that are in it
	Sides     []int      // indices of Groups, of those ranks
	Joined    bool       // put together by ends of collectives alone
	Alone     bool       // one side, and nothing tells the others
	Hosts     int        // hosts of ranks
	Ops       []OpUse    // what was called on it, most calls first
	Signature            // how the rank with most calls on it uses it
}

// OpUse is what was done with one operation: calls and bytes (count × size of the type, as logged)
// over all ranks.
type OpUse struct {
	Op    nccl.Op // operation
	Calls int64   // calls of all ranks
	Bytes int64   // count × size of the type as logged, of all ranks: for AllGather and ReduceScatter what one rank contributes or keeps
}

// OpTally adds up calls by operation.
type OpTally map[nccl.Op]*OpUse

// Add adds a call; bytes below 0 are not known.
func (t OpTally) Add(op nccl.Op, bytes int64) {
	if t[op] == nil {
		t[op] = &OpUse{Op: op}
	}
	t[op].Calls++
	t[op].Bytes += max(bytes, 0)
}

// Uses returns the operations, most calls first.
func (t OpTally) Uses() (all []OpUse) {
	for _, u := range t {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b OpUse) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Op, b.Op)) })
	return all
}

// Total returns calls and bytes of all operations.
func (c *Communicator) Total() (calls, bytes int64) {
	for _, u := range c.Ops {
		calls, bytes = calls+u.Calls, bytes+u.Bytes
	}
	return calls, bytes
}

// Signature is how a communicator is used, by one rank that has most calls on it.
type Signature struct {
	Calls      int     // calls of the rank
	Large      int     // of them those of at least 16 KiB
	Steps      int     // steps that its NVTX ranges mark; 0 where none do
	PerStep    float64 // large calls in a step; NaN without steps
	Repeats    float64 // how often the most frequent size of large calls comes, in a step; in all where there are none
	Burstiness float64 // (σ − μ)/(σ + μ) of the times between calls: −1 even, 1 in bursts; NaN without times
	Largest    int64   // the largest message
	LargeOps   map[nccl.Op]int
	Averages   int     // reductions that average
	Grouped    int     // large collectives that share their launch with others
	Successive float64 // of large all-gathers, the part that stands in runs of four or more without a reduction between
	Visits     int     // runs of large collectives that large messages of the rank, on any communicator, break
	Elsewhere  int     // launches of such messages
	Sending
}

// Sending is how a communicator is used for sends and receives, by the same rank.
type Sending struct {
	Peers  float64 // ranks that one launch sends to, on average over those that send
	Lone   int     // launches that send and do not receive, or the reverse
	Mutual bool    // a rank that is sent to is received from as well
	Uneven bool    // sends of one launch differ in size
}

// LargeBytes is from which on a message carries data of the model, not a flag, a loss or a norm.
const LargeBytes = 16 << 10
