package comm

import (
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
)

// against holds what every rank called against a model, which is complete.
func (r *Result) against(m *volume.Model) error {
	if int64(len(r.Ranks)) != m.Ranks() {
		return &volume.RanksError{Model: m, Recorded: len(r.Ranks)}
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		var calls []volume.Flow
		for _, n := range k.Calls {
			g, known := r.CommunicatorOf(n)
			if !known {
				continue
			}
			c, of := &r.Calls[n], &r.Communicators[g]
			flow := volume.Called(dimensionOf(of, m), c.Op, int64(of.NRanks), max(c.Bytes, 0))
			if c.Op.Message() && c.Peer == r.Groups[c.Group].Rank {
				flow = flow.ToSelf()
			}
			calls = append(calls, flow)
		}
		a := volume.Account{Rank: i, Stage: m.StageOf(k.Rank), Bubble: m.Bubble()}
		a.Comparison = volume.Compare(m.Flows(a.Stage, volume.ExchangeOf(calls)), calls)
		r.Accounts = append(r.Accounts, a)
	}
	return nil
}

// dimensionOf is what a communicator is for. Gradients of experts go over fewer ranks than others.
func dimensionOf(c *parallel.Communicator, m *volume.Model) parallel.Kind {
	if n := m.DP * m.CP / m.EP; c.Kind == parallel.DataParallel && m.EP > 1 && n > 1 && int64(c.NRanks) == n {
		return parallel.ExpertDataParallel
	}
	return c.Kind
}
