package frontier

import (
	"cmp"
	"maps"
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

	rows    []stretch      // rows since the last meeting of all ranks
	busy    [][]int64      // [row] productive time, for rows in which some ranks met
	middles map[int]middle // of this meeting's rows, by row and set of peers; filled on demand
	late    []lateRank
	values  []int64
	scratch []int64

	charges map[cell]*charge
	groups  []suspicion // [group]
	whole   suspicion   // all groups together
}

// stretch is one row of one step; busy says that only the productive time in
// it counts.
type stretch struct {
	t, row int
	busy   bool
}

// cell is one rank in one group of rows; group −1 is the rank as a whole.
type cell struct{ group, rank int }

const wholeRank = -1

// charge is what has been put down to a cell.
type charge struct {
	explained, alone float64
	excess           int64
	steps            int
}

// suspicion is what was charged because of a group of rows, by whomever: the
// size of every single charge, and how much all late ranks mended together
// would save.
type suspicion struct {
	meetings int
	charges  int
	total    float64          // Σ of the charges
	sizes    map[uint64]*size // the charges, by size
	late     float64          // Σ over the meetings of the late ranks' part of all ranks
	mended   float64
}

// size is some charges of nearly the same size, an eighth of an octave wide.
type size struct {
	n       float64
	largest float64
}

func (s *suspicion) charge(x float64) {
	if x < 1 { // ns
		return
	}
	s.charges++
	s.total += x
	if s.sizes == nil {
		s.sizes = map[uint64]*size{}
	}
	at := math.Float64bits(x) >> 49
	bin := s.sizes[at]
	if bin == nil {
		bin = new(size)
		s.sizes[at] = bin
	}
	bin.n++
	bin.largest = max(bin.largest, x)
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
	b := &blame{v: v, peerOf: peerOf, tolerance: tolerance, busy: make([][]int64, len(v.order)),
		values: make([]int64, R), scratch: make([]int64, R), charges: map[cell]*charge{}, middles: map[int]middle{}, groups: make([]suspicion, len(v.groups))}
	for r, p := range peerOf {
		for len(b.peers) <= p {
			b.peers = append(b.peers, nil)
		}
		b.peers[p] = append(b.peers[p], r)
	}
	return b
}

func (b *blame) work(t, i int, _ []int64) { b.rows = append(b.rows, stretch{t: t, row: i}) }

// meet settles when all ranks meet. A meeting of some is on the way: those who
// waited there for one of them arrive late without being slow.
func (b *blame) meet(_, _ int, x, _ []int64, g *gathering) {
	if g.whole() {
		b.settle(x, maxInt(x))
		b.rows = b.rows[:0]
	}
}

// productive counts for the next meeting: a rank that is slow to leave one is
// late at the next.
func (b *blame) productive(t, i int, c []int64) {
	b.busy[i] = append(b.busy[i][:0], c...)
	b.rows = append(b.rows, stretch{t, i, true})
}

func (b *blame) end(_ int, x []int64) {
	if slices.ContainsFunc(b.rows, func(s stretch) bool { return !s.busy }) {
		b.settle(x, maxInt(x))
	}
	b.rows = b.rows[:0]
}

// durations of a stretch, [rank].
func (b *blame) durations(s stretch) []int64 {
	if s.busy {
		return b.busy[s.row]
	}
	return b.v.row(s.t, s.row)
}

// settle charges the wait at one meeting, to which ranks come at x.
func (b *blame) settle(x []int64, last int64) {
	punctual := b.findLate(x)
	if len(b.late) == 0 {
		return
	}
	clear(b.middles)
	for k := range b.late {
		l := &b.late[k]
		b.measure(l)
		// No later than its own doing: the rest is a wait on the way.
		l.height = min(l.height, l.total)
	}
	b.share()
	rest := b.punctualLast(x)
	dominant := map[int]int{}
	for k := range b.late {
		l := &b.late[k]
		if l.total == 0 {
			continue
		}
		dominant[l.dominant]++
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
		b.add(cell{wholeRank, l.rank}, l.total, float64(l.total)*paid, alone(l.total), true)
		for g, e := range l.excess {
			if e > 0 {
				b.add(cell{g, l.rank}, e, float64(e)*paid, alone(e), g == l.dominant)
			}
		}
	}
	all := 0
	for g, n := range dominant {
		b.groups[g].count(n, len(x))
		all += n
	}
	b.whole.count(all, len(x))
	b.mend(max(rest, punctual))
}

// punctualLast is the last arrival of the ranks that are not late.
func (b *blame) punctualLast(x []int64) int64 {
	for k := range b.late {
		b.values[k] = x[b.late[k].rank]
		x[b.late[k].rank] = minInt64
	}
	last := maxInt(x)
	for k := range b.late {
		x[b.late[k].rank] = b.values[k]
	}
	return last
}

// count takes note of a meeting at which n of so many ranks were late.
func (s *suspicion) count(n, ranks int) {
	if n > 0 {
		s.meetings++
		s.late += float64(n) / float64(ranks)
	}
}

// add puts a charge down to a cell. main says that the cell is why the rank
// was late at this meeting.
func (b *blame) add(at cell, excess int64, explained, alone float64, main bool) {
	c := b.charge(at)
	c.explained += explained
	c.alone += alone
	if main {
		c.steps++
		c.excess += excess
	}
	of := &b.whole
	if at.group != wholeRank {
		of = &b.groups[at.group]
	}
	of.charge(explained)
}

// mend adds what would be saved at this meeting if every late rank were on
// time in a group of rows, and in all of them. rest is when the others are
// there.
func (b *blame) mend(rest int64) {
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
	b.whole.mended += saved(func(l *lateRank) int64 { return l.total })
	for g := range b.groups {
		b.groups[g].mended += saved(func(l *lateRank) int64 { return l.excess[g] })
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
// the last rank that would be there without them, which it returns.
func (b *blame) findLate(x []int64) (punctual int64) {
	b.late = b.late[:0]
	punctual = minInt64
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
	return punctual
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
		d := b.durations(at)[l.rank]
		l.excess[b.v.group[at.row]] += d - b.middle(k, l.rank).without(d)
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
	if len(b.peers) == 1 && !b.rows[k].busy {
		return b.v.middle(b.rows[k].t, b.rows[k].row)
	}
	key := k*len(b.peers) + b.peerOf[rank]
	m, ok := b.middles[key]
	if !ok {
		m = b.among(rank, b.durations(b.rows[k]))
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

// culprits lists what was charged to ranks in one stage each, by descending
// exposed time, at most limit entries.
func (b *blame) culprits(makespan int64, limit int) []Culprit {
	scale := b.scale(makespan)
	tests := float64(b.testable() * b.v.ranks())
	var out []Culprit
	for at, c := range b.charges {
		if at.group == wholeRank || int64(c.explained*scale) == 0 {
			continue
		}
		culprit := b.culprit(at, c, makespan)
		culprit.Of = b.groups[at.group].meetings
		out = append(out, culprit)
	}
	out = sortCulprits(out, limit)
	for i := range out {
		c := &out[i]
		c.P = min(1, tests*b.groups[c.Stage].chance(c, b.inquest(c, makespan, scale), b.v.ranks()))
	}
	return out
}

// late lists what was charged to ranks over all their stages; Stage is the one
// with the largest part.
func (b *blame) lateRanks(makespan int64, limit int) []Culprit {
	scale := b.scale(makespan)
	var out []Culprit
	for at, c := range b.charges {
		if at.group != wholeRank || int64(c.explained*scale) == 0 {
			continue
		}
		culprit := b.culprit(at, c, makespan)
		culprit.Of = b.whole.meetings
		most := 0.0
		for g := range b.groups {
			if part := b.charges[cell{g, at.rank}]; part != nil && part.explained > most {
				culprit.Stage, most = g, part.explained
			}
		}
		out = append(out, culprit)
	}
	out = sortCulprits(out, limit)
	for i := range out {
		c := &out[i]
		c.P = min(1, float64(b.v.ranks())*b.whole.chance(c, b.inquest(c, makespan, scale), b.v.ranks()))
	}
	return out
}

func (b *blame) culprit(at cell, c *charge, makespan int64) Culprit {
	out := Culprit{Rank: b.v.w.Ranks[at.rank].ID, Stage: max(0, at.group), Explained: int64(c.explained * b.scale(makespan)),
		Gain: min(1, c.alone/float64(max(1, makespan))), Steps: c.steps}
	if c.steps > 0 {
		out.Excess = c.excess / int64(c.steps)
	}
	return out
}

// scale is 1, or less where durations contradict the meetings so much that
// more would be charged than the window has exposed.
func (b *blame) scale(makespan int64) float64 {
	return min(1, float64(makespan)/max(1, b.whole.total))
}

func sortCulprits(out []Culprit, limit int) []Culprit {
	slices.SortFunc(out, func(p, q Culprit) int {
		return cmp.Or(cmp.Compare(q.Explained, p.Explained), cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.Stage, q.Stage))
	})
	return out[:min(limit, len(out))]
}

// testable is the number of stages to correct for. A stage with so few late
// meetings that even one rank having them all would not be significant cannot
// give a false alarm, and is not counted (Tarone 1990, Biometrics 46:515–522).
func (b *blame) testable() int {
	const level = 0.05
	R := float64(b.v.ranks())
	for k := 1; ; k++ {
		able := 0
		for _, s := range b.groups {
			if n := s.charges; n > 0 && 2*math.Pow(R, float64(1-n)) <= level/float64(k) {
				able++
			}
		}
		if able <= k {
			return k
		}
	}
}

// chance bounds the chance that one given rank is charged so much, or is late
// so often, when all ranks are alike: the smaller of two bounds, doubled for
// having two. By size finds a rare delay of a second among frequent ones of
// milliseconds; by count finds a steady small delay among rare large ones.
func (s suspicion) chance(c *Culprit, charged float64, ranks int) float64 {
	return 2 * min(s.bySize(charged, ranks), s.byCount(c.Steps))
}

// inquest is the charge that is tested by its size: nothing for a rank that is
// charged less than a thousandth of the window, which no one will call.
func (b *blame) inquest(c *Culprit, makespan int64, scale float64) float64 {
	if c.Explained < makespan/1000 {
		return 0
	}
	return float64(c.Explained) / scale
}

// byCount bounds the chance that the rank is among the late ones in k or more
// of the meetings, each rank being so with equal chance: Chernoff's bound
// exp(−n·KL(k/n ‖ m)) for n independent events of mean m on average (Hoeffding
// 1963, JASA 58:13–30, Theorem 1).
func (s suspicion) byCount(k int) float64 {
	if s.meetings == 0 || k == 0 {
		return 1
	}
	n := float64(s.meetings)
	q, m := float64(k)/n, s.late/n
	if q <= m {
		return 1
	}
	kl := q * math.Log(q/m)
	if q < 1 {
		kl += (1 - q) * math.Log((1-q)/(1-m))
	}
	return math.Exp(-n * kl)
}

// bySize bounds the chance that one given rank is charged total or more when
// every charge falls on any rank with equal chance, whatever its size:
// Chernoff's bound for a weighted sum of independent indicators,
//
//	inf_λ≥0 exp(−λ·total) · Π_i (1 + (exp(λ·w_i) − 1)/R).
//
// Large delays count for what they are, so that noise of a few milliseconds
// cannot hide a rare delay of a second. For n equal charges that all fall on
// the rank, the bound is exact: R^−n. Within one meeting the charges exclude
// each other, which only lowers the chance. Charges of nearly the same size are
// counted as the largest of them, which only raises the bound.
func (s suspicion) bySize(total float64, ranks int) float64 {
	if s.charges == 0 || total <= 0 {
		return 1
	}
	bins := slices.SortedFunc(maps.Values(s.sizes), func(a, b *size) int { return cmp.Compare(a.largest, b.largest) })
	largest := bins[len(bins)-1].largest
	exponent := func(lambda float64) float64 {
		sum := -lambda * total
		for _, b := range bins {
			sum += b.n * math.Log1p(math.Expm1(lambda*b.largest)/float64(ranks))
		}
		return sum
	}
	// The exponent is convex in λ; golden-section search between no tilt and
	// one beyond which exp would overflow.
	lo, hi := 0.0, 600/largest
	const golden = 0.6180339887498949
	a, c := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fc := exponent(a), exponent(c)
	for range 40 {
		if fa < fc {
			hi, c, fc = c, a, fa
			a = hi - golden*(hi-lo)
			fa = exponent(a)
		} else {
			lo, a, fa = a, c, fc
			c = lo + golden*(hi-lo)
			fc = exponent(c)
		}
	}
	return math.Exp(min(0, fa, fc))
}
