package capacity

import "github.com/sfstat/sfstat/trace/nccl"

// bounds are the most that algorithm and bus bandwidth can be over a link, GB/s; 0 where it is not known what the link carries, or
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
