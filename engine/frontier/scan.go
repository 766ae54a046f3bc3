package frontier

import (
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
}

// account is the paper's accounting of a view: the frontier, who is latest at
// each boundary, and the sums that the comparison methods rank by.
type account struct {
	rows     []tally
	makespan int64
	ends     []int64 // [step][rank] where the prefixes end; nil where windows are summed
}

// last is where the prefixes of the last step end, [rank].
func (a *account) last() []int64 { return a.ends[len(a.ends)-len(a.rows[0].slack):] }

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
// nil. O(T·S·R) expected time, O((T + S)·R) memory.
func scan(v *view, g gates.Leader, visit func(boundary)) account {
	acc := account{ends: make([]int64, v.steps*v.ranks())}
	acc.scan(v, g, visit)
	return acc
}

// scan is scan into an account that has room for its ends.
func (acc *account) scan(v *view, g gates.Leader, visit func(boundary)) {
	R, S := v.ranks(), len(v.order)
	acc.rows = make([]tally, S)
	counts, times := make([]int, S*R), make([]int64, (S+3)*R)
	for i := range acc.rows {
		acc.rows[i] = tally{last: -1, leads: counts[i*R : (i+1)*R], slack: times[i*R : (i+1)*R]}
	}
	prefix, scratch, begin := times[S*R:][:R], times[(S+1)*R:][:R], times[(S+2)*R:][:R]
	copy(prefix, v.start)
	frontier := slices.Max(prefix)
	start := frontier
	for t := range v.steps {
		lag := int64(0)
		if v.cut != CutCarried {
			clear(prefix)
			frontier, start = 0, 0
		} else if v.lags == nil {
			lag = frontier - robust.MedianTimeOf(prefix, scratch)
		}
		copy(begin, prefix)
		for i := range S {
			k := &acc.rows[i]
			row := v.row(t, i)
			reach := k.addRow(row, prefix)
			b := boundary{step: t, row: i, prefix: prefix, frontier: reach.first, leader: reach.leader, gap: reach.first - reach.second}
			b.advance, frontier = b.frontier-frontier, b.frontier
			if v.lags == nil || v.lags[i] {
				b.lag = b.frontier - robust.MedianTimeOf(prefix, scratch)
			}
			if v.lags == nil {
				k.compare(row, v.middle(t, i).Median())
				k.lagIncrease += max(0, b.lag-lag)
			}
			b.since = b.frontier - start
			b.confident = R > 1 && b.gap > g.Tolerance(b.since)
			k.addBoundary(b)
			lag = b.lag
			if visit != nil {
				visit(b)
			}
		}
		if v.lags == nil {
			slow := slowestOf(prefix, begin)
			for i := range S {
				acc.rows[i].slowest += v.row(t, i)[slow]
			}
		}
		copy(acc.ends[t*R:], prefix)
		acc.makespan += frontier - start
		start = frontier
	}
	for i := range acc.rows {
		k := &acc.rows[i]
		for r := range k.slack {
			k.slack[r] += k.reached
		}
	}
}

// reach is what one row of one step shows: how far the first and the second of the ranks
// have got at its end, and who is the first.
type reach struct {
	first, second int64
	leader        int
}

// addRow adds a row to the prefixes. The inner loop of
// everything, without a branch on what noise decides.
func (k *tally) addRow(row, prefix []int64) reach {
	to := reach{first: minInt64, second: minInt64}
	prefix, slack := prefix[:len(row)], k.slack[:len(row)]
	for r, d := range row {
		x := prefix[r] + d
		prefix[r] = x
		slack[r] -= x
		if x > to.first {
			to.leader = r
		}
		to.second = max(to.second, min(to.first, x))
		to.first = max(to.first, x)
	}
	if len(row) == 1 {
		to.second = to.first
	}
	return to
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
