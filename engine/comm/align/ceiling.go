package align

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/gotoh"
	"github.com/sfstat/sfstat/engine/comm/launchplan"
)

// Ceiling is the most that the F1 of any way to pair calls and kernels can be, in expectation over all alignments that
// are possible, each as probable as the model makes it whose parameters the known pairs tell: how often
// launches leave no kernel, which kernels run which calls, how long after one another they start. Who has to
// learn these from the data can do no better.
//
// With p(i, j) the probability of a pair, exact by forward and backward recursion over the whole table, a
// way that reports k pairs, one for each kernel at most, has no more right of them in expectation than the k largest
// of max_i p(i, j) add up to. Out of T true ones its F1 is at most 2·Σ/(k + T). The ceiling is the
// largest over k. Time and memory are the product of launches and kernels of each stream.
func Ceiling(p Process, known []Match, use Use) float64 {
	launches, _ := launchplan.Plan(p.Calls, len(p.Kernels))
	launchOf := map[int]int{}
	for _, k := range known {
		launchOf[k.Kernel] = k.Launch
	}
	var chances []float64
	for _, part := range divide(&p, launches, clocks{}) {
		part.setClock(clocks{})
		chances = append(chances, part.chances(launchOf, use)...)
	}
	slices.SortFunc(chances, func(a, b float64) int { return cmp.Compare(b, a) })
	best, sum := 0.0, 0.0
	for k, c := range chances {
		sum += c
		best = max(best, 2*sum/float64(k+1+len(known)))
	}
	return best
}

// chances is the largest posterior of each kernel.
func (p *part) chances(launchOf map[int]int, use Use) (best []float64) {
	h := newHMM(p.evidence)
	rowOf := map[int]int{}
	for row, l := range p.launchIDs {
		rowOf[l] = row
	}
	for j, k := range p.kernelIDs {
		if l, ok := launchOf[k]; ok {
			h.pairs = append(h.pairs, likely{gotoh.Pair{Row: rowOf[l], Column: j}, 1})
		}
	}
	all := stretch{rows: len(p.launches), columns: len(p.kernels)}
	of, ok := h.trellis(h.estimate(use), all).posterior()
	if !ok {
		return nil
	}
	for j := range p.kernels {
		most := 0.0
		for i, c := range of.column(j) {
			if p.launches[i].Lead >= 0 {
				most = max(most, c)
			}
		}
		best = append(best, most)
	}
	return best
}
