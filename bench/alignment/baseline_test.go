package alignment

import (
	"cmp"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/trace/nccl"
)

// byThesis scores the alignment by operation names alone.
func byThesis(t testing.TB, sn *scenario) (s score) {
	for i := range sn.ranks {
		r := &sn.ranks[i]
		pairs, err := align.ByName(r.process)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			s.found++
			s.right += count(r.truth[[2]int{p.Column, p.Row}])
		}
		s.truth += r.pairs
	}
	return s
}

// bySliding scores what scripts do: walk both lists, and take for each call the first kernel of
// its name among the next few that are left.
func bySliding(sn *scenario, window int) (s score) {
	for i := range sn.ranks {
		r := &sn.ranks[i]
		order := make([]int, len(r.process.Kernels))
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(r.process.Kernels[a].Start, r.process.Kernels[b].Start)
		})
		next := 0
		for c := range r.process.Calls {
			op := r.process.Calls[c].Op
			if op.PointToPoint() {
				op = nccl.SendRecv
			}
			for k := next; k < min(next+window, len(order)); k++ {
				if r.process.Kernels[order[k]].Op == op {
					s.found++
					s.right += count(r.truth[[2]int{order[k], c}])
					next = k + 1
					break
				}
			}
		}
		s.truth += r.pairs
	}
	return s
}
