package opnames

import (
	"slices"

	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// gathered is an operator with what it took, [step][rank]; what did not run
// took nothing.
type gathered struct {
	Operator
	ranks, steps int
	own          []int64 // without the wait
	wait         []int64
	count        []int32
}

// gather makes the operators of the rows, in their order.
func gather(t *operator.Totals) []gathered {
	type key struct{ stage, name int32 }
	var out ordered.List[key, gathered]
	for _, row := range t.Rows {
		g, first := out.Of(key{row.Stage, row.Name})
		if first {
			n := len(t.Steps) * len(t.Ranks)
			*g = gathered{Operator: Operator{Name: t.Names[row.Name], Stage: t.Stages[row.Stage]}, ranks: len(t.Ranks), steps: len(t.Steps),
				own: make([]int64, n), wait: make([]int64, n), count: make([]int32, n)}
		}
		switch {
		case row.Joined < row.Communicates:
			g.Kind = Mixed
		case row.Communicates > 0 && g.Kind == Compute:
			g.Kind = Collective
		}
		cell := int(row.Step)*g.ranks + int(row.Rank)
		g.own[cell] += row.Dur - row.Wait
		g.wait[cell] += row.Wait
		g.count[cell] += row.Count
	}
	return out.All
}

// runsOn reports whether a rank of the group ever launched it.
func (g *gathered) runsOn(group []int) bool {
	for s := range g.steps {
		for _, r := range group {
			if g.count[s*g.ranks+r] > 0 {
				return true
			}
		}
	}
	return false
}

// series returns the series of a group of ranks that engine/zscore compares.
func (g *gathered) series(number int, group []int) zscore.Series {
	s := zscore.Series{Op: number, Quantity: zscore.Duration, Workers: group, X: make([]int64, 0, g.steps*len(group))}
	if g.Kind == Collective {
		s.Quantity = zscore.Transfer
	}
	for step := range g.steps {
		for _, r := range group {
			s.X = append(s.X, g.own[step*g.ranks+r])
		}
	}
	return s
}

// peersOf returns the ranks, by position, that do the same work: each group has two or more.
func peersOf(ranks []trace.Rank) [][]int {
	return slices.DeleteFunc(trace.RoleGroups(ranks), func(g []int) bool { return len(g) < 2 })
}

// comparison is one operator on one rank beside its peers.
type comparison struct {
	*gathered
	rank  int
	peers []int
	off   []int // steps that are off, ascending
}

// excess returns the excess of the rank over the median of its peers in a step.
func (c *comparison) excess(step int) int64 {
	return c.own[step*c.ranks+c.rank] - middleOf(c, step, c.own)
}

// mostly is the part of a rank's excess that the single steps that are off must
// hold to stand for it.
const mostly = 0.8

// selectSteps returns the steps to average over: the outlying steps where they hold most of the excess, so that the others do not
// dilute a factor.
func (c *comparison) selectSteps(all []int) []int {
	var excess, off int64
	for _, s := range all {
		by := max(0, c.excess(s))
		excess += by
		if _, found := slices.BinarySearch(c.off, s); found {
			off += by
		}
	}
	if off > 0 && float64(off) >= mostly*float64(excess) {
		return c.off
	}
	return all
}

// difference takes the means, of a rank in a trace.
func (c *comparison) difference(t *operator.Totals) Difference {
	all := make([]int, c.steps)
	for s := range all {
		all[s] = s
	}
	steps := c.selectSteps(all)
	d := Difference{Operator: c.Operator, Rank: t.Ranks[c.rank].ID, Means: c.means(steps), Whole: c.means(all)}
	for _, s := range steps {
		d.Steps = append(d.Steps, t.Steps[s])
	}
	return d
}

func (c *comparison) means(steps []int) Means {
	var m Means
	for _, s := range steps {
		at := s*c.ranks + c.rank
		m.Own += float64(c.own[at])
		m.Peers += float64(middleOf(c, s, c.own))
		m.Count += float64(c.count[at])
		m.PeerCount += float64(middleOf(c, s, c.count))
		m.Waited += float64(c.wait[at])
	}
	n := float64(len(steps))
	return Means{Own: m.Own / n, Peers: m.Peers / n, Count: m.Count / n, PeerCount: m.PeerCount / n, Waited: m.Waited / n}
}

// middleOf returns the median of the peers in a step, the mean of the middle two of an even number.
func middleOf[T int32 | int64](c *comparison, step int, of []T) T {
	others := make([]T, len(c.peers))
	for k, r := range c.peers {
		others[k] = of[step*c.ranks+r]
	}
	lower, upper := robust.Middles(others)
	return lower + (upper-lower)/2
}
