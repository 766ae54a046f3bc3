package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// tally is what one pass over a view sums for one row. Times are nanoseconds,
// summed over the steps.
type tally struct {
	advance                int64
	rowMax, rowSum, spread int64 // Σ_t max_r d, Σ_t Σ_r d, Σ_t (max_r − median_r) d
	slowest, first         int64 // Σ_t d of the step's slowest rank, and of the first column
	frontier               int64 // Σ_t F
	lag, lagIncrease, gap  int64
	confident, switches    int
	last                   int // latest confident leader, −1 before the first
	leads                  []int
	slack                  []int64 // [rank] Σ_t F − P
}

// account is the paper's accounting of a view: the frontier, who is latest at
// each boundary, and the sums that the comparison methods rank by.
type account struct {
	rows     []tally
	makespan int64
	end      []int64 // [rank] where the prefixes of the last step end
}

// merge adds the account of another window under the same cut. Leaders of
// different windows are not compared.
func (a *account) merge(o *account) {
	a.makespan += o.makespan
	for i := range a.rows {
		k, p := &a.rows[i], &o.rows[i]
		k.advance += p.advance
		k.rowMax += p.rowMax
		k.rowSum += p.rowSum
		k.spread += p.spread
		k.slowest += p.slowest
		k.first += p.first
		k.frontier += p.frontier
		k.lag += p.lag
		k.lagIncrease += p.lagIncrease
		k.gap += p.gap
		k.confident += p.confident
		k.switches += p.switches
		addTo(k.slack, p.slack)
		for r, n := range p.leads {
			k.leads[r] += n
		}
	}
}

// boundary is one boundary of one step, as scan sees it. It is valid during
// the call only.
type boundary struct {
	step, row int
	prefix    []int64 // [rank]
	frontier  int64
	since     int64 // frontier since the step began
	advance   int64
	lag       int64
	gap       int64
	leader    int // first rank that is latest
	confident bool
}

// scan takes the frontier over a view in one pass, a step at a time
// (StageFrontier, section 3; leaders and lag from section 4). visit may be
// nil. O(T·S·R) expected time, O(S·R) memory.
func scan(v *view, g LeaderGates, visit func(boundary)) account {
	R, S := v.ranks(), len(v.order)
	acc := account{rows: make([]tally, S)}
	for i := range acc.rows {
		acc.rows[i] = tally{last: -1, leads: make([]int, R), slack: make([]int64, R)}
	}
	prefix, scratch, begin := make([]int64, R), make([]int64, R), make([]int64, R)
	copy(prefix, v.start)
	frontier := slices.Max(prefix)
	start := frontier
	for t := range v.steps {
		if v.cut != CutCarried {
			clear(prefix)
			frontier, start = 0, 0
		}
		copy(begin, prefix)
		lag := frontier - robust.MedianTimeOf(prefix, scratch)
		for i := range S {
			row := v.row(t, i)
			k := &acc.rows[i]
			k.addRow(row, v.middle(t, i).Median())
			addTo(prefix, row)
			b := boundary{step: t, row: i, prefix: prefix}
			var second int64
			b.frontier, second, b.leader = topTwo(prefix)
			b.advance, frontier = b.frontier-frontier, b.frontier
			b.gap = b.frontier - second
			b.lag = b.frontier - robust.MedianTimeOf(prefix, scratch)
			b.since = b.frontier - start
			b.confident = R > 1 && b.gap > g.tolerance(b.since)
			k.addBoundary(b, b.lag-lag)
			lag = b.lag
			if visit != nil {
				visit(b)
			}
		}
		slow := slowestOf(prefix, begin)
		for i := range S {
			acc.rows[i].slowest += v.row(t, i)[slow]
		}
		acc.makespan += frontier - start
		start = frontier
	}
	acc.end = prefix
	return acc
}

// tolerance is the gap up to which two ranks count as equally late.
func (g LeaderGates) tolerance(frontier int64) int64 {
	return max(int64(g.GapAbs), int64(g.GapRel*float64(frontier)))
}

func (k *tally) addRow(row []int64, median int64) {
	top, sum := row[0], int64(0)
	for _, d := range row {
		top = max(top, d)
		sum += d
	}
	k.rowMax += top
	k.rowSum += sum
	k.first += row[0]
	k.spread += top - median
}

func (k *tally) addBoundary(b boundary, lagIncrease int64) {
	k.advance += b.advance
	k.frontier += b.since
	k.lag += b.lag
	k.gap += b.gap
	k.lagIncrease += max(0, lagIncrease)
	for r, p := range b.prefix {
		k.slack[r] += b.frontier - p
	}
	if !b.confident {
		return
	}
	k.confident++
	k.leads[b.leader]++
	if k.last >= 0 && k.last != b.leader {
		k.switches++
	}
	k.last = b.leader
}

// slowestOf is the first rank whose step took longest.
func slowestOf(end, begin []int64) int {
	at := 0
	for r := range end {
		if end[r]-begin[r] > end[at]-begin[at] {
			at = r
		}
	}
	return at
}
