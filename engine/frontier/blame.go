package frontier

import (
	"math"
	"slices"
)

// blame listens to a timeline and charges the time for which the group waited
// to the ranks that came late, and to the stages that made them late.
//
// At each meeting the ranks that lag their peers' median by more than the
// leader tolerance are the late ones. Everything before the arrival of the
// last rank that is not late is nobody's fault. What the late ranks add on top
// is shared among them as the airport game shares the cost of a runway
// (Littlechild and Owen 1973, Management Science 20:370–372): each stretch is
// paid in equal parts by the ranks that are later than it begins. That is the
// Shapley value of the game "how late is the last one": it charges every
// nanosecond once, and two equally late ranks equally, where fixing only one
// of them would save nothing.
//
// A late rank's part is divided over its stages since the last meeting in
// proportion to how far each exceeded the peers' median in that same step, so
// that a step that was long for everybody blames nobody.
//
// Expected O(T·S·R) time when late ranks are few.
type blame struct {
	v         *view
	peers     [][]int // columns of each set of peers
	peerOf    []int   // [rank] → peers
	tolerance int64

	rows    []stretch      // rows since the last meeting
	middles map[int]middle // of this meeting's rows, by row and set of peers; filled on demand
	first   stretch        // the last meeting's row, whose productive time is firstC
	firstC  []int64
	late    []lateRank
	values  []int64
	scratch []int64

	charges map[cell]*charge
	seen    []suspicion // [group]
}

// stretch is one row of one step.
type stretch struct{ t, row int }

type cell struct{ group, rank int }

// charge is what has been put down to one rank and group of rows.
type charge struct {
	explained, alone float64
	excess           int64
	steps            int
}

// suspicion counts how often a group of rows made any rank late.
type suspicion struct {
	steps int
	share float64 // Σ over those meetings of the late ranks' part of all ranks
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
	b := &blame{v: v, peerOf: peerOf, tolerance: tolerance, first: stretch{t: -1}, firstC: make([]int64, R),
		values: make([]int64, R), scratch: make([]int64, R), charges: map[cell]*charge{}, middles: map[int]middle{}, seen: make([]suspicion, len(v.groups))}
	for r, p := range peerOf {
		for len(b.peers) <= p {
			b.peers = append(b.peers, nil)
		}
		b.peers[p] = append(b.peers[p], r)
	}
	return b
}

func (b *blame) work(t, i int, _ []int64) { b.rows = append(b.rows, stretch{t, i}) }

func (b *blame) meet(_, _ int, x, _ []int64, last int64) {
	b.settle(x, last)
	b.rows = b.rows[:0]
}

func (b *blame) productive(t, i int, c []int64) {
	b.first = stretch{t, i}
	copy(b.firstC, c)
}

func (b *blame) end(_ int, x []int64) {
	if len(b.rows) > 0 {
		b.settle(x, maxInt(x))
	}
	b.rows = b.rows[:0]
	b.first.t = -1
}

// settle charges the wait at one meeting, to which ranks come at x.
func (b *blame) settle(x []int64, last int64) {
	b.findLate(x, last)
	if len(b.late) == 0 {
		return
	}
	b.share()
	clear(b.middles)
	second, perGroup := runnerUp(x), map[int]int{}
	for k := range b.late {
		l := &b.late[k]
		b.measure(l)
		if l.total == 0 {
			continue
		}
		perGroup[l.dominant]++
		paid := min(l.part, float64(l.total)) / float64(l.total)
		for g, e := range l.excess {
			if e == 0 {
				continue
			}
			c := b.charge(cell{g, l.rank})
			c.explained += float64(e) * paid
			if x[l.rank] == last {
				c.alone += float64(last - max(min(second, last), last-min(e, l.lag)))
			}
			if g == l.dominant {
				c.steps++
				c.excess += e
			}
		}
	}
	for g, n := range perGroup {
		b.seen[g].steps++
		b.seen[g].share += float64(n) / float64(len(x))
	}
}

func (b *blame) charge(at cell) *charge {
	c := b.charges[at]
	if c == nil {
		c = new(charge)
		b.charges[at] = c
	}
	return c
}

// findLate lists the ranks that lag their peers, with how far each stands past
// the last rank that would be there without them.
func (b *blame) findLate(x []int64, last int64) {
	b.late = b.late[:0]
	punctual := int64(minInt64)
	for _, columns := range b.peers {
		for k, r := range columns {
			b.values[k] = x[r]
		}
		mid := middleOf(b.values[:len(columns)], b.scratch)
		for _, r := range columns {
			lag := x[r] - mid.without(x[r])
			if lag > b.tolerance {
				b.late = append(b.late, lateRank{rank: r, lag: lag})
				punctual = max(punctual, x[r]-lag)
			} else {
				punctual = max(punctual, x[r])
			}
		}
	}
	kept := b.late[:0]
	for _, l := range b.late {
		if l.height = x[l.rank] - punctual; l.height > 0 {
			kept = append(kept, l)
		}
	}
	b.late = kept
}

// share fills part, the airport game's shares of the largest height.
func (b *blame) share() {
	slices.SortFunc(b.late, func(p, q lateRank) int {
		if p.height != q.height {
			return int(min(1, max(-1, p.height-q.height)))
		}
		return p.rank - q.rank
	})
	paid, sum := int64(0), 0.0
	for k := range b.late {
		sum += float64(b.late[k].height-paid) / float64(len(b.late)-k)
		paid = b.late[k].height
		b.late[k].part = sum
	}
}

// measure fills how far the rank exceeded its peers in each group of rows
// since the last meeting.
func (b *blame) measure(l *lateRank) {
	l.excess, l.total = make([]int64, len(b.v.groups)), 0
	for k, at := range b.rows {
		d := b.v.row(at.t, at.row)[l.rank]
		l.excess[b.v.group[at.row]] += d - b.middle(k, l.rank).without(d)
	}
	if b.first.t >= 0 {
		// A meeting's productive time makes a rank leave late.
		c := b.firstC[l.rank]
		l.excess[b.v.group[b.first.row]] += c - b.among(l.rank, b.firstC).without(c)
	}
	for g, e := range l.excess {
		l.excess[g] = max(0, e)
		l.total += l.excess[g]
		if l.excess[g] > l.excess[l.dominant] {
			l.dominant = g
		}
	}
}

// middle is the middle of the k-th row since the last meeting among the peers
// of a rank.
func (b *blame) middle(k, rank int) middle {
	if len(b.peers) == 1 {
		return b.v.middle(b.rows[k].t, b.rows[k].row)
	}
	key := k*len(b.peers) + b.peerOf[rank]
	m, ok := b.middles[key]
	if !ok {
		m = b.among(rank, b.v.row(b.rows[k].t, b.rows[k].row))
		b.middles[key] = m
	}
	return m
}

// among is the middle of the values of a rank and its peers.
func (b *blame) among(rank int, v []int64) middle {
	columns := b.peers[b.peerOf[rank]]
	for k, r := range columns {
		b.values[k] = v[r]
	}
	return middleOf(b.values[:len(columns)], b.scratch)
}

// culprits lists what was charged, by descending exposed time, at most limit
// entries.
func (b *blame) culprits(makespan int64, limit int) []Culprit {
	tests := float64(b.testable() * b.v.ranks())
	var out []Culprit
	for at, c := range b.charges {
		s := b.seen[at.group]
		culprit := Culprit{Rank: b.v.w.Ranks[at.rank].ID, Stage: at.group, Explained: int64(c.explained),
			Gain: c.alone / float64(max(1, makespan)), Steps: c.steps, Of: s.steps, P: min(1, tests*s.tail(c.steps))}
		if c.steps > 0 {
			culprit.Excess = c.excess / int64(c.steps)
		}
		if culprit.Explained > 0 {
			out = append(out, culprit)
		}
	}
	slices.SortFunc(out, func(p, q Culprit) int {
		if p.Explained != q.Explained {
			return int(min(1, max(-1, q.Explained-p.Explained)))
		}
		if p.Rank != q.Rank {
			return p.Rank - q.Rank
		}
		return p.Stage - q.Stage
	})
	return out[:min(limit, len(out))]
}

// testable is the number of stages to correct for. A stage with so few late
// steps that even one rank having them all would not be significant cannot
// give a false alarm, and is not counted (Tarone 1990, Biometrics 46:515–522).
func (b *blame) testable() int {
	const level = 0.05
	R := float64(b.v.ranks())
	for k := 1; ; k++ {
		able := 0
		for _, s := range b.seen {
			if R*s.tail(s.steps) <= level/float64(k) {
				able++
			}
		}
		if able <= k {
			return k
		}
	}
}

// tail bounds the chance that one given rank is among the late ones in k or
// more of these meetings when every rank is equally likely to be: Chernoff's
// bound exp(−n·KL(k/n ‖ m)) for a sum of n independent events of mean m on
// average (Hoeffding 1963, JASA 58:13–30, Theorem 1). At k = n it is exact.
func (s suspicion) tail(k int) float64 {
	if s.steps == 0 || k == 0 {
		return 1
	}
	n := float64(s.steps)
	q, m := float64(k)/n, s.share/n
	if q <= m {
		return 1
	}
	kl := q * math.Log(q/m)
	if q < 1 {
		kl += (1 - q) * math.Log((1-q)/(1-m))
	}
	return math.Exp(-n * kl)
}

// runnerUp is the second largest arrival.
func runnerUp(x []int64) int64 {
	_, second, _ := topTwo(x)
	return second
}
