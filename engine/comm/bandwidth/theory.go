package bandwidth

import "github.com/sfstat/sfstat/trace/nccl"

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
	full           float64 // bus bandwidth of large messages
}

// Limit is what work over a subject is held against: what nccl-tests reached for the operation, the size, and as many ranks on as many hosts, where it was
// measured; else the narrowest link.
func (t Theory) Limit(s *Subject, w Work) Held {
	h := Held{Limit: s.Limit}
	h.Algorithm, h.Bus = t.Convention.Bounds(w.Op, w.Algo, s.Ranks, s.Limit.Bandwidth)
	h.full = h.Bus
	if t.Convention != NCCLTests || s.Ranks < 2 {
		return h
	}
	curve := t.Benchmarks.curve(s, w.Op)
	if bus := busAt(curve, t.Convention.logicalSize(w.Op, w.Bytes, s.Ranks)); bus > 0 {
		h.Limit = Limit{Benchmark: true, Bandwidth: bus}
		h.Algorithm, h.Bus = bus/t.Convention.Factor(w.Op, w.Algo, s.Ranks), bus
		if h.full == 0 {
			h.full = fastest(curve)
		}
	}
	return h
}
