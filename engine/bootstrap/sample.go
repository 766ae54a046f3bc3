package bootstrap

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
)

// near is how close to each other values count as equal, relative to the
// largest overhead, so that the order of summation decides nothing.
const near = 1e-12

// sample is the pairs, arranged by block in the order of their first pair.
type sample struct {
	x     []float64 // overhead of each pair, in the order given
	equal float64   // differences up to this are none

	estimates [statisticCount]float64
	ratios    [statisticCount][]term // what each block adds to Mean and Total; nil of Median
	of        [][]float64            // [block] overheads of its pairs
}

// term is what a block adds to a statistic that is a ratio of sums, after the
// estimate has been taken out of the numerator: the ratio of the terms of any
// resample is its distance from the estimate.
type term struct{ e, v float64 }

func newSample(pairs []Pair) *sample {
	s := &sample{x: make([]float64, len(pairs))}
	for i, p := range pairs {
		s.x[i] = (p.With - p.Base) / p.Base
		s.equal = max(s.equal, near*math.Abs(s.x[i]))
	}
	var members ordered.List[int, []int] // pairs of each block
	for i, p := range pairs {
		list, _ := members.Of(p.Block)
		*list = append(*list, i)
	}
	_, exponent := math.Frexp(pairs[0].Base) // a power of two: scaling by it rounds nothing
	for _, block := range members.All {
		var mean, total term
		var own []float64
		for _, i := range block {
			own = append(own, s.x[i])
			mean.e += s.x[i]
			mean.v++
			total.e += math.Ldexp(pairs[i].With-pairs[i].Base, -exponent)
			total.v += math.Ldexp(pairs[i].Base, -exponent)
		}
		s.ratios[Mean], s.ratios[Total], s.of = append(s.ratios[Mean], mean), append(s.ratios[Total], total), append(s.of, own)
	}
	s.estimates[Median] = robust.Median(slices.Clone(s.x))
	s.centre(Mean)
	s.centre(Total)
	return s
}

// centre takes the estimate out of the numerators.
func (s *sample) centre(ratio Statistic) {
	terms, all := s.ratios[ratio], s.sum(ratio)
	s.estimates[ratio] = all.e / all.v
	for g := range terms {
		terms[g].e -= s.estimates[ratio] * terms[g].v
	}
}

func (s *sample) sum(ratio Statistic) (all term) {
	for _, a := range s.ratios[ratio] {
		all.e += a.e
		all.v += a.v
	}
	return all
}

func (s *sample) blocks() int { return len(s.of) }

// standardErrorOf returns the standard error of Mean or Total.
func (s *sample) standardErrorOf(ratio Statistic) float64 {
	squares := 0.0
	for _, a := range s.ratios[ratio] {
		squares += a.e * a.e
	}
	return standardError(squares, s.sum(ratio).v, s.blocks())
}

// Fewer blocks than these are a doubt: two-sided percentile intervals of 95 % hold in 0.845 of the samples of 5
// normal blocks, 0.900 of 10 and 0.926 of 20 (coverage_test.go).
const (
	veryFewBlocks = 10
	fewBlocks     = 20
)

// fewestBeyond is how many resamples must lie beyond a bound: the bound of five varies by 1/√5 of its level.
const fewestBeyond = 5

func (s *sample) doubts(o Options) []Doubt {
	var doubts []Doubt
	switch n := s.blocks(); {
	case n == 1:
		return []Doubt{OneBlock}
	case n < veryFewBlocks:
		doubts = append(doubts, VeryFewBlocks)
	case n < fewBlocks:
		doubts = append(doubts, FewBlocks)
	}
	if s.isSkewed() {
		doubts = append(doubts, Skewed)
	}
	if float64(o.Replicates)*(1-o.Confidence)/2 < fewestBeyond {
		doubts = append(doubts, FewReplicates)
	}
	return doubts
}

// isSkewed reports whether the skewness of the blocks' shares in the mean is more
// than twice its standard error among normal ones (Joanes and Gill 1998, The
// Statistician 47:183–189: G1).
func (s *sample) isSkewed() bool {
	n := float64(s.blocks())
	if n < 3 {
		return false
	}
	var shares []float64
	for _, a := range s.ratios[Mean] {
		shares = append(shares, a.e)
	}
	return stat.PopStdDev(shares, nil) > s.equal && math.Abs(stat.Skew(shares, nil)) > 2*math.Sqrt(6*n*(n-1)/((n-2)*(n+1)*(n+3)))
}
