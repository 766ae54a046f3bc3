package align

// ThesisScoring is the scoring of the thesis that this way of pairing comes from
// (NCCL Trace Profiler, Heidelberg 2026), for comparison: equal operation names score 5, different ones
// −15, and each call or kernel without partner costs 5. Its weights by operation and its
// growth of long gaps are left out. Everything else that the log and the trace know is
// not looked at, and a process is one sequence: its calls as logged, its kernels as they started.
type ThesisScoring struct {
	calls   []Call
	kernels []Kernel
	order   []int // of kernels, by start
}

// The thesis's scores.
const (
	thesisMatch    = 5
	thesisMismatch = -15
	thesisGap      = 5
)

// NewThesisScoring is the thesis's scoring of one process.
func NewThesisScoring(p Process) *ThesisScoring {
	return &ThesisScoring{calls: p.Calls, kernels: p.Kernels, order: byStart(p.Kernels)}
}

var _ Scores = (*ThesisScoring)(nil)

func (t *ThesisScoring) Size() (int, int)      { return len(t.calls), len(t.order) }
func (t *ThesisScoring) Window(int) (int, int) { return 0, len(t.order) }
func (t *ThesisScoring) Best(int) int32        { return thesisMatch }

func (t *ThesisScoring) Row(dst []int32, row, from int) {
	op := kernelOp(t.calls[row].Op)
	for k := range dst {
		dst[k] = thesisMismatch
		if t.kernels[t.order[from+k]].Op == op {
			dst[k] = thesisMatch
		}
	}
}

// ByName aligns one process with the thesis's scoring: pairs of call and kernel.
func ByName(p Process) ([]Pair, error) {
	t := NewThesisScoring(p)
	gap := Gap{Extend: thesisGap}
	r, err := Solve(t, Options{Rows: gap, Columns: gap, Width: DefaultWidth})
	if err != nil {
		return nil, err
	}
	for i := range r.Pairs {
		r.Pairs[i].Column = t.order[r.Pairs[i].Column]
	}
	return r.Pairs, nil
}

// SlidingWindow is how many kernels the thesis's simplest way looks ahead, as taken here.
const SlidingWindow = 8

// BySliding pairs what scripts pair: it walks both sequences, and takes for each call the first kernel of its operation
// among the next few that are left. Pairs have no margin.
func BySliding(p Process, window int) []Pair {
	order := byStart(p.Kernels)
	var out []Pair
	next := 0
	for c := range p.Calls {
		op := kernelOp(p.Calls[c].Op)
		for k := next; k < min(next+window, len(order)); k++ {
			if p.Kernels[order[k]].Op == op {
				out = append(out, Pair{Row: c, Column: order[k]})
				next = k + 1
				break
			}
		}
	}
	return out
}
