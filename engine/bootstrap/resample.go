package bootstrap

import (
	"math"
	"math/rand/v2"

	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
)

// source fills index with the blocks of one resample.
type source func(replicate int, index []int32, blocks int)

// newSource draws each resample from a stream of random numbers of its own, so
// that the number of threads changes nothing. A word of the generator makes two
// draws, each exactly uniform: of a 32-bit number u, u·G / 2³² is the block, and
// the few u that would make some blocks likelier are drawn again (Lemire 2019,
// ACM Trans. Model. Comput. Simul. 29:3).
func newSource(seed uint64) source {
	return func(replicate int, index []int32, blocks int) {
		var rng rand.PCG
		rng.Seed(seed, uint64(replicate))
		n := uint32(blocks)
		uneven := -n % n // 2³² mod n
		for i := 0; i < len(index); {
			word := rng.Uint64()
			product := (word & math.MaxUint32) * uint64(n)
			if uint32(product) >= uneven {
				index[i] = int32(product >> 32)
				i++
			}
			product = (word >> 32) * uint64(n)
			if uint32(product) >= uneven && i < len(index) {
				index[i] = int32(product >> 32)
				i++
			}
		}
	}
}

// resamples is what the statistics become in each resample, in no order that
// matters: taking quantiles reorders them. What was not asked for is nil.
type resamples struct {
	values [statisticCount][]float64
	t      [statisticCount][]float64 // distance of the value from the estimate, in standard errors of the resample; nil of Median
}

// resample draws B times as many blocks as there are.
func (s *sample) resample(o Options, draw source) *resamples {
	r := &resamples{}
	for _, statistic := range o.Statistics {
		r.values[statistic] = make([]float64, o.Replicates)
		if statistic != Median {
			r.t[statistic] = make([]float64, o.Replicates)
		}
	}
	const atOnce = 100
	parallel.Each((o.Replicates+atOnce-1)/atOnce, 0, func() func(int) {
		index, scratch := make([]int32, s.blocks()), make([]float64, 0, len(s.x))
		return func(piece int) {
			for b := piece * atOnce; b < min((piece+1)*atOnce, o.Replicates); b++ {
				draw(b, index, s.blocks())
				for _, statistic := range o.Statistics {
					if statistic == Median {
						r.values[Median][b] = s.medianOf(index, scratch)
					} else {
						r.values[statistic][b], r.t[statistic][b] = s.ratioOf(statistic, index)
					}
				}
			}
		}
	})
	return r
}

// ratioOf returns Mean or Total over the blocks of index, and its distance from the estimate, d = Σ e / Σ v, in its own
// standard errors, whose squares are Σ (e − d·v)².
func (s *sample) ratioOf(ratio Statistic, index []int32) (value, t float64) {
	terms := s.ratios[ratio]
	var e, v, squares float64
	for _, g := range index {
		e += terms[g].e
		v += terms[g].v
	}
	d := e / v
	for _, g := range index {
		left := terms[g].e - d*terms[g].v
		squares += left * left
	}
	value = s.estimates[ratio] + d
	se := standardError(squares, v, len(index))
	switch {
	case se > s.equal:
		return value, d / se
	case math.Abs(d) <= s.equal:
		return value, 0
	}
	return value, math.Inf(1) * d
}

// standardError returns √( G/(G−1) · Σ e² ) / Σ v.
func standardError(squares, v float64, blocks int) float64 {
	g := float64(blocks)
	return math.Sqrt(g/(g-1)*squares) / v
}

// medianOf returns the median over the pairs of the blocks of index.
func (s *sample) medianOf(index []int32, scratch []float64) float64 {
	drawn := scratch[:0]
	for _, g := range index {
		drawn = append(drawn, s.of[g]...)
	}
	return robust.Median(drawn)
}
