package arrivals

import (
	"cmp"
	"math"
	"slices"
)

// strikes are the per-rank results of all places.
type strikes struct {
	*timed
	sigma []float64 // [place]
	cells map[cell]*tally
	hits  [][]int // [place][level] own delays of all ranks that exceed it
	width []float64
	most  int // cohorts of the place that has most
	tests int // places at which ranks are tested
	// anchor of timelines that do not say when their steps began; nil: none
	anchor *anchor
}

type cell struct{ place, rank int }

// tally is the result of one rank at one place.
type tally struct {
	count, last int
	largest     int      // cohorts in which its own delay is the largest, and beyond the lowest level
	delay       []strike // own, of all cohorts
	excess      int64    // own delay where struck
	charge      float64  // its share of what the late ranks cost
	struck      []strike
	part        float64 // of all entries of the place
	beside      []int   // [level] own delays that exceed it, of all members of its points
}

// enough is the number of cohorts that a place needs before ranks are tested.
const enough = 3

// beyond is the own delay, in robust standard deviations, that counts as a strike
// where ranks are not tested.
const beyond = 3

// limit is the own delay that counts as a strike at a place where ranks are not
// tested.
func (s *strikes) limit(at int) int64 { return int64(math.Max(beyond*s.sigma[at], leastLimit)) }

// leastLimit is the own delay, ns, that no clock resolves.
const leastLimit = 1000

// level is the own delay of a level of a place: from half a standard deviation on,
// or from limit on where a constant delay that small may be a clock's; each twice
// the one below. A delay now and then, far beyond small differences that all ranks
// have, shows at a high level; one in every step, amid noise, at a low one.
func (s *strikes) level(at, level int) int64 {
	lowest := s.limit(at)
	if len(s.clocks) < 2 {
		lowest = int64(math.Max(s.sigma[at]/2, leastLimit))
	}
	if lowest > math.MaxInt64>>level {
		return math.MaxInt64
	}
	return lowest << level
}

// tested is the most significant level of a rank at a place.
type tested struct {
	limit int64 // own delay that counts as a strike
	logP  float64
}

// test compares how often own delays of a rank exceed each level with those of all
// ranks and of the members beside it, and how often its own delay is the largest with
// chance. The two have half of the error rate each: levels tell a delay now and then,
// and in a short recording the largest tells one in every step. It returns the
// logarithm of the chance, over all levels, ranks and places.
func (s *strikes) test(at cell) tested {
	t := s.cells[at]
	best := tested{limit: s.limit(at.place), logP: min(0, s.largest(at, t.largest))}
	least := 0.0
	for level, of := range s.hits[at.place] {
		limit, n := s.level(at.place, level), 0
		for _, x := range t.delay {
			if x.own > limit {
				n++
			}
		}
		if p := s.chance(at, n, of, t.beside[level]); p < least {
			least, best.limit = p, limit
		}
	}
	best.logP = min(best.logP, least)
	return best
}

// trials is how many tests there are, of ranks at places, two each.
func (s *strikes) trials() float64 { return float64(2 * len(s.ranks) * max(1, s.tests)) }

// largest is the chance that the own delay of a rank is the largest so often.
func (s *strikes) largest(at cell, n int) float64 {
	return tail(s.cells[at].count, n, 1/max(2, s.width[at.place])) + math.Log(s.trials())
}

// chance is that of n strikes of a rank, of those of all and of the members beside it: a
// whole group may be slow.
func (s *strikes) chance(at cell, n, all, beside int) float64 {
	width, part := max(2, s.width[at.place]), s.cells[at].part
	p := tail(all, n, min(1/width, part)) + math.Log(float64(max(1, len(s.hits[at.place])))*s.trials())
	if part < 1/width {
		p = max(p, tail(beside, n, 1/width)+math.Log(2*width))
	}
	return p
}

// tells reports whether every rank of a place has entries enough there to be found
// late, in groups of four or more beside another that always is too.
func (s *strikes) tells(at int, alpha float64) bool {
	for r := range s.ranks {
		of := cell{at, r}
		t := s.cells[of]
		if t == nil {
			continue
		}
		all := t.count
		if s.width[at] >= 4 {
			all *= 2
		}
		if s.chance(of, t.count, all, all) > alpha {
			return false
		}
	}
	return true
}

// halfLevel is the chance up to which a half of a record shows a late rank.
const halfLevel = 0.05

// steady reports whether either half of a place's record, in time, shows by itself,
// at the same level, that a rank is late. What else runs on its host for a while does
// not strike at random, so that chance is exceeded in that half.
func (s *strikes) steady(at cell) bool {
	cohorts := s.places[at.place].cohorts
	half := s.at(cohorts[len(cohorts)/2][0])
	for level := range s.hits[at.place] {
		if s.inBoth(at, half, s.level(at.place, level)) {
			return true
		}
	}
	return false
}

// inBoth reports whether own delays of a rank beyond a limit are more frequent than
// chance allows before and after a time.
func (s *strikes) inBoth(at cell, half, limit int64) bool {
	var own, all [2]int
	for r := range s.ranks {
		t := s.cells[cell{at.place, r}]
		if t == nil {
			continue
		}
		for _, x := range t.delay {
			if x.own <= limit {
				continue
			}
			h := 0
			if x.at >= half {
				h = 1
			}
			if all[h]++; r == at.rank {
				own[h]++
			}
		}
	}
	for h := range own {
		if tail(all[h], own[h], 1/max(2, s.width[at.place])) > math.Log(halfLevel) {
			return false
		}
	}
	return true
}

// above are the strikes of a rank at its level.
func (t *tally) above(limit int64) (struck []strike, excess int64) {
	for _, x := range t.delay {
		if x.own > limit {
			struck = append(struck, x)
			excess += x.own
		}
	}
	return struck, excess
}

// own are the own delays.
func (t *tally) own() []int64 {
	out := make([]int64, len(t.delay))
	for i, x := range t.delay {
		out[i] = x.own
	}
	return out
}

// tallies compares all entries of all places.
func (t *timed) tallies() *strikes {
	s := &strikes{timed: t, sigma: make([]float64, len(t.places)), hits: make([][]int, len(t.places)), width: make([]float64, len(t.places)), cells: map[cell]*tally{}}
	for i := range t.places {
		s.tally(i)
		s.most = max(s.most, len(t.places[i].cohorts))
	}
	for i := range t.places {
		if s.repeats(i) && !s.divided(i) {
			s.tests++
		}
	}
	return s
}

// only is the job at one place.
func (s *strikes) only(at int) *timed {
	one := *s.timed
	one.places = s.places[at : at+1]
	return &one
}

// tally fills the cells of one place.
func (s *strikes) tally(at int) {
	p := &s.places[at]
	delays, of := make([][]int64, len(p.cohorts)), make([]*tally, len(s.ranks))
	one := s.only(at)
	one.eachDelay(func(_ *place, k int, e entry, x int64) {
		delays[k] = append(delays[k], x)
		c := of[e.rank]
		if c == nil {
			c = &tally{}
			of[e.rank], s.cells[cell{at, int(e.rank)}] = c, c
		}
		c.count++
		c.delay = append(c.delay, strike{s.at(e), x})
	})
	s.sigma[at] = spread(of)
	limit := s.limit(at)
	members := 0
	var hits []int // [level] of a cohort
	for k, c := range p.cohorts {
		members += len(c)
		last := 0
		hits = hits[:0]
		for i, e := range c {
			if s.at(e) > s.at(c[last]) {
				last = i
			}
			for level, x := 0, delays[k][i]; x > s.level(at, level); level++ {
				hits = addAt(hits, level, 1)
			}
		}
		for level, n := range hits {
			s.hits[at] = addAt(s.hits[at], level, n)
			for _, e := range c {
				of[e.rank].beside = addAt(of[e.rank].beside, level, n)
			}
		}
		of[c[last].rank].last++
		if i := slices.Index(delays[k], slices.Max(delays[k])); delays[k][i] > s.level(at, 0) {
			of[c[i].rank].largest++
		}
		share(c, delays[k], of)
	}
	s.width[at] = float64(members) / float64(max(1, len(p.cohorts)))
	for _, t := range of {
		if t != nil {
			t.struck, t.excess = t.above(limit)
			t.part = float64(t.count) / float64(max(1, members))
			t.beside = append(t.beside, make([]int, len(s.hits[at])-len(t.beside))...)
		}
	}
}

// addAt adds n to a count, which is 0 where the list ends before it.
func addAt(counts []int, at, n int) []int {
	for len(counts) <= at {
		counts = append(counts, 0)
	}
	counts[at] += n
	return counts
}

// spread is the robust standard deviation of own delay at a place. It is computed
// within ranks, so that a rank that is always late does not widen it.
func spread(of []*tally) float64 {
	var within, all []int64
	for _, c := range of {
		if c == nil {
			continue
		}
		x := c.own()
		mid := median(x)
		if len(x) < enough {
			mid = 0
		}
		for i := range x {
			x[i] = abs(x[i] - mid)
		}
		within = append(within, median(x))
		all = append(all, x...)
	}
	return 1.4826 * float64(max(median(within), median(all)))
}

// share divides the wait for the latest rank among the late ranks: each segment
// between two successive delays is shared equally by the ranks that are at least
// that late. If all members are equally late, none is charged.
func share(c cohort, x []int64, of []*tally) {
	order := make([]int, 0, len(c))
	for i := range c {
		if x[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	part := 0.0
	for n := len(order); n > 0; n-- {
		i, below := order[n-1], int64(0)
		switch {
		case n == len(c):
			below = x[i]
		case n < len(order):
			below = x[order[n]]
		}
		part += float64(x[i]-below) / float64(n)
		of[c[i].rank].charge += part
	}
}

// tail is the chance of k or more of n at p each, as a logarithm to base e.
func tail(n, k int, p float64) float64 {
	if k <= 0 || p >= 1 {
		return 0
	}
	sum := math.Inf(-1)
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	for i := k; i <= n; i++ {
		term := lgamma(n+1) - lgamma(i+1) - lgamma(n-i+1) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p)
		high, low := max(sum, term), min(sum, term)
		sum = high + math.Log1p(math.Exp(low-high))
		if i > k+64 && term < sum-50 {
			break
		}
	}
	return min(0, sum)
}
