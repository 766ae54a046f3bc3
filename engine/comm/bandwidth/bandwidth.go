// Package bandwidth asks how fast calls of NCCL moved data, beside what their links
// allow and beside their peers.
//
// The kernel of a member runs from its own start to the common end, so that the one that comes
// early is long for no fault of its own. Data move once all are there:
//
//	wait of a member = latest start − its own start
//	transfer         = latest end − latest start
//	algorithm bandwidth = S / transfer,   bus bandwidth = algorithm bandwidth · f
//
// with the size S and the factor f of [capacity.Convention]. The bus bandwidth can be held against
// a link: in a ring each link carries f·S, whatever the number of ranks
// (nccl-tests, doc/PERFORMANCE.md).
//
// Units: nanoseconds, bytes, and bytes per nanosecond, which are GB/s of 10⁹ bytes.
//
// Assumptions: starts and ends of one call are on one clock; where they are not, [Measure].Apart
// shows it, because the members of a collective end within microseconds of each other.
package bandwidth

import (
	"errors"

	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Span is when one member's kernel ran, nanoseconds.
type Span struct{ Start, End int64 }

// Call is one call of a communicator with all its members.
type Call struct {
	Subject int // what it ran over: index of the Subjects of Analyze
	Op      nccl.Op
	Algo    nccl.Algo
	Bytes   int64 // as the log has it: elements × size of one, of one rank, or to one peer
	Members []Span
}

// Measure is how one call went.
type Measure struct {
	Transfer   int64 // nanoseconds; more than 0
	Wait       int64 // mean over members, nanoseconds
	LatestRank int   // member that all others waited for: the last to start
	Apart      int64 // between the first and the last end of the members
	Algorithm  float64
	Bus        float64 // GB/s
}

// Over is the same call with bandwidths over another time than its transfer: by equation 4.10 of the NCCL Trace Profiler
// a kernel's own, in which it also waits for the last.
func (m Measure) Over(duration int64) Measure {
	part := float64(m.Transfer) / float64(duration)
	m.Algorithm, m.Bus = m.Algorithm*part, m.Bus*part
	return m
}

// errUnresolved says that a call's members do not overlap as those of one call do.
var errUnresolved = errors.New("the members of the call do not overlap: their clocks are further apart than the transfer took")

// errAlone is a call with fewer than two members, which moves nothing.
var errAlone = errors.New("fewer than two members")

// measure measures a call. A member that ends before the last one starts is errUnresolved for what
// ends together; the sender of a point-to-point call or a root may be done by then.
func measure(c *Call, how capacity.Convention) (Measure, error) {
	n := len(c.Members)
	if n < 2 {
		return Measure{}, errAlone
	}
	m := Measure{}
	first, last := c.Members[0].End, c.Members[0].End
	for i, s := range c.Members {
		if s.Start > c.Members[m.LatestRank].Start {
			m.LatestRank = i
		}
		first, last = min(first, s.End), max(last, s.End)
	}
	start := c.Members[m.LatestRank].Start
	m.Transfer, m.Apart = last-start, last-first
	if m.Transfer <= 0 || endsTogether(c.Op) && first <= start {
		return Measure{}, errUnresolved
	}
	var waits float64
	for _, s := range c.Members {
		waits += float64(start - s.Start)
	}
	m.Wait = int64(waits / float64(n))
	m.Algorithm = float64(how.LogicalSize(c.Op, c.Bytes, n)) / float64(m.Transfer)
	m.Bus = m.Algorithm * how.Factor(c.Op, c.Algo, n)
	return m, nil
}

// endsTogether says whether no member can be done before the last one began.
func endsTogether(op nccl.Op) bool {
	switch op {
	case nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.AllToAllPivot:
		return true
	}
	return false
}
