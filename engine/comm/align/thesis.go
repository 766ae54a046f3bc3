package align

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Scores of the NCCL Trace Profiler (Heidelberg 2026, §4.2.2), in hundredths.
const (
	growMatch    = 500  // equal names, times the operation's weight
	growMismatch = 1500 // different names, times the mean of both weights
	growGap      = 500  // the first of a run of calls, or of kernels, without partner
	growStep     = 150  // … and each further one more: g(k) = −5·(1 + 0.3·r), equation 4.2
	growBonus    = 100  // a match that follows one of the same operation
)

// maxGrowingCells bounds the table of one process: a quarter of a byte each.
const maxGrowingCells = 1 << 31

// growWeight returns the weight of an operation, equation 4.1: messages are common and say little.
func growWeight(op nccl.Op) int64 {
	switch op {
	case nccl.ReduceScatter, nccl.AllGather, nccl.Broadcast:
		return 4 // halves
	case nccl.Send, nccl.Recv, nccl.SendRecv:
		return 1
	}
	return 2
}

// direction is the last step of a path through the table.
type direction uint8

const (
	paired direction = iota
	kernelAlone
	callAlone
)

// growCell is the best path to a cell: its score, how long the run of gaps that it ends in is, and of what operation the match is that it ends in.
type growCell struct {
	score int64
	run   int32
	last  direction
	match nccl.Op // UnknownOp: none
}

// growPair is a kernel and a call that stand beside each other, by index; their names may differ.
type growPair struct {
	kernel, call int
	match        bool
}

// growingGaps aligns two sequences of operations as the NCCL Trace Profiler does: Needleman and Wunsch's recurrence with the scores above, in which
// each cell keeps the best path to it alone, so that the length of a gap is that of the run which this path ends in. A run ends where the other sequence
// has a gap; of equal scores a pair is taken, else a call without partner. Gaps before the first and after the last pair do not grow: with growth there its own test of false positives does not come out.
// Time is the product of the lengths.
func growingGaps(kernels, calls []nccl.Op) ([]growPair, error) {
	n, m := len(kernels), len(calls)
	if m > 0 && n > maxGrowingCells/m {
		return nil, fmt.Errorf("%d kernels and %d calls are more than the thesis's scoring can align: take the default", n, m)
	}
	row, steps := make([]growCell, m+1), make([]byte, (n+1)*(m+1)/4+1)
	mark := func(i, j int, d direction) {
		at := i*(m+1) + j
		steps[at/4] |= byte(d) << (at % 4 * 2)
	}
	for j := 1; j <= m; j++ {
		row[j] = growCell{score: -int64(j) * growGap, run: int32(j), last: callAlone}
		mark(0, j, callAlone)
	}
	for i := 1; i <= n; i++ {
		diagonal := row[0]
		row[0] = growCell{score: -int64(i) * growGap, run: int32(i), last: kernelAlone}
		mark(i, 0, kernelAlone)
		for j := 1; j <= m; j++ {
			above := row[j]
			row[j] = bestCell(diagonal.pair(kernels[i-1], calls[j-1]), row[j-1].gap(callAlone, i == n), above.gap(kernelAlone, j == m))
			mark(i, j, row[j].last)
			diagonal = above
		}
	}
	var out []growPair
	for i, j := n, m; i > 0 || j > 0; {
		at := i*(m+1) + j
		switch direction(steps[at/4] >> (at % 4 * 2) & 3) {
		case paired:
			i, j = i-1, j-1
			out = append(out, growPair{i, j, kernels[i] == calls[j]})
		case kernelAlone:
			i--
		default:
			j--
		}
	}
	return out, nil
}

// bestCell returns the cell with the highest score, of equals the first.
func bestCell(cells ...growCell) growCell {
	best := cells[0]
	for _, c := range cells[1:] {
		if c.score > best.score {
			best = c
		}
	}
	return best
}

// pair goes on with a kernel and a call.
func (c growCell) pair(kernel, call nccl.Op) growCell {
	w := growWeight(kernel)
	if kernel != call {
		return growCell{score: c.score - growMismatch*(w+growWeight(call))/4}
	}
	next := growCell{score: c.score + growMatch*w/2, match: kernel}
	if c.match == kernel {
		next.score += growBonus
	}
	return next
}

// gap goes on with one that has no partner, at the end of the other sequence or inside it.
func (c growCell) gap(d direction, atEnd bool) growCell {
	next := growCell{score: c.score - growGap, run: 1, last: d}
	if c.last == d {
		next.run = c.run + 1
		if !atEnd {
			next.score -= growStep * int64(c.run)
		}
	}
	return next
}

// ByThesis aligns one process with the whole scoring of the NCCL Trace Profiler: weights, gaps that grow, bonus. A process is one sequence: its calls as
// logged, its kernels as they started. Nothing but names counts; pairs of different names are not pairs.
func ByThesis(p Process) ([]needleman.Pair, error) {
	order := startOrder(p.Kernels)
	kernels, calls := make([]nccl.Op, len(order)), make([]nccl.Op, len(p.Calls))
	for i, k := range order {
		kernels[i] = p.Kernels[k].Op
	}
	for i, c := range p.Calls {
		calls[i] = kernelOp(c.Op)
	}
	pairs, err := growingGaps(kernels, calls)
	var out []needleman.Pair
	for i := len(pairs) - 1; i >= 0; i-- {
		if pairs[i].match {
			out = append(out, needleman.Pair{Row: pairs[i].call, Column: order[pairs[i].kernel]})
		}
	}
	return out, err
}

// SlidingWindow is how many calls the thesis's simplest way looks ahead; its text does not say.
const SlidingWindow = 8

// BySliding aligns one process in the thesis's simplest way: it walks the kernels as they started, and takes for each the first call of its
// operation among the next few that are left. A call that is not in the log costs all that follow: a later one is
// taken in its place, and those passed over are gone. Pairs have no margin.
func BySliding(p Process, window int) []needleman.Pair {
	var out []needleman.Pair
	next := 0
	for _, k := range startOrder(p.Kernels) {
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
