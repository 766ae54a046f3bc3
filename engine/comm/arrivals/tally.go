package arrivals

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// strikes are own delays of ranks at places.
type strikes struct {
	*timed
	sigma []float64 // [place] robust standard deviation of own delays
	cells map[cell]*tally
	most  int // cohorts of the place that has most
	// anchor of timelines that do not say when their steps began; nil: none
	anchor *anchor
}

type cell struct{ place, rank int }

// tally is one rank at one place.
type tally struct {
	last    int     // cohorts that it entered last
	own     []int64 // delays, of all cohorts
	strikes int     // own delays beyond the noise
	excess  int64   // their sum
}

// enough is the number of cohorts that a place needs to be looked at.
const enough = 3

// beyond is the own delay, in robust standard deviations, that counts as a strike.
const beyond = 3

// limit is the own delay that counts as a strike at a place.
func (s *strikes) limit(at int) int64 { return int64(math.Max(beyond*s.sigma[at], leastLimit)) }

// leastLimit is the own delay, ns, that no clock resolves.
const leastLimit = 1000

func (t *timed) strikes() *strikes {
	s := &strikes{timed: t, sigma: make([]float64, len(t.places)), cells: map[cell]*tally{}}
	for i := range t.places {
		s.most = max(s.most, len(t.places[i].cohorts))
	}
	return s
}

// tallies compares all entries of all places.
func (s *strikes) tallies() {
	for i := range s.places {
		s.tally(i)
	}
}

// only is the job at one place.
func (s *strikes) only(at int) *timed {
	one := *s.timed
	one.places = s.places[at : at+1]
	return &one
}

// tally fills the cells of one place.
func (s *strikes) tally(at int) {
	of := make([]*tally, len(s.ranks))
	s.only(at).eachDelay(func(_ *place, _ int, e entry, x int64) {
		if of[e.Process] == nil {
			of[e.Process] = &tally{}
			s.cells[cell{at, int(e.Process)}] = of[e.Process]
		}
		of[e.Process].own = append(of[e.Process].own, x)
	})
	for _, c := range s.places[at].cohorts {
		last := 0
		for i, e := range c {
			if s.at(e) > s.at(c[last]) {
				last = i
			}
		}
		of[c[last].Process].last++
	}
	s.sigma[at] = spread(of)
	limit := s.limit(at)
	for _, t := range of {
		if t == nil {
			continue
		}
		for _, x := range t.own {
			if x > limit {
				t.strikes++
				t.excess += x
			}
		}
	}
}

// spread is the robust standard deviation of own delay at a place. It is computed
// within ranks, so that a rank that is always late does not widen it.
func spread(of []*tally) float64 {
	var within, all []int64
	for _, c := range of {
		if c == nil {
			continue
		}
		x := slices.Clone(c.own)
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
	return robust.SigmaOfMAD * float64(max(median(within), median(all)))
}
