package delay

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// LastArrivals are the last arrivals at synchronisation points, in the order of time.
type LastArrivals struct {
	Ranks  int     // that may be last
	last   []int32 // −1: several at once, or ranks that do not compare
	behind []int64 // ns, the last arrival less the median of the others
	skew   []int64 // ns, the last arrival less the median one

	scratch []int64
}

// Latest is the rank that arrives last most often, and the test of whether that is chance.
//
// The null is that each rank is as likely to be last as any other. A rank's turns are correlated in
// time, so n arrivals count as n/τ independent ones, with τ the integrated autocorrelation time of
// the turns of this rank or of all ranks, the larger. P is the upper tail of the binomial distribution of
// these, times the ranks. Where speeds drift through a run it is too low: of healthy runs of 60 steps 1 to
// 5 % are significant, and 11 % where the lag-1 correlation of speeds is 0.8.
type Latest struct {
	Rank   int     // position; −1: not tested
	N, Of  int     // arrivals that it was the last of, of those that one rank was the last of
	Behind int64   // ns behind the median of the others where it is last, median
	P      float64 // 1 where nothing was tested
}

// Significant reports whether the rank is last more often than chance allows.
func (l Latest) Significant() bool { return l.Rank >= 0 && l.P <= gates.Supported }

// Add adds the arrivals of two ranks or more at a point. rank returns the number of the one at a position; less than 0 where
// it does not compare with the others.
func (l *LastArrivals) Add(arrive []int64, rank func(position int) int) {
	at := slices.Index(arrive, slices.Max(arrive))
	l.scratch = append(l.scratch[:0], arrive...)
	middle := robust.MiddleOf(arrive, l.scratch)
	who := -1
	if !slices.Contains(arrive[at+1:], arrive[at]) {
		who = rank(at)
	}
	l.last = append(l.last, int32(who))
	l.behind, l.skew = append(l.behind, arrive[at]-middle.MedianWithout(arrive[at])), append(l.skew, arrive[at]-middle.Median())
}

// join adds the arrivals that follow.
func (l *LastArrivals) join(next *LastArrivals) {
	l.Ranks, l.last = max(l.Ranks, next.Ranks), append(l.last, next.last...)
	l.behind, l.skew = append(l.behind, next.behind...), append(l.skew, next.skew...)
}

// Skew returns the median time in nanoseconds from the median rank's arrival to the last; 0 without any arrival.
func (l *LastArrivals) Skew() int64 { return robust.MedianTime(slices.Clone(l.skew)) }

// mostTurns bounds the values of which the autocorrelation is taken; turns of longer runs are put together.
const mostTurns = 4096

// MostFrequent returns the rank that was last most often. It tests nothing where even a rank
// that is last at every point would not be significant.
func (l *LastArrivals) MostFrequent() Latest {
	count, single := map[int32]int{}, 0
	for _, r := range l.last {
		if r >= 0 {
			count[r]++
			single++
		}
	}
	out := Latest{Rank: -1, Of: single, P: 1}
	for r, n := range count {
		if n > out.N || n == out.N && int(r) < out.Rank {
			out.Rank, out.N = int(r), n
		}
	}
	if l.Ranks < 2 || single == 0 {
		return Latest{Rank: -1, P: 1}
	}
	draws := l.draws(int32(out.Rank), single)
	chance := 1 / float64(l.Ranks)
	if float64(l.Ranks)*math.Pow(chance, float64(draws)) > gates.Supported {
		return Latest{Rank: -1, P: 1}
	}
	hits := int(math.Round(float64(draws) * float64(out.N) / float64(single)))
	out.P = min(1, float64(l.Ranks)*binomialTail(draws, hits, chance))
	var behind []int64
	for i, r := range l.last {
		if int(r) == out.Rank {
			behind = append(behind, l.behind[i])
		}
	}
	out.Behind = robust.MedianTime(behind)
	return out
}

// mostColumns bounds how many ranks' turns the correlation is taken of.
const mostColumns = 64

// draws returns as how many independent arrivals the single ones count: by the turns of a rank, or those of all
// ranks where these last longer.
func (l *LastArrivals) draws(rank int32, single int) int {
	together := (single + mostTurns - 1) / mostTurns
	columns, of, at := [][]float64{make([]float64, single/together)}, map[int32]int{rank: 0}, 0
	for _, r := range l.last {
		if r < 0 {
			continue
		}
		i, known := of[r]
		if !known && len(columns) < mostColumns {
			i, known = len(columns), true
			of[r], columns = i, append(columns, make([]float64, single/together))
		}
		if k := at / together; known && k < len(columns[i]) {
			columns[i][k]++
		}
		at++
	}
	n := float64(len(columns[0]))
	own := newAutocovariance([][]float64{slices.Clone(columns[0])}).tau()
	return int(n / max(own, newAutocovariance(columns).tau()))
}

// lastArrivals returns who was last at the synchronisation points of a series from which no term is taken yet.
func (s *series) lastArrivals() *LastArrivals {
	out := &LastArrivals{Ranks: s.Ranks}
	if s.Free() || s.Ranks < 2 {
		return out
	}
	compared := func(rank int) int {
		if s.comparesSome() {
			return -1
		}
		return rank
	}
	for n := range s.Intervals {
		for p := range s.arrive {
			if s.isRecorded(n, p) {
				out.Add(s.arrive[p][n*s.Ranks:(n+1)*s.Ranks], compared)
			}
		}
	}
	return out
}

// isRecorded reports whether all that leads to a point was recorded in an interval.
func (s *series) isRecorded(n, point int) bool {
	for k, piece := range s.Pieces {
		if piece.Point == point && s.Step(n, k) < 0 {
			return false
		}
	}
	return true
}

// renumber returns the arrivals with other numbers of the ranks.
func (l *LastArrivals) renumber(ranks []int) *LastArrivals {
	out := *l
	out.last = slices.Clone(l.last)
	for i, r := range out.last {
		if r >= 0 {
			out.last[i] = int32(ranks[r])
		}
	}
	return &out
}
