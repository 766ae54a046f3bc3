package ks

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/robust"
)

// mostPlaces is how many completions of a step are looked at for how long noise stays correlated.
const mostPlaces = 16

// blocksOf returns how the steps of a group are cut: by the completions whose offsets stay correlated longest, of those at
// the same place in every step, or where workers do not complete as many by their means.
func (s *sample) blocksOf(group []int) blocks.Blocks {
	n, steps := len(group), s.steps(group)
	tau := blocks.Tau(s.offsets(group, steps, mean), n)
	if length := s.recordLength(group, steps); length > 0 {
		for at := 0; at < length; at += (length + mostPlaces - 1) / mostPlaces {
			tau = max(tau, blocks.Tau(s.offsets(group, steps, func(record []int64) float64 { return float64(record[at]) }), n))
		}
	}
	return blocks.Of(steps, tau)
}

func mean(record []int64) float64 {
	sum := 0.0
	for _, x := range record {
		sum += float64(x)
	}
	return sum / float64(len(record))
}

// recordLength returns how many operators each worker completes in each step; 0: not all as many.
func (s *sample) recordLength(group []int, steps int) int {
	length := len(s.times(group[0], 0))
	for _, w := range group {
		for t := range steps {
			if len(s.times(w, t)) != length {
				return 0
			}
		}
	}
	return length
}

// times returns the folded completion times of a worker in a step, ns, in the order given.
func (s *sample) times(w, t int) []int64 {
	from, to := s.span(w, t)
	return s.folded[from:to]
}

// offsets returns a figure of each record less the median of the peers' and less the worker's level, [step][worker]; 0 where a worker
// completed nothing.
func (s *sample) offsets(group []int, steps int, figure func([]int64) float64) []float64 {
	n := len(group)
	u, present := make([]float64, steps*n), make([]bool, steps*n)
	row := make([]float64, 0, n)
	for t := range steps {
		row = row[:0]
		for i, w := range group {
			if record := s.times(w, t); len(record) > 0 {
				u[t*n+i], present[t*n+i] = figure(record), true
				row = append(row, u[t*n+i])
			}
		}
		slices.Sort(row)
		for i := range group {
			if len(row) > 1 && present[t*n+i] {
				lower, upper := robust.MiddlesWithout(row, u[t*n+i])
				u[t*n+i] -= (lower + upper) / 2
			} else {
				u[t*n+i] = 0
			}
		}
	}
	for i := range group {
		var column []float64
		for t := range steps {
			if present[t*n+i] {
				column = append(column, u[t*n+i])
			}
		}
		level := robust.Median(column)
		for t := range steps {
			if present[t*n+i] {
				u[t*n+i] -= level
			}
		}
	}
	return u
}

// widen returns the records with the offset of each worker in each block made larger by the factor of the blocks: they are
// told from the same blocks, and neighbours are related.
func (s *sample) widen(p *permuter, cuts []int32) [][]uint8 {
	n := len(p.group)
	u := s.offsets(p.group, p.steps, mean)
	edges := make([]int64, len(cuts)) // the windows of cuts, by number
	for _, w := range p.group {
		for i, at := range s.completions(w) {
			if c, is := slices.BinarySearch(cuts, at); is {
				edges[c] = s.folded[s.first[w]+i] / s.window
			}
		}
	}
	out := slices.Clone(p.records)
	for i, w := range p.group {
		for b := range p.cut.N {
			from := p.cut.Start() + b*p.cut.Length
			offset := 0.0
			for t := from; t < from+p.cut.Length; t++ {
				offset += u[t*n+i]
			}
			shift := int64(math.Round((p.cut.Widen - 1) * offset / float64(p.cut.Length)))
			for t := from; t < from+p.cut.Length; t++ {
				times := s.times(w, t)
				bins := make([]uint8, len(times))
				for k, x := range times {
					bin, _ := slices.BinarySearch(edges, floorDiv(x+shift, s.window))
					bins[k] = uint8(min(bin, len(edges)-1))
				}
				out[i*p.steps+t] = bins
			}
		}
	}
	return out
}

// floorDiv returns x ÷ by rounded down.
func floorDiv(x, by int64) int64 {
	q := x / by
	if x%by < 0 {
		q--
	}
	return q
}
