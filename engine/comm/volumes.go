package comm

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Account is what one rank communicated beside what it should have.
type Account struct {
	Rank   int // index of Ranks
	Stage  int64
	Bubble float64 // idle time of pipeline stages over computing, as the model's schedule has it
	volume.Comparison
}

// Alike groups accounts, by index, whose rows are the same: what was logged
// within a thousandth of all that was expected, as on the ranks of one stage.
func Alike(all []Account) (groups [][]int) {
	for i := range all {
		at := slices.IndexFunc(groups, func(g []int) bool { return all[g[0]].alike(&all[i]) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

func (a *Account) alike(b *Account) bool {
	return slices.EqualFunc(a.Rows, b.Rows, func(x, y volume.Row) bool {
		return x.Dimension == y.Dimension && x.Op == y.Op && x.Theory.Logged == y.Theory.Logged &&
			math.Abs(x.Observed.Logged-y.Observed.Logged) <= a.Theory.Logged/1000
	})
}

// LayoutOf is the layout of a model.
func LayoutOf(m *volume.Model) Layout {
	return Layout{TP: int(m.TP), CP: int(m.CP), EP: int(m.EP), DP: int(m.DP), PP: int(m.PP)}
}

// Against holds what every rank called against a model, which is complete.
func (r *Result) Against(m *volume.Model) ([]Account, error) {
	if int64(len(r.Ranks)) != m.Ranks() {
		return nil, fmt.Errorf("the model has dp·tp·cp·pp = %d·%d·%d·%d = %d ranks, the logs and exports have %d", m.DP, m.TP, m.CP, m.PP, m.Ranks(), len(r.Ranks))
	}
	var out []Account
	for i := range r.Ranks {
		k := &r.Ranks[i]
		var calls []volume.Traffic
		for _, n := range k.Calls {
			g, known := r.CommunicatorOf(n)
			if !known {
				continue
			}
			c, of := &r.Calls[n], &r.Communicators[g]
			calls = append(calls, volume.Traffic{Dimension: dimensionOf(of, m), Op: c.Op, Ranks: int64(of.NRanks), Bytes: max(c.Bytes, 0),
				Self: (c.Op == nccl.Send || c.Op == nccl.Recv) && c.Peer == r.Groups[c.Group].Rank})
		}
		a := Account{Rank: i, Stage: m.StageOf(k.Rank), Bubble: m.Bubble()}
		seen := volume.Observed(calls)
		a.Comparison = volume.Compare(m.Flows(a.Stage, volume.ExchangeOf(seen)), seen)
		out = append(out, a)
	}
	return out, nil
}

// dimensionOf is what a communicator is for. Gradients of experts go over fewer ranks than others.
func dimensionOf(c *Communicator, m *volume.Model) volume.Dimension {
	switch c.Kind {
	case DataParallel:
		if n := m.DP * m.CP / m.EP; m.EP > 1 && int64(c.NRanks) == n && n > 1 {
			return volume.ExpertData
		}
		return volume.Data
	case TensorParallel:
		return volume.Tensor
	case PipelineParallel:
		return volume.Pipeline
	case ExpertParallel:
		return volume.Expert
	case ContextParallel:
		return volume.Context
	}
	return volume.Other
}
