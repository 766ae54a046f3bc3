package arrivals

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
)

// strikes are own delays of ranks at places.
type strikes struct {
	*sync.Waits
	job   *Job
	sigma []float64 // [place] robust standard deviation of own delays
	cells map[cell]*tally
	// anchor of timelines that do not say when their steps began; nil: none
	anchor *anchor
	// meeting are the steps of ranks that synchronise by messages to their neighbours alone; nil: they do not.
	meeting *sync.StepCut
	lines   map[int]*fitted // of lineOf, by rank
	held    [][]int64       // of heldUntil; nil: not computed
	inside  map[string]bool // of waitsInside; nil: not computed
}

type cell struct{ place, rank int }

// tally is one rank at one place.
type tally struct {
	last    int     // cohorts that it entered last
	own     []int64 // delays, of all cohorts
	strikes int     // own delays beyond the noise
	excess  int64   // their sum
}

// beyond is the own delay, in robust standard deviations, that counts as a strike.
const beyond = 3

func (j *Job) strikes(t *sync.Waits) *strikes {
	return &strikes{Waits: t, job: j, sigma: make([]float64, len(t.Places)), cells: map[cell]*tally{}, lines: map[int]*fitted{}}
}

// tally compares all entries of a place.
func (s *strikes) tally(at int) {
	of, all := make([]*tally, len(s.Ranks)), s.Places[at].Cohorts
	s.VisitWork(&s.Places[at], func(e sync.Entry, _, own int64) {
		if of[e.Process] == nil {
			of[e.Process] = &tally{own: make([]int64, 0, len(all)*len(all[0])/len(s.Ranks))}
			s.cells[cell{at, int(e.Process)}] = of[e.Process]
		}
		of[e.Process].own = append(of[e.Process].own, own)
	})
	for _, c := range all {
		of[slices.MaxFunc(c, func(a, b sync.Entry) int { return cmp.Compare(s.Time(a), s.Time(b)) }).Process].last++
	}
	of = slices.DeleteFunc(of, func(t *tally) bool { return t == nil })
	s.sigma[at] = spread(of)
	limit := int64(math.Max(beyond*s.sigma[at], sync.LeastDelay))
	for _, t := range of {
		for _, x := range t.own {
			if x > limit {
				t.strikes++
				t.excess += x
			}
		}
	}
}

// spread returns the robust standard deviation of own delay at a place. A rank that is always late does not widen it, as it is
// computed within ranks.
func spread(of []*tally) float64 {
	var within, all []int64
	for _, c := range of {
		x := slices.Clone(c.own)
		mid := robust.Lower(x)
		if len(x) < sync.Enough {
			mid = 0
		}
		for i := range x {
			x[i] = absolute(x[i] - mid)
		}
		within = append(within, robust.Lower(x))
		all = append(all, x...)
	}
	return robust.SigmaOfMAD * float64(max(robust.Lower(within), robust.Lower(all)))
}

func absolute(x int64) int64 { return max(x, -x) }
