package comm

import (
	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
)

// expectation is what a job's ranks should call, and what communicators are for in its terms.
type expectation struct {
	model    *volume.Model
	flows    func(rank int, how volume.Exchange) []volume.Flow
	purposes func(rank int, of *parallel.Communicator) (kind parallel.Kind, name string)
}

// modelExpectation returns the traffic that parallelism needs.
func modelExpectation(m *volume.Model) expectation {
	return expectation{m, func(rank int, how volume.Exchange) []volume.Flow { return m.Flows(m.StageOf(rank), how) },
		func(_ int, of *parallel.Communicator) (parallel.Kind, string) { return dimensionOf(of, m), "" }}
}

// megatronExpectation returns the calls of Megatron-LM.
func megatronExpectation(j *megatron.Job) expectation {
	return expectation{&j.Model, func(rank int, how volume.Exchange) []volume.Flow { return j.Flows(int64(rank), how) },
		func(rank int, of *parallel.Communicator) (parallel.Kind, string) {
			if kind, name, known := j.Purpose(int64(rank), of.Ranks); known {
				return kind, name
			}
			return dimensionOf(of, &j.Model), ""
		}}
}

// holdAgainst holds what every rank called against what is expected.
func (r *Result) holdAgainst(e expectation) error {
	m := e.model
	if int64(len(r.Ranks)) != m.Ranks() {
		return &volume.RanksError{Model: m, Recorded: len(r.Ranks)}
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		purposes := map[int]volume.Flow{} // of communicators
		var calls []volume.Flow
		for _, n := range k.Calls {
			g, known := r.CommunicatorOf(n)
			if !known {
				continue
			}
			c, of := &r.Calls[n], &r.Communicators[g]
			purpose, known := purposes[g]
			if !known {
				purpose.Dimension, purpose.Name = e.purposes(k.Rank, of)
				purposes[g] = purpose
			}
			flow := volume.CallFlow(purpose.Dimension, c.Op, int64(of.NRanks), max(c.Bytes, 0))
			flow.Name = purpose.Name
			if c.Op.Message() && c.Peer == r.Groups[c.Group].Rank {
				flow = flow.Loopback()
			}
			calls = append(calls, flow)
		}
		a := volume.Account{Rank: i, Stage: m.StageOf(k.Rank), Bubble: m.Bubble()}
		a.Comparison = volume.Compare(e.flows(k.Rank, volume.ExchangeOf(calls)), calls)
		r.Accounts = append(r.Accounts, a)
	}
	return nil
}

// dimensionOf returns what a communicator is for. Gradients of experts go over fewer ranks than others.
func dimensionOf(c *parallel.Communicator, m *volume.Model) parallel.Kind {
	if n := m.DP * m.CP / m.EP; c.Kind == parallel.DataParallel && m.EP > 1 && n > 1 && int64(c.NRanks) == n {
		return parallel.ExpertDataParallel
	}
	return c.Kind
}
