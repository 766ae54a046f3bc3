package comm

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Theory is what bandwidths are held against.
type Theory struct {
	Convention Convention
	Benchmarks *Benchmarks // what nccl-tests reached, before what links allow; nil: none. They go by the convention NCCLTests
}

// Limit is the narrowest that data of a subject must pass.
type Limit struct {
	Link      nccl.Link
	Bandwidth float64 // GB/s; 0: not known
	Benchmark bool    // nccl-tests measured it; Link says nothing then
}

// Source names what the limit is of: the class of the link, or nccl-tests.
func (l Limit) Source() string {
	if l.Benchmark {
		return "nccl-tests"
	}
	return l.Link.String()
}

// Held is a limit and what it allows.
type Held struct {
	Limit
	Algorithm, Bus float64 // GB/s; 0: not known
	Full           float64 // bus bandwidth of large messages; 0: not known
}

// Limit returns what a call over a subject is held against: what nccl-tests reached for the operation, the size, and as many ranks on as many hosts, where it was
// measured; else the narrowest link.
func (t Theory) Limit(s *Subject, c *Collective) Held {
	h := Held{Limit: s.Limit}
	h.Algorithm, h.Bus = t.Convention.bounds(c.Op, c.algo(), s.Ranks, s.Limit.Bandwidth)
	h.Full = h.Bus
	if t.Convention != NCCLTests || s.Ranks < 2 {
		return h
	}
	curve := t.Benchmarks.curve(s, c.Op)
	if bus := busAt(curve, t.Convention.LogicalSize(c.Op, c.Bytes, s.Ranks)); bus > 0 {
		h.Limit = Limit{Benchmark: true, Bandwidth: bus}
		h.Algorithm, h.Bus = bus/t.Convention.Factor(c.Op, c.algo(), s.Ranks), bus
		if h.Full == 0 {
			h.Full = fastest(curve)
		}
	}
	return h
}

// Curve returns what nccl-tests reached of an operation over a subject, by size as calls log it; nil where it was not measured.
func (t Theory) Curve(s *Subject, op nccl.Op) []nccl.Benchmark {
	curve := slices.Clone(t.Benchmarks.curve(s, op))
	for i := range curve {
		curve[i].Bytes /= t.Convention.LogicalSize(op, 1, s.Ranks)
	}
	return curve
}

// Convention says which sizes and factors make bandwidths comparable.
type Convention uint8

const (
	// NCCLTests are those of nccl-tests, and of NCCL's Inspector: AllReduce 2(n−1)/n whatever the
	// algorithm; AllGather, ReduceScatter and AlltoAll (n−1)/n of n times the logged size; all others 1.
	NCCLTests Convention = iota
	// Thesis are those of the NCCL Trace Profiler (Heidelberg 2026): the same, but 2 for an
	// AllReduce that runs as a tree, and the logged size of everything (equations 4.9 to 4.11).
	Thesis
)

// bounds returns the most that algorithm and bus bandwidth can be over a link, GB/s; 0 where it is not known what the link carries, or
// there are fewer than two ranks.
//
// Those of nccl-tests follow from what a ring sends over each link: bus ≤ B, and so algorithm ≤ B/f (doc/PERFORMANCE.md). Those of the NCCL Trace
// Profiler are its equations 4.13 and 4.14, B·α and B·β, with α = (n−1)/n and β = 2(n−1)/n for an AllReduce on a ring, 1 and 2 on a tree, both
// (n−1)/n for AllGather and ReduceScatter, both 1 for the rest. A ring that is as fast as its links has η = 1 by the former, and η_algo = n²/(2(n−1)²) and
// η_bus = n/(2(n−1)) of an AllReduce by the latter.
func (c Convention) bounds(op nccl.Op, algo nccl.Algo, ranks int, link float64) (algorithm, bus float64) {
	if ranks < 2 || !(link > 0) {
		return 0, 0
	}
	f := c.Factor(op, algo, ranks)
	if c == NCCLTests {
		return link / f, link
	}
	n := float64(ranks)
	switch {
	case op == nccl.AllReduce && f == 2 && (algo == nccl.Tree || algo == nccl.NVLSTree):
		return link, 2 * link
	case op == nccl.AllReduce:
		return link * (n - 1) / n, link * f
	case op == nccl.AllGather || op == nccl.ReduceScatter:
		return link * f, link * f
	}
	return link, link
}

// LogicalSize returns what the call counts for: the logged bytes, times the ranks where the log has the part of
// one rank, or the message to one peer.
func (c Convention) LogicalSize(op nccl.Op, bytes int64, ranks int) int64 {
	if c == Thesis {
		return bytes
	}
	switch op {
	case nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.AllToAllPivot, nccl.Gather, nccl.Scatter:
		return bytes * int64(ranks)
	}
	return bytes
}

// Factor turns algorithm bandwidth into bus bandwidth, for at least two ranks; 0 for one, which moves
// nothing over a bus.
func (c Convention) Factor(op nccl.Op, algo nccl.Algo, ranks int) float64 {
	if ranks < 2 {
		return 0
	}
	n := float64(ranks)
	switch op {
	case nccl.AllReduce:
		if c == Thesis && (algo == nccl.Tree || algo == nccl.NVLSTree) {
			return 2
		}
		return 2 * (n - 1) / n
	case nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.AllToAllPivot, nccl.Gather, nccl.Scatter:
		return (n - 1) / n
	}
	return 1
}
