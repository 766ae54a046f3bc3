package comm

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// shape is what bandwidths must have in common to be held against each other.
type shape struct {
	op           nccl.Op
	ranks, hosts int
}

// Benchmarks are bus bandwidths that nccl-tests reached, by operation, number of ranks and of hosts, and size. A nil one has none.
type Benchmarks struct{ curves map[shape][]nccl.Benchmark }

// NewBenchmarks sorts what was measured. Of several measurements of one size the fastest counts: they are taken for a limit.
func NewBenchmarks(list []nccl.Benchmark) *Benchmarks {
	b := &Benchmarks{curves: map[shape][]nccl.Benchmark{}}
	for _, x := range list {
		if x.Bytes > 0 && x.Bus > 0 {
			s := shape{x.Op, x.Ranks, x.Hosts}
			b.curves[s] = append(b.curves[s], x)
		}
	}
	for s, curve := range b.curves {
		slices.SortFunc(curve, func(x, y nccl.Benchmark) int { return cmp.Or(cmp.Compare(x.Bytes, y.Bytes), cmp.Compare(y.Bus, x.Bus)) })
		b.curves[s] = slices.CompactFunc(curve, func(x, y nccl.Benchmark) bool { return x.Bytes == y.Bytes })
	}
	return b
}

// curve returns the measured bandwidth of an operation over a subject, by size; messages between two ranks are held against SendRecv.
func (b *Benchmarks) curve(s *Subject, op nccl.Op) []nccl.Benchmark {
	switch {
	case b == nil:
		return nil
	case s.Edge:
		op = nccl.SendRecv
	case op == nccl.SendRecv: // messages of all with all, and not of neighbours
		return nil
	case op == nccl.AllToAllPivot:
		op = nccl.AlltoAll
	}
	return b.curves[shape{op, s.Ranks, s.Hosts}]
}

// busAt returns the bus bandwidth at a size: between two sizes on the line through both, of the logarithms of bandwidth over those of
// size, which is exact where latency alone counts and where bandwidth does; above the largest size as there. Below the smallest it is 0: not known.
func busAt(curve []nccl.Benchmark, bytes int64) float64 {
	i, exact := slices.BinarySearchFunc(curve, bytes, func(x nccl.Benchmark, bytes int64) int { return cmp.Compare(x.Bytes, bytes) })
	switch {
	case exact:
		return curve[i].Bus
	case i == 0:
		return 0
	case i == len(curve):
		return curve[i-1].Bus
	}
	low, high := curve[i-1], curve[i]
	part := math.Log(float64(bytes)/float64(low.Bytes)) / math.Log(float64(high.Bytes)/float64(low.Bytes))
	return low.Bus * math.Pow(high.Bus/low.Bus, part)
}

// fastest returns the largest bus bandwidth of a curve, 0 of none.
func fastest(curve []nccl.Benchmark) (bus float64) {
	for _, x := range curve {
		bus = max(bus, x.Bus)
	}
	return bus
}
