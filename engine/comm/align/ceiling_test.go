package align

import (
	"cmp"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/nccl"
)

// ceiling is the most that the F1 of any way to pair calls and kernels can be, in expectation over all alignments that
// are possible, each as probable as the model makes it whose parameters the known pairs give: how often
// launches leave no kernel, which kernels run which calls, how long after one another they start. Who has to
// learn these from the data can do no better.
//
// With p(i, j) the probability of a pair, exact by forward and backward recursion over the whole table, a
// way that reports k pairs, one for each kernel at most, has no more right of them in expectation than the k largest
// of max_i p(i, j) add up to. Out of T true ones its F1 is at most 2·Σ/(k + T). The ceiling is the
// largest over k. Time and memory are the product of launches and kernels of each stream.
func ceiling(p Process, known []Match) float64 {
	launches, _ := Plan(&p, len(p.Kernels))
	launchOf := map[int]int{}
	for _, k := range known {
		launchOf[k.Kernel] = k.Launch
	}
	var chances []float64
	for _, part := range divide(&p, launches, clocks{}) {
		part.setClock(clocks{})
		chances = append(chances, part.chances(launchOf)...)
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
func (p *part) chances(launchOf map[int]int) (best []float64) {
	h := newHMM(p.evidence)
	rowOf := map[int]int{}
	for row, l := range p.launchIDs {
		rowOf[l] = row
	}
	for j, k := range p.kernelIDs {
		if l, ok := launchOf[k]; ok {
			h.pairs = append(h.pairs, likely{needleman.Pair{Row: rowOf[l], Column: j}, 1})
		}
	}
	all := stretch{rows: len(p.launches), columns: len(p.kernels)}
	of, ok := h.trellis(h.estimate(), all).posterior()
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

// truePairs is the true pairs as kernels and launches.
func (s *simulated) truePairs(m *Matching) (known []Match) {
	launchOf := map[int]int{}
	for l := range m.Launches {
		for _, c := range m.Launches[l].Calls {
			launchOf[c] = l
		}
	}
	for pair := range s.truth {
		known = append(known, Match{Kernel: pair[0], Launch: launchOf[pair[1]]})
	}
	slices.SortFunc(known, func(a, b Match) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return known
}

// alike leaves two names of calls and kernels: most alignments score the same.
func (s *simulated) alike() {
	for i := range s.Calls {
		c := s.Calls[i]
		if c.Op != nccl.AllGather {
			c.Op = nccl.AllReduce
		}
		c.Datatype, c.Count = nccl.Float32, 1<<8
	}
	for i := range s.Kernels {
		k := &s.Kernels[i]
		k.Datatype, k.Grid = nccl.UnknownType, 1
		if k.Op != nccl.AllGather {
			k.Op, k.Datatype = nccl.AllReduce, nccl.Float32
		}
	}
}

// TestCeiling: a rank whose log has no stamps and whose trace has no launches is aligned nearly as well as is possible at all.
// The ceiling has parameters that were learned from the true pairs; the method learns its own from what it finds.
func TestCeiling(t *testing.T) {
	t.Log("| calls lost | kernels lost | F1 | ceiling |")
	t.Log("|---|---|---|---|")
	for _, lost := range []struct{ calls, kernels float64 }{{0, 0.2}, {0.2, 0.2}} {
		const seeds = 20
		f, most := 0.0, 0.0
		for seed := range uint64(seeds) {
			s := simulate(seed, lost.calls, lost.kernels)
			s.alike()
			m, err := Calls(s.Process, Options{Clockless: true})
			if err != nil {
				t.Fatal(err)
			}
			f1, _, _ := s.f1(m)
			f, most = f+f1/seeds, most+ceiling(s.Process, s.truePairs(m))/seeds
		}
		t.Logf("| %g %% | %g %% | %.3f | %.3f |", 100*lost.calls, 100*lost.kernels, f, most)
		if f < most-0.03 {
			t.Errorf("%+v: F1 %.4f, more than 0.03 below the ceiling of %.4f", lost, f, most)
		}
	}
}
