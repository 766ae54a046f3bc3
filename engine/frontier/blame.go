package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// blame follows a course and charges the time for which the group waited
// to the ranks that arrived late, and to the stages that made them late.
//
// At each synchronisation point the ranks that lag their peers' median by more than the
// leader tolerance are the late ones. Everything before the arrival of the
// last rank that is not late is nobody's fault. What the late ranks add on top
// is shared among them as the airport game shares the cost of a runway
// (Littlechild and Owen 1973, Management Science 20:370–372): each stretch is
// paid in equal parts by the ranks that are later than it begins. That is the
// Shapley value of the game "how late is the last one": it charges every
// nanosecond once, and two equally late ranks equally, where fixing only one
// of them would save nothing.
//
// A late rank's part is divided over its stages since the last synchronisation point in
// proportion to how far each exceeded the peers' median in that same step, so
// that a step that was long for everybody blames nobody.
//
// Expected O(T·S·R) time when late ranks are few.
type blame struct {
	v         *view
	course    *course
	peers     [][]int // columns of each set of peers
	peerOf    []int   // [rank] → peers
	tolerance int64

	rows    []stretch       // rows since the last synchronisation point of all ranks
	middles []robust.Middle // of this synchronisation point's rows, by row and set of peers; filled on demand
	known   []bool          // which of them are
	late    []lateRank
	excess  []int64 // of them
	mainly  []int   // [group] how many of them it is the dominant one of
	values  []int64
	scratch []int64

	ledger
}

// stretch is one row of one step; busy says that only the productive time in
// it counts.
type stretch struct {
	t, row int
	busy   bool
}

type lateRank struct {
	rank     int
	lag      int64 // behind the median of its peers
	height   int64 // past the last punctual rank
	part     float64
	excess   []int64 // [group] over the peers, ≥ 0
	total    int64   // Σ excess
	dominant int     // group with the largest excess
}

func newBlame(v *view, peerOf []int, tolerance int64) *blame {
	R := v.ranks()
	b := &blame{v: v, peerOf: peerOf, tolerance: tolerance,
		values: make([]int64, R), scratch: make([]int64, R), mainly: make([]int, len(v.groups)), ledger: newLedger(v.w.Ranks, len(v.groups))}
	for r, p := range peerOf {
		for len(b.peers) <= p {
			b.peers = append(b.peers, nil)
		}
		b.peers[p] = append(b.peers[p], r)
	}
	return b
}

// follow charges all of a course of the view. Ranks are settled with where all
// synchronise, and at the ends of steps. A synchronisation point of some is on the
// way: those who waited there for one of them arrive late without being slow. Productive
// time counts for the next: a rank that is slow to leave one is late at the next.
func (b *blame) follow(c *course) {
	b.course = c
	for t := range b.v.steps {
		for i := range b.v.order {
			if g := c.syncs[i]; g != nil && g.whole() {
				b.settle(c.arrivals(t, i))
				b.rows = b.rows[:0]
			}
			b.rows = append(b.rows, stretch{t, i, c.syncs[i] != nil})
		}
		if !b.v.over(t) {
			continue
		}
		if slices.ContainsFunc(b.rows, func(s stretch) bool { return !s.busy }) {
			b.settle(c.end(t))
		}
		b.rows = b.rows[:0]
	}
}

// durations of a stretch, [rank].
func (b *blame) durations(s stretch) []int64 {
	if s.busy {
		return b.course.productive(s.t, s.row)
	}
	return b.v.row(s.t, s.row)
}

// settle charges the wait at one synchronisation point, to which ranks come at x.
func (b *blame) settle(x []int64) {
	punctual := b.findLate(x)
	if len(b.late) == 0 {
		return
	}
	n := len(b.rows) * len(b.peers)
	b.middles, b.known = slices.Grow(b.middles[:0], n)[:n], slices.Grow(b.known[:0], n)[:n]
	clear(b.known)
	n = len(b.late) * len(b.v.groups)
	b.excess = slices.Grow(b.excess[:0], n)[:n]
	clear(b.excess)
	for k := range b.late {
		l := &b.late[k]
		l.excess = b.excess[k*len(b.v.groups) : (k+1)*len(b.v.groups)]
		b.measure(l)
		// No later than its own doing: the rest is a wait on the way.
		l.height = min(l.height, l.total)
	}
	share(b.late)
	rest := b.punctualLast(x)
	clear(b.mainly)
	for k := range b.late {
		l := &b.late[k]
		if l.total == 0 {
			continue
		}
		b.mainly[l.dominant]++
		paid := min(l.part, float64(l.total)) / float64(l.total)
		own := punctual + l.height
		second := rest
		for o := range b.late {
			if o != k {
				second = max(second, punctual+b.late[o].height)
			}
		}
		// alone is what would be saved if this rank were earlier by e.
		alone := func(e int64) float64 { return float64(max(0, own-max(second, own-min(e, l.lag)))) }
		b.total += float64(l.total) * paid
		for g, e := range l.excess {
			if e > 0 {
				b.add(cell{g, l.rank}, e, float64(e)*paid, alone(e), g == l.dominant)
			}
		}
	}
	for g, n := range b.mainly {
		b.groups[g].count(n, len(x)) // of none, nothing
	}
	b.save(max(rest, punctual))
}

// punctualLast is the last arrival of the ranks that are not late.
func (b *blame) punctualLast(x []int64) int64 {
	for k := range b.late {
		b.values[k] = x[b.late[k].rank]
		x[b.late[k].rank] = minInt64
	}
	last := slices.Max(x)
	for k := range b.late {
		x[b.late[k].rank] = b.values[k]
	}
	return last
}

// save adds what would be saved at this synchronisation point if every late rank were on
// time in a group of rows, and in all of them. rest is when the others are
// there.
func (b *blame) save(rest int64) {
	saved := func(excess func(l *lateRank) int64) float64 {
		before, after := rest, rest
		for k := range b.late {
			l := &b.late[k]
			own := rest + l.height
			before = max(before, own)
			after = max(after, own-min(excess(l), l.lag))
		}
		return float64(before - after)
	}
	b.saved += saved(func(l *lateRank) int64 { return l.total })
	for g := range b.groups {
		b.groups[g].saved += saved(func(l *lateRank) int64 { return l.excess[g] })
	}
}

// findLate lists the ranks that lag their peers, with how far each stands past
// the last rank that would be there without them, which it returns.
func (b *blame) findLate(x []int64) (punctual int64) {
	b.late = b.late[:0]
	if last := slices.Max(x); len(b.peers) == 1 && together(x, last-b.tolerance) {
		return last
	}
	punctual = minInt64
	for _, columns := range b.peers {
		mid := b.middleOf(columns, x)
		inTime := mid.Least() + b.tolerance
		for _, r := range columns {
			came := x[r]
			if came > inTime {
				if lag := came - mid.Without(came); lag > b.tolerance {
					b.late = append(b.late, lateRank{rank: r, lag: lag})
					came -= lag
				}
			}
			punctual = max(punctual, came)
		}
	}
	kept := b.late[:0]
	for _, l := range b.late {
		if l.height = x[l.rank] - punctual; l.height > 0 {
			kept = append(kept, l)
		}
	}
	b.late = kept
	return punctual
}

// together reports whether so many of the values are no less than some value that the
// median of all but any one of them is not: those are then no further apart from it than
// the largest is from that value.
func together(x []int64, least int64) bool {
	below := 0
	for _, v := range x {
		below += int(uint64(v-least) >> 63)
	}
	return 2*below <= len(x)-2
}

// share orders late ranks by height and fills part, the airport game's shares of the
// largest height.
func share(late []lateRank) {
	slices.SortFunc(late, func(p, q lateRank) int {
		if p.height != q.height {
			return int(min(1, max(-1, p.height-q.height)))
		}
		return p.rank - q.rank
	})
	paid, sum := int64(0), 0.0
	for k := range late {
		sum += float64(late[k].height-paid) / float64(len(late)-k)
		paid = late[k].height
		late[k].part = sum
	}
}

// measure fills how far the rank exceeded its peers in each group of rows
// since the last synchronisation point; excess is all 0.
func (b *blame) measure(l *lateRank) {
	l.total = 0
	for k, at := range b.rows {
		d := b.durations(at)[l.rank]
		l.excess[b.v.group[at.row]] += d - b.middle(k, l.rank).Without(d)
	}
	for g, e := range l.excess {
		l.excess[g] = max(0, e)
		l.total += l.excess[g]
		if l.excess[g] > l.excess[l.dominant] {
			l.dominant = g
		}
	}
}

// middle is the middle of the k-th row since the last synchronisation point among the peers
// of a rank.
func (b *blame) middle(k, rank int) robust.Middle {
	if len(b.peers) == 1 && !b.rows[k].busy {
		return b.v.middle(b.rows[k].t, b.rows[k].row)
	}
	key := k*len(b.peers) + b.peerOf[rank]
	if !b.known[key] {
		b.middles[key], b.known[key] = b.among(rank, b.durations(b.rows[k])), true
	}
	return b.middles[key]
}

// among is the middle of the values of a rank and its peers.
func (b *blame) among(rank int, v []int64) robust.Middle {
	return b.middleOf(b.peers[b.peerOf[rank]], v)
}

// middleOf is the middle of some of the values.
func (b *blame) middleOf(columns []int, v []int64) robust.Middle {
	if len(columns) == len(v) {
		return robust.MiddleOf(v, b.scratch)
	}
	for k, r := range columns {
		b.values[k] = v[r]
	}
	return robust.MiddleOf(b.values[:len(columns)], b.scratch)
}
