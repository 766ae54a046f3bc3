package align

import (
	"github.com/sfstat/sfstat/engine/comm/needleman"
)

// thesisScoring is the scoring of the thesis that this way of pairing comes from
// (NCCL Trace Profiler, Heidelberg 2026), for comparison: equal operation names score 5, different ones
// −15, and each call or kernel without partner costs 5. [ByThesis] has its weights by operation, its
// growth of long gaps and its bonus too, and is not optimal. Everything else that the log and the trace know is
// not looked at, and a process is one sequence: its calls as logged, its kernels as they started.
type thesisScoring struct {
	Process
	order []int // of kernels, by start
}

// The thesis's scores.
const (
	thesisMatch    = 5
	thesisMismatch = -15
	thesisGap      = 5
)

func (t *thesisScoring) Size() (int, int)      { return len(t.Calls), len(t.order) }
func (t *thesisScoring) Window(int) (int, int) { return 0, len(t.order) }
func (t *thesisScoring) Best(int) int32        { return thesisMatch }

func (t *thesisScoring) Row(dst []int32, row, from int) {
	op := kernelOp(t.Calls[row].Op)
	for k := range dst {
		dst[k] = thesisMismatch
		if t.Kernels[t.order[from+k]].Op == op {
			dst[k] = thesisMatch
		}
	}
}

// ByName aligns one process with the thesis's scoring: pairs of call and kernel.
func ByName(p Process) ([]needleman.Pair, error) {
	t := &thesisScoring{p, byStart(p.Kernels)}
	r, err := needleman.Solve(t, thesisGap)
	if err != nil {
		return nil, err
	}
	for i := range r.Pairs {
		r.Pairs[i].Column = t.order[r.Pairs[i].Column]
	}
	return r.Pairs, nil
}

// SlidingWindow is how many calls the thesis's simplest way looks ahead; its text does not say.
const SlidingWindow = 8

// BySliding is the thesis's simplest way: it walks the kernels as they started, and takes for each the first call of its
// operation among the next few that are left. A call that is not in the log costs all that follow: a later one is
// taken in its place, and those passed over are gone. Pairs have no margin.
func BySliding(p Process, window int) []needleman.Pair {
	var out []needleman.Pair
	next := 0
	for _, k := range byStart(p.Kernels) {
		for c := next; c < min(next+window, len(p.Calls)); c++ {
			if kernelOp(p.Calls[c].Op) == p.Kernels[k].Op {
				out = append(out, needleman.Pair{Row: c, Column: k})
				next = c + 1
				break
			}
		}
	}
	return out
}
