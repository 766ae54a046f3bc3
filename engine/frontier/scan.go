package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// tally is what one pass over a view sums for one row. Times are nanoseconds,
// summed over the steps.
type tally struct {
	advance                int64
	rowMax, rowSum, spread int64 // Σ_t max_r d, Σ_t Σ_r d, Σ_t (max_r − median_r) d
	slowest, first         int64 // Σ_t d of the step's slowest rank, and of the first column
	frontier               int64 // Σ_t F since the step began
	reached                int64 // Σ_t F
	lag, lagIncrease, gap  int64
	confident, switches    int
	last                   int // latest confident leader, −1 before the first
	leads                  []int
	slack                  []int64 // [rank] Σ_t F − P; while scanning Σ_t −P
	slip                   float64 // Σ_t of the mean over ranks of the last other arrival less its own, where all synchronise
}

// account is the paper's accounting of a view: the frontier, who is latest at
// each boundary, and the sums that the comparison methods rank by.
type account struct {
	rows     []tally
	makespan int64
	last     []int64 // [rank] where the prefixes end
	slip     float64 // at the ends of the steps, as [tally.slip]; 0 where all ranks synchronise anywhere
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
func scan(v *view, g gates.Leader, visit func(boundary)) account {
	R, S := v.ranks(), len(v.order)
	acc := account{rows: make([]tally, S)}
	counts, times := make([]int, S*R), make([]int64, (S+3)*R)
	for i := range acc.rows {
		acc.rows[i] = tally{last: -1, leads: counts[i*R : (i+1)*R], slack: times[i*R : (i+1)*R]}
	}
	prefix, scratch, begin := times[S*R:][:R], times[(S+1)*R:][:R], times[(S+2)*R:][:R]
	copy(prefix, v.start)
	frontier := slices.Max(prefix)
	start, syncs := frontier, slices.ContainsFunc(v.syncs, isOneSet)
	for t := range v.steps {
		lag := int64(0)
		if v.cut != CutCarried {
			clear(prefix)
			frontier, start = 0, 0
		} else if !v.brief {
			lag = frontier - robust.MedianTimeOf(prefix, scratch)
		}
		if !v.brief {
			copy(begin, prefix)
		}
		for i := range S {
			k, row := &acc.rows[i], v.row(t, i)
			if isOneSet(v.syncs[i]) {
				k.slip += slipOf(prefix)
			}
			if v.brief {
				latest := latestAfter(prefix, row)
				k.advance += latest - frontier
				if frontier = latest; v.arriving == i {
					k.lag += frontier - robust.MedianTimeOf(prefix, scratch)
				}
				continue
			}
			b := boundary{step: t, row: i, prefix: prefix}
			b.reach(k.addRow(row, prefix))
			b.advance, frontier = b.frontier-frontier, b.frontier
			b.lag = frontier - robust.MedianTimeOf(prefix, scratch)
			b.since = frontier - start
			b.confident = R > 1 && b.gap > g.Tolerance(b.since)
			k.compare(row, v.middle(t, i).Median())
			k.lagIncrease += max(0, b.lag-lag)
			k.addBoundary(b)
			lag = b.lag
			if visit != nil {
				visit(b)
			}
		}
		if !v.brief {
			slow := slowestOf(prefix, begin)
			for i := range S {
				acc.rows[i].slowest += v.row(t, i)[slow]
			}
		}
		if !syncs && v.endsStretch(t) {
			acc.slip += slipOf(prefix)
		}
		acc.makespan += frontier - start
		start = frontier
	}
	for i := range acc.rows {
		k := &acc.rows[i]
		for r := range k.slack {
			k.slack[r] += k.reached
		}
	}
	acc.last = prefix
	return acc
}

// latestAfter adds a row to the prefixes, and gives the latest of them.
func latestAfter(prefix, row []int64) int64 {
	latest, row := int64(math.MinInt64), row[:len(prefix)]
	for r, d := range row {
		x := prefix[r] + d
		prefix[r] = x
		latest = max(latest, x)
	}
	return latest
}

// reach records how far the first and the second of the ranks have got, and the leader.
func (b *boundary) reach(first, second int64, leader int) {
	b.frontier, b.gap, b.leader = first, first-second, leader
}

// addRow adds a row to the prefixes: how far the first and the second of the ranks have got at its end, and
// who is the first. The inner loop of everything, without a branch on what noise decides.
func (k *tally) addRow(row, prefix []int64) (first, second int64, leader int) {
	first, second = math.MinInt64, math.MinInt64
	prefix, slack := prefix[:len(row)], k.slack[:len(row)]
	for r, d := range row {
		x := prefix[r] + d
		prefix[r] = x
		slack[r] -= x
		if x > first {
			leader = r
		}
		second = max(second, min(first, x))
		first = max(first, x)
	}
	if len(row) == 1 {
		second = first
	}
	return first, second, leader
}

// compare adds what the comparison methods take of a row with some median.
func (k *tally) compare(row []int64, median int64) {
	longest, sum := row[0], int64(0)
	for _, d := range row {
		longest = max(longest, d)
		sum += d
	}
	k.rowMax += longest
	k.rowSum += sum
	k.spread += longest - median
	k.first += row[0]
}

func (k *tally) addBoundary(b boundary) {
	k.advance += b.advance
	k.frontier += b.since
	k.reached += b.frontier
	k.lag += b.lag
	k.gap += b.gap
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

// slowestOf returns the first rank whose step took longest.
func slowestOf(end, begin []int64) int {
	at := 0
	for r := range end {
		if end[r]-begin[r] > end[at]-begin[at] {
			at = r
		}
	}
	return at
}

// slipOf returns the mean over ranks of the last other arrival after its own, ns.
func slipOf(x []int64) float64 {
	last, second, sum := int64(math.MinInt64), int64(math.MinInt64), int64(0)
	for _, reached := range x {
		second = max(second, min(last, reached))
		last = max(last, reached)
		sum -= reached
	}
	if len(x) < 2 {
		return 0
	}
	// For the last one itself the last of the others is the second.
	return float64(sum+int64(len(x))*last-(last-second)) / float64(len(x))
}
