package points

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// A slope of −1 says that a rank which comes later stays in a stage for less. That holds where ranks wait for the last of them,
// and where all of them wait for something else: a source that gives one batch after the other, a clock, a link that is slower than they.
// Only in the first case do they leave later when the last one comes later.

// exitMoves says whether the ranks of a stage leave later when the last of them arrives later.
type exitMoves uint8

const (
	unknownExit exitMoves = iota
	follows               // by more than a seventh of it
	paced                 // by less than half of it, and not by more than a seventh
)

const (
	// mostPaced and leastFollowed are slopes of the exit on the last arrival: a point's is 1, a paced stage's 0.
	mostPaced, leastFollowed = 0.5, 0.15
	// surelyFollows and surelyPaced are how many standard deviations of chance are certain: one-sided one in a hundred, and, where it refutes what
	// slopes show, in a thousand.
	surelyFollows, surelyPaced = 2.33, 3.1
	// neighbours is by what the variance of a sum over differences in time is larger, of which each shares a step with the next.
	neighbours = 1.5
)

// exitOf tests how the median exit from a stage moves with the last arrival, from step to step. ranks: of some alone; nil: of all.
func exitOf(c *Steps, k int, ranks []int) exitMoves {
	if ranks == nil {
		ranks = make([]int, c.Ranks)
		for r := range ranks {
			ranks[r] = r
		}
	}
	last, left := make([]float64, 0, c.Len()), make([]float64, 0, c.Len()) // differences in time
	since, ends := make([]int64, c.Ranks), make([]int64, len(ranks))
	for _, at := range c.stretches() {
		if at[1]-at[0] < 3 {
			continue
		}
		var m0, e0 float64
		for t := at[0] + 1; t < at[1]; t++ {
			m, e := c.lastAndExit(t, k, ranks, since, ends)
			if t > at[0]+1 {
				last, left = append(last, m-m0), append(left, e-e0)
			}
			m0, e0 = m, e
		}
	}
	if signedRanks(last, left, leastFollowed) > surelyFollows {
		return follows
	}
	if signedRanks(last, left, mostPaced) < -surelyPaced {
		return paced
	}
	return unknownExit
}

// lastAndExit returns when the last of some ranks arrives at a stage and when the median one leaves it, each counted from the rank's own
// exit in the step before. since and ends are overwritten, with a value of each rank and of each of some.
func (s *Steps) lastAndExit(t, k int, ranks []int, since, ends []int64) (last, exit float64) {
	s.exitToArrival(t, k, since)
	spent, most := s.At(t, k), int64(math.MinInt64)
	for i, r := range ranks {
		most, ends[i] = max(most, since[r]), since[r]+spent[r]
	}
	return float64(most), float64(robust.MedianTime(ends))
}

// exitToArrival writes how long after its exit from a stage in the step before each rank arrives at it.
func (s *Steps) exitToArrival(t, k int, out []int64) { s.exitToStage(t, k, k, out) }

// exitToStage writes how long after its last exit from one stage each rank arrives at another.
func (s *Steps) exitToStage(t, from, k int, out []int64) {
	clear(out)
	if from >= k {
		for j := from + 1; j < len(s.Stages); j++ {
			add(out, s.At(t-1, j))
		}
		from = -1
	}
	for j := from + 1; j < k; j++ {
		add(out, s.At(t, j))
	}
}

// signedRanks returns Wilcoxon's statistic of whether differences y exceed a line through 0 on the side where x lies, in standard
// deviations: above 0 where y moves with x by more than the line's slope. Large changes count most. Of fewer than eleven none is certain.
func signedRanks(x, y []float64, slope float64) float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(x[a]), math.Abs(x[b])) })
	sum, squares := 0.0, 0.0
	for i, at := range order {
		w := float64(i + 1)
		squares += w * w
		switch d := (y[at] - slope*x[at]) * x[at]; {
		case d > 0:
			sum += w
		case d < 0:
			sum -= w
		}
	}
	return sum / math.Sqrt(neighbours*squares)
}
