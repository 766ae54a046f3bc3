package ks

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
)

// autoPoints is how many windows Options.Window 0 aims at.
const autoPoints = 1000

// mostCounts bounds the counts of all workers in all windows: 2 GB of them.
const mostCounts = 1 << 29

// sample holds all completions as indices into the grid of occupied windows.
type sample struct {
	window int64
	points int // windows in which anything completes
	peers  []int

	// at[first[w]:first[w+1]] are the completions of worker w, ordered by step;
	// those of step t end at stepEnd[w][t].
	at      []int32
	first   []int
	stepEnd [][]int
	mean    []float64 // of the folded completion times of a worker, ns
	folded  []int64   // completion times as at has them, ns; of Options.Correlated, else nil
}

func (s *sample) ops(w int) int             { return s.first[w+1] - s.first[w] }
func (s *sample) completions(w int) []int32 { return s.at[s.first[w]:s.first[w+1]] }

// record returns what worker w completed in step t.
func (s *sample) record(w, t int) []int32 {
	from, to := s.span(w, t)
	return s.at[from:to]
}

// span returns where the operators of worker w in step t lie; 0, 0: it recorded no such step.
func (s *sample) span(w, t int) (from, to int) {
	ends := s.stepEnd[w]
	if t >= len(ends) {
		return 0, 0
	}
	if from = s.first[w]; t > 0 {
		from = ends[t-1]
	}
	return from, ends[t]
}

// newSample folds the times, cuts them into windows and numbers the windows
// that are occupied: between them no F changes.
func newSample(workers []Worker, o Options) (*sample, error) {
	s := &sample{window: o.Window, first: make([]int, 1, len(workers)+1)}
	total := 0
	for _, w := range workers {
		for _, step := range w.Steps {
			total += len(step.Done)
		}
	}
	if total > math.MaxInt32 {
		return nil, fmt.Errorf("ks: %d completions, at most %d can be compared at once", total, math.MaxInt32)
	}
	times := make([]int64, 0, total)
	for i, w := range workers {
		s.peers = append(s.peers, w.Peers)
		ends := make([]int, len(w.Steps))
		sum := 0.0
		for t, step := range w.Steps {
			from := step.Start
			if o.Clock == Wall {
				from = o.Origin
			}
			for _, done := range step.Done {
				d := uint64(done) - uint64(from) // right for done ≥ from, whatever their signs
				if done < from || d > math.MaxInt64 {
					return nil, fmt.Errorf("ks: worker %d, step %d: operator completes at %d ns, expected within 292 years after %d ns: %w",
						i, t, done, from, errBefore)
				}
				times = append(times, int64(d))
				sum += float64(d)
			}
			ends[t] = len(times)
		}
		s.stepEnd = append(s.stepEnd, ends)
		s.mean = append(s.mean, sum/float64(len(times)-s.first[i]))
		s.first = append(s.first, len(times))
	}
	if s.window == 0 {
		s.window = autoWindow(times)
	}
	if o.Correlated {
		s.folded = slices.Clone(times)
	}
	s.number(times)
	if len(workers)*s.points > mostCounts {
		return nil, fmt.Errorf("ks: operators of %d workers complete in %d windows of %d ns, expected at most %d: give a longer window",
			len(workers), s.points, s.window, mostCounts/len(workers))
	}
	return s, nil
}

// autoWindow returns the length that cuts the range up to the 99 % quantile into
// autoPoints windows: one slow step does not make the grid coarse. The quantile
// is that of every k-th completion, 2¹⁶ or a few more.
func autoWindow(times []int64) int64 {
	if len(times) == 0 {
		return 1
	}
	every := max(1, len(times)>>16)
	var some []int64
	for i := 0; i < len(times); i += every {
		some = append(some, times[i])
	}
	return max(1, robust.Select(some, (len(some)-1)*99/100)/autoPoints)
}

// number replaces times by the ranks of their windows among those occupied.
func (s *sample) number(times []int64) {
	last := int64(0)
	for i, t := range times {
		times[i] = t / s.window
		last = max(last, times[i])
	}
	s.at = make([]int32, len(times))
	if last > int64(16*len(times)+1024) { // sparse: sort
		occupied := slices.Clone(times)
		slices.Sort(occupied)
		occupied = slices.Compact(occupied)
		s.points = len(occupied)
		for i, k := range times {
			s.at[i] = int32(sort.Search(len(occupied), func(j int) bool { return occupied[j] >= k }))
		}
		return
	}
	rank := make([]int32, last+1) // dense: a table
	for _, k := range times {
		rank[k] = 1
	}
	for k, here := range rank {
		rank[k] = int32(s.points)
		s.points += int(here)
	}
	for i, k := range times {
		s.at[i] = rank[k]
	}
}

// groups returns the workers with completions, by Worker.Peers, in order of first
// appearance.
func (s *sample) groups(workers []Worker) [][]int {
	var groups ordered.List[int, []int]
	for w := range workers {
		if s.ops(w) > 0 {
			g, _ := groups.Of(s.peers[w])
			*g = append(*g, w)
		}
	}
	return groups.All
}

// fillLater fills Score.Later: a worker's mean completion against the median of
// the means of its peers.
func (s *sample) fillLater(group []int, r *Result) {
	if len(group) < 2 {
		return
	}
	sorted := make([]float64, len(group))
	for i, w := range group {
		sorted[i] = s.mean[w]
	}
	slices.Sort(sorted)
	for _, w := range group {
		lower, upper := robust.MiddlesWithout(sorted, s.mean[w])
		r.Scores[w].Later = int64(math.Round(s.mean[w] - (lower+upper)/2))
	}
}
