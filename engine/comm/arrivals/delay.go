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
	hits  []int // [place] strikes of all ranks
	width []float64
}

type cell struct{ place, rank int }

// tally is the result of one rank at one place.
type tally struct {
	count, last int
	delay       []int64 // own, of all cohorts
	excess      int64   // own delay where struck
	charge      float64 // its share of what the late ranks cost
	struck      []strike
}

// enough is the number of cohorts that a place needs before ranks are tested.
const enough = 3

// beyond is the own delay, in robust standard deviations, that counts as a strike.
const beyond = 3

// tallies compares all entries of all places.
func (t *timed) tallies() *strikes {
	s := &strikes{timed: t, sigma: make([]float64, len(t.places)), hits: make([]int, len(t.places)), width: make([]float64, len(t.places)), cells: map[cell]*tally{}}
	for i := range t.places {
		s.tally(i)
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
		c.delay = append(c.delay, x)
	})
	s.sigma[at] = spread(of)
	limit := int64(math.Max(beyond*s.sigma[at], 1000))
	members := 0
	for k, c := range p.cohorts {
		members += len(c)
		last := 0
		for i, e := range c {
			if s.at(e) > s.at(c[last]) {
				last = i
			}
			t := of[e.rank]
			switch x := delays[k][i]; {
			case x > limit:
				s.hits[at]++
				t.struck = append(t.struck, strike{s.at(e), x})
				t.excess += x
			}
		}
		of[c[last].rank].last++
		share(c, delays[k], of)
	}
	s.width[at] = float64(members) / float64(max(1, len(p.cohorts)))
}

// spread is the robust standard deviation of own delay at a place. It is computed
// within ranks, so that a rank that is always late does not widen it.
func spread(of []*tally) float64 {
	var within, all []int64
	for _, c := range of {
		if c == nil {
			continue
		}
		x := slices.Clone(c.delay)
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
