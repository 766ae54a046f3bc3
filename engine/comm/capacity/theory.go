// Package capacity says what bandwidths of collectives are held against: the narrowest link
// that data must pass, or what nccl-tests reached, in GB/s of 10⁹ bytes, with the factors of
// a [Convention].
package capacity

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Theory is what bandwidths are held against.
type Theory struct {
	Convention Convention
	Benchmarks *Benchmarks // what nccl-tests reached, before what links allow; nil: none. They go by the convention NCCLTests
}

// Work is what a call does, as far as its limit depends on it.
type Work struct {
	Op    nccl.Op
	Algo  nccl.Algo
	Bytes int64 // as logged
}

// Held is a limit and what it allows.
type Held struct {
	Limit
	Algorithm, Bus float64 // GB/s; 0: not known
	Full           float64 // bus bandwidth of large messages; 0: not known
}

// Limit is what work over a subject is held against: what nccl-tests reached for the operation, the size, and as many ranks on as many hosts, where it was
// measured; else the narrowest link.
func (t Theory) Limit(s *Subject, w Work) Held {
	h := Held{Limit: s.Limit}
	h.Algorithm, h.Bus = t.Convention.bounds(w.Op, w.Algo, s.Ranks, s.Limit.Bandwidth)
	h.Full = h.Bus
	if t.Convention != NCCLTests || s.Ranks < 2 {
		return h
	}
	curve := t.Benchmarks.curve(s, w.Op)
	if bus := busAt(curve, t.Convention.LogicalSize(w.Op, w.Bytes, s.Ranks)); bus > 0 {
		h.Limit = Limit{Benchmark: true, Bandwidth: bus}
		h.Algorithm, h.Bus = bus/t.Convention.Factor(w.Op, w.Algo, s.Ranks), bus
		if h.Full == 0 {
			h.Full = fastest(curve)
		}
	}
	return h
}

// Curve is what nccl-tests reached of an operation over a subject, by size as calls log it; nil where it was not measured.
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

// LogicalSize is what the call counts for: the logged bytes, times the ranks where the log has the part of
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

// Kind is what a subject is.
type Kind uint8

const (
	Group Kind = iota // a communicator
	Edge              // one member to another
)

// Subject is what calls run over.
type Subject struct {
	Kind         Kind
	Communicator int // the caller's number of it
	From, To     int // of an Edge: members of the communicator
	Ranks        int
	Hosts        int // that the ranks are on
	// Family is the same for subjects that do the same work and can be held against each other: the
	// groups of tensor parallelism, the edges of one pipeline.
	Family int
	Limit  Limit
}
