package whatif

import (
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
)

// findIdeal sets the ideal duration of every node: of its kind, or of its kind
// on its stage, the mean, or the median for communication.
func (m *Model) findIdeal() {
	type class struct {
		op    int32
		stage int
	}
	var classes ordered.List[class, []int32]
	for v, op := range m.opOf {
		c := class{op, m.nodes[v].Stage}
		if m.o.Ideal == IdealOverAll {
			c.stage = 0
		}
		members, _ := classes.Of(c)
		*members = append(*members, int32(v))
	}
	m.ideal = make([]int64, len(m.nodes))
	var values []int64
	for _, nodes := range classes.All {
		values = values[:0]
		for _, v := range nodes {
			values = append(values, m.row(m.cost, v)...)
		}
		ideal := int64(0)
		if m.nodes[nodes[0]].Communication {
			ideal = median(values)
		} else {
			ideal = mean(values)
		}
		for _, v := range nodes {
			m.ideal[v] = ideal
		}
	}
}

// mean rounds to the nearest integer, halves away from zero.
func mean(values []int64) int64 {
	sum, n := int64(0), int64(len(values))
	for _, v := range values {
		sum += v
	}
	if sum < 0 {
		return (sum - n/2) / n
	}
	return (sum + n/2) / n
}

// median reorders values. Of an even number it is the mean of the middle two,
// rounded like mean.
func median(values []int64) int64 {
	lower, upper := robust.Middles(values)
	return mean([]int64{lower, upper})
}
