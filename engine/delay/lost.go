package delay

import (
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

// Lost is what ranks take unlike each other and no claim explains, ns a step. It bounds what a delay costs that the tests
// do not tell from chance.
type Lost struct {
	Noise    []int64 // [stage] the most that the times of one rank cost where they are longer than its peers'
	Spread   int64   // the most that one rank costs by entering points later than its peers, over all stages before them
	Uneven   []int64 // [stage] by how much one rank, of three or more, takes less than its peers: the others may all be late
	Unclosed int64   // the most that one rank enters points later than its stages say, where time in no stage was not recorded
}

// lostTime returns what is left beside the terms and what happened a few times, ns of the stretch.
// O(intervals · ranks · pieces).
func (s *series) lostTime() Lost {
	R, event := s.Ranks, int64(leastOnce*s.step)
	out := Lost{Noise: make([]int64, len(s.Stages)), Uneven: make([]int64, len(s.Stages))}
	late, once, times := make([]int64, R), make([]int64, R), make([]int, R)
	less := make([][]int64, len(s.Stages)) // of the first microstep of a stage, in all of them: ranks may go through these in another order
	for k, piece := range s.Pieces {
		if s.waitsPerhaps(piece.Stage) {
			continue
		}
		first := s.firstMicrostep(piece.Stage)
		if less[first] == nil {
			less[first] = make([]int64, R)
		}
		clear(late)
		clear(once)
		clear(times)
		excess, lead := s.excess[k], s.lead[piece.Point]
		for n := range s.Intervals {
			if s.Step(n, k) < 0 {
				continue
			}
			e, l := excess[n*R:(n+1)*R], lead[n*R:(n+1)*R]
			for r, x := range e {
				less[first][r] -= x
				if x = min(x, l[r]); x > event {
					once[r] += x
					times[r]++
				} else if x > 0 {
					late[r] += x
				}
			}
		}
		out.Noise[piece.Stage] += repeatedly(late, once, times)
	}
	for stage, of := range less {
		for r, x := range of {
			if len(s.peers[s.of[r]]) >= fewestUneven {
				out.Uneven[stage] = max(out.Uneven[stage], x)
			}
		}
	}
	clear(late)
	clear(once)
	clear(times)
	for p := range s.Points {
		for n, t := range s.Head {
			if t < 0 {
				continue
			}
			for r, x := range s.lead[p][n*R : (n+1)*R] {
				if x > event {
					once[r] += x
					times[r]++
				} else if x > 0 {
					late[r] += x
				}
			}
		}
	}
	out.Spread = repeatedly(late, once, times)
	if !slices.ContainsFunc(s.Stages, func(stage points.Stage) bool { return stage.Role == points.Rest }) {
		out.Unclosed = s.maxUnclosed()
	}
	return out
}

// fewestUneven is how many ranks must do the same work for one that takes less than the others to be the unusual one.
const fewestUneven = 3

// firstMicrostep returns the first stage of those that are one stage in several micro-batches.
func (s *series) firstMicrostep(stage int) int {
	base, micro := s.Stages[stage].Microbatch()
	if micro < 0 {
		return stage
	}
	return slices.IndexFunc(s.Stages, func(of points.Stage) bool {
		name, k := of.Microbatch()
		return k >= 0 && name == base
	})
}

// repeatedly returns the most that a rank costs, of what it does all along and of what happens more than a few times.
func repeatedly(along, once []int64, times []int) (most int64) {
	for r, x := range along {
		if times[r] > mostOnce {
			x += once[r]
		}
		most = max(most, x)
	}
	return most
}

// maxUnclosed returns the most that a rank enters points later than its stages say, ns of the stretch: all leave a point
// together, so that what the stages before it and the wait in it add up to differs by time that no stage has.
func (s *series) maxUnclosed() int64 {
	R := s.Ranks
	sums, closed, missing, late := make([]int64, R), make([]int64, R), make([]int64, R), make([]int64, R)
	for p := range s.Points {
		for n, t := range s.Head {
			if t < 0 {
				continue
			}
			spent := s.Spent[p][n*R : (n+1)*R]
			for r := range R {
				closed[r], late[r] = -s.Arrivals[p][n*R+r]-spent[r], -spent[r]
			}
			s.subtractPeers(missing, closed, nil)
			s.subtractPeers(closed, late, nil)
			for r, x := range missing {
				if x = min(x, closed[r]); x > 0 {
					sums[r] += x
				}
			}
		}
	}
	if R == 0 {
		return 0
	}
	return slices.Max(sums)
}

// join adds what is lost in the stretch that follows.
func (l *Lost) join(next *Lost) {
	add := func(a, b []int64) []int64 {
		if len(a) < len(b) {
			a, b = slices.Clone(b), a
		}
		for i, x := range b {
			a[i] += x
		}
		return a
	}
	l.Noise, l.Uneven, l.Unclosed = add(l.Noise, next.Noise), add(l.Uneven, next.Uneven), l.Unclosed+next.Unclosed
	l.Spread += next.Spread
}

// divide divides by a number of steps.
func (l *Lost) divide(steps int) {
	n := int64(max(1, steps))
	for i := range l.Noise {
		l.Noise[i], l.Uneven[i] = l.Noise[i]/n, l.Uneven[i]/n
	}
	l.Spread /= n
	l.Unclosed /= n
}
