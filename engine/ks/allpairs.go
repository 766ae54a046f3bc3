package ks

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
)

// rowsAtOnce rows of distances are computed together: each row of counts that
// streams through the cache then serves this many pairs.
const rowsAtOnce = 8

// matrix computes distances among the workers of one group, a block of rows at
// a time. Whole rows cost twice the arithmetic of half a matrix, and buy rows
// that need no one else's sums: no N² memory, the median beside the mean, and
// the same bits on any number of threads.
//
// In units of a common divisor g of all numbers of completions, worker w has
// n_w·g of them, and with counts C
//
//	D(A,B) = max_k |C_A(k)·n_B − C_B(k)·n_A| / (g·n_A·n_B)
//
// whose numerator is an integer.
type matrix struct {
	*sample
	r       *Result
	workers []int // ascending by number of completions: equal numbers are neighbours
	n       []int64
	divisor int64

	stride int     // counts of a row, padded with zeros to a multiple of lanes
	counts []int32 // [worker][occupied window], cumulative
}

// score computes the distances within a group of workers with completions and
// fills Mean, Median and Matrix.
func (s *sample) score(group []int, r *Result) {
	m := s.newMatrix(group, r)
	blocks := (len(group) + rowsAtOnce - 1) / rowsAtOnce
	parallel.Each(blocks, 0, func() func(int) {
		narrow := make([]int32, rowsAtOnce*len(group))
		block := make([]int, 0, rowsAtOnce)
		gaps := make([]int64, rowsAtOnce*len(group))
		chosen := make([]int64, 0, len(group))
		return func(n int) {
			block = block[:0]
			for i := n * rowsAtOnce; i < min((n+1)*rowsAtOnce, len(group)); i++ {
				block = append(block, i)
			}
			m.fill(block, gaps, narrow)
			for j, i := range block {
				chosen = m.finish(i, gaps[j*len(group):(j+1)*len(group)], chosen)
			}
		}
	})
}

// fixedOne is the unit in which distances of unlike denominators are summed:
// integers, so that no order of the sum rounds differently. It resolves
// 6e-14 and leaves room for 2¹⁹ peers.
const fixedOne = 1 << 44

// finish turns a row of numerators into the worker's mean and median distance.
func (m *matrix) finish(i int, gaps, chosen []int64) []int64 {
	r, w := m.r, m.workers[i]
	even := m.n[0] == m.n[len(m.n)-1] // then all n are 1
	one := m.divisor
	if !even {
		one = fixedOne
	}
	sum := int64(0)
	chosen = chosen[:0]
	for j, gap := range gaps {
		other := m.workers[j]
		full := m.divisor * m.n[i] * m.n[j]
		if r.Matrix != nil {
			r.Matrix[w*len(m.peers)+other] = float64(gap) / float64(full)
		}
		if j == i || r.Against == Peers && m.peers[other] != m.peers[w] {
			continue
		}
		d := gap
		if !even {
			d = int64(math.Round(float64(gap) / float64(full) * fixedOne))
		}
		sum += d
		chosen = append(chosen, d)
	}
	score := &r.Scores[w]
	score.Peers = len(chosen)
	if len(chosen) == 0 {
		return chosen
	}
	score.Mean = float64(sum) / (float64(one) * float64(len(chosen)))
	h := len(chosen) / 2
	upper := robust.Select(chosen, h)
	lower := upper
	if len(chosen)%2 == 0 {
		lower = slices.Max(chosen[:h])
	}
	score.Median, score.Undecided = float64(lower+upper)/(2*float64(one)), NotTested
	return chosen
}

// newMatrix cumulates the counts of a group over the occupied windows.
func (s *sample) newMatrix(group []int, r *Result) *matrix {
	m := &matrix{sample: s, r: r, workers: slices.Clone(group), stride: (s.points + lanes - 1) / lanes * lanes}
	slices.SortStableFunc(m.workers, func(a, b int) int { return s.ops(a) - s.ops(b) })
	for _, w := range m.workers {
		m.divisor = gcd(m.divisor, int64(s.ops(w)))
	}
	m.counts = make([]int32, len(group)*m.stride)
	for i, w := range m.workers {
		m.n = append(m.n, int64(s.ops(w))/m.divisor)
		row := m.row(i)
		for _, k := range s.completions(w) {
			row[k]++
		}
		sum := int32(0)
		for k := range row[:s.points] {
			sum += row[k]
			row[k] = sum
		}
	}
	return m
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
