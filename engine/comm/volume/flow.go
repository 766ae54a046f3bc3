package volume

import (
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Flow is calls of one operation on one rank.
type Flow struct {
	Dimension parallel.Kind // unknown: losses, flags, embeddings
	Name      string        // of the ranks, where several dimensions have them; "" else
	Op        nccl.Op
	Ranks     int64
	Calls     float64
	Logged    float64 // bytes as the log counts them
	Sent      float64 // bytes that leave the rank, on a ring
}

// CallFlow returns the flow of one call of a rank, which logs bytes.
func CallFlow(d parallel.Kind, op nccl.Op, ranks, bytes int64) Flow {
	return Flow{Dimension: d, Op: op, Ranks: ranks, Calls: 1, Logged: float64(bytes), Sent: sentBytes(op, float64(bytes), ranks)}
}

// Loopback returns a send or receive between a rank and itself, which leaves no rank.
func (f Flow) Loopback() Flow {
	f.Sent = 0
	return f
}

// sentBytes returns what leaves a rank for a call that logs bytes: on a ring for what has one, and to each peer for
// an all-to-all. A receive sends nothing.
func sentBytes(op nccl.Op, logged float64, ranks int64) float64 {
	n := float64(ranks)
	if ranks < 2 {
		return 0
	}
	switch op {
	case nccl.AllReduce:
		return logged * 2 * (n - 1) / n
	case nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.AllToAllPivot:
		return logged * (n - 1)
	case nccl.Recv:
		return 0
	}
	return logged
}

// Exchange is how all-to-alls are written.
type Exchange uint8

const (
	SendsAndReceives Exchange = iota // a Send and a Recv for each rank, itself too, as PyTorch's
	AlltoAllCalls                    // NCCL 2.28's own call
)

// Flows returns what one rank of a pipeline stage should communicate in all iterations. The model is complete.
func (m *Model) Flows(stage int64, how Exchange) []Flow {
	var out []Flow
	add := func(d parallel.Kind, op nccl.Op, ranks int64, calls, logged float64) {
		if ranks < 2 || calls == 0 {
			return
		}
		calls *= float64(m.Iterations)
		out = append(out, Flow{Dimension: d, Op: op, Ranks: ranks, Calls: calls, Logged: calls * logged, Sent: calls * sentBytes(op, logged, ranks)})
	}
	m.data(stage, add)
	m.tensor(add)
	m.pipeline(stage, add)
	m.context(add)
	m.expert(how, add)
	for i := range out { // what a rank sends to itself stays there
		if f := &out[i]; f.Dimension == parallel.ExpertParallel && f.Op == nccl.Send {
			f.Sent *= float64(f.Ranks-1) / float64(f.Ranks)
		}
	}
	return out
}

// adder takes the flow of one iteration: how many calls, and the logged bytes of each.
type adder func(d parallel.Kind, op nccl.Op, ranks int64, calls, logged float64)

func (m *Model) data(stage int64, add adder) {
	dense, experts := m.parameters(stage)
	g, e, times := float64(m.GradientBytes), float64(m.ElementBytes), float64(m.microbatches())
	for _, p := range []struct {
		dimension parallel.Kind
		count     float64
		ranks     int64
	}{{parallel.DataParallel, dense, m.DP * m.CP}, {parallel.ExpertDataParallel, experts, m.DP * m.CP / m.EP}} {
		if p.count == 0 {
			continue
		}
		part := p.count / float64(p.ranks)
		switch m.Sharding {
		case Unsharded:
			add(p.dimension, nccl.AllReduce, p.ranks, 1, p.count*g)
		case ShardedOptimizer:
			add(p.dimension, nccl.ReduceScatter, p.ranks, 1, part*g)
			add(p.dimension, nccl.AllGather, p.ranks, 1, part*e)
		case ShardedAll:
			add(p.dimension, nccl.ReduceScatter, p.ranks, times, part*g)
			add(p.dimension, nccl.AllGather, p.ranks, 2*times, part*e)
		}
	}
}

// layers returns how many layers a stage runs, in all microbatches.
func (m *Model) layers() float64 {
	return float64(m.Layers) / float64(m.PP) * float64(m.microbatches())
}

// again returns how often the forward pass is done: 2 under recomputation.
func (m *Model) again() float64 {
	if m.Recompute {
		return 2
	}
	return 1
}

func (m *Model) tensor(add adder) {
	forward, backward := 2*m.again()*m.layers(), 2*m.layers()
	if !m.SequenceTP {
		add(parallel.TensorParallel, nccl.AllReduce, m.TP, forward+backward, m.activations())
		return
	}
	part := m.activations() / float64(m.TP)
	add(parallel.TensorParallel, nccl.AllGather, m.TP, forward+2*backward, part)
	add(parallel.TensorParallel, nccl.ReduceScatter, m.TP, forward+backward, part)
}

// borders returns how many of a stage's chunks send activations forward, and how many send gradients back: all, but that the model's last chunk
// has none behind it and its first none before.
func (m *Model) borders(stage int64) float64 {
	if m.PP < 2 {
		return 0
	}
	n := 2 * m.Virtual
	for _, end := range []bool{stage == 0, stage == m.PP-1} {
		if end {
			n--
		}
	}
	return float64(n)
}

// context gathers keys and values of whole sequences, and reduce-scatters their gradients.
func (m *Model) context(add adder) {
	part := 2 * m.activations() / float64(m.TP)
	add(parallel.ContextParallel, nccl.AllGather, m.CP, m.again()*m.layers(), part)
	add(parallel.ContextParallel, nccl.ReduceScatter, m.CP, m.layers(), part)
}

func (m *Model) pipeline(stage int64, add adder) {
	borders := m.borders(stage)
	message := m.activations()
	if m.SequenceTP {
		message /= float64(m.TP)
	}
	add(parallel.PipelineParallel, nccl.Send, m.PP, borders*float64(m.microbatches()), message)
	add(parallel.PipelineParallel, nccl.Recv, m.PP, borders*float64(m.microbatches()), message)
}

func (m *Model) expert(how Exchange, add adder) {
	exchanges := (2*m.again() + 2) * float64(m.MoELayers) / float64(m.PP) * float64(m.microbatches())
	tokens := m.activations()
	if m.SequenceTP {
		tokens /= float64(m.TP)
	}
	if m.Dispatcher == DispatchAllGather {
		add(parallel.ExpertParallel, nccl.AllGather, m.EP, exchanges/2, tokens)
		add(parallel.ExpertParallel, nccl.ReduceScatter, m.EP, exchanges/2, tokens)
		return
	}
	each := tokens * float64(m.TopK) * m.Capacity / float64(m.EP) // to one peer
	if how == AlltoAllCalls {
		add(parallel.ExpertParallel, nccl.AlltoAll, m.EP, exchanges, each)
		return
	}
	add(parallel.ExpertParallel, nccl.Send, m.EP, exchanges*float64(m.EP), each)
	add(parallel.ExpertParallel, nccl.Recv, m.EP, exchanges*float64(m.EP), each)
}

// ThesisBytes returns the theory of Table 5.1 of the NCCL Trace Profiler (Heidelberg 2026), in bytes; its column is of 10⁹. It is found from
// the numbers: the thesis states the quantities, these formulas give all five values to the last digit.
//
//	DP  2(N−1)/N · 12h²·(layers without experts) · e        once an iteration; no embedding, biases, norms or layers with experts
//	PP  2 · b·s·h·e for each border                          of each microbatch, sent and received
//	TP  2(N−1)/N · 4 · layers · b·s·h·e · 1/N                of each microbatch
//	EP  (N−1)/N · 4 · layers with experts · k·b·s·h·e        of each microbatch
//
// DP, TP and EP are what leaves a rank, PP is both directions. TP's 1/N is either a message of one part or a
// quarter of the 16 microbatches that PP has: the value alone does not tell. Without it, and so by [Model.Flows], 32.21 GB leave
// a rank, or 21.47 GB as the log counts them.
func (m *Model) ThesisBytes(stage int64) float64 {
	ring := func(n int64) float64 { return 2 * float64(n-1) / float64(n) }
	h, times, a := float64(m.Hidden), float64(m.microbatches()), m.activations()
	total := ring(m.DP) * 12 * h * h * float64(m.Layers-m.MoELayers) * float64(m.ElementBytes)
	if m.PP > 1 {
		borders := 2.0
		if stage == 0 || stage == m.PP-1 {
			borders = 1
		}
		total += times * 2 * borders * a
	}
	total += times * ring(m.TP) * 4 * float64(m.Layers) * a / float64(m.TP)
	total += times * ring(m.EP) / 2 * 4 * float64(m.MoELayers) * float64(m.TopK) * a
	return total * float64(m.Iterations)
}
