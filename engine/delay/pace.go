package delay

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// A rank that takes batches of a queue, or anything else that comes at its own pace, is in that piece for as long as the
// rest of its cycle leaves: a longer rest makes the piece as much shorter. Its time there is a wait, for something that
// is no rank. It is late all the same, but what the others would do without it is another question: where their own
// batches come no faster, they wait for these.

const (
	// paceBlock is how many intervals share one slope, as of two ranks that synchronise.
	paceBlock = 4
	// waitsToo is the slope from which on a peer waits there too: a queue that is empty once in ten steps lets its rank
	// go on no faster than the queue fills.
	waitsToo = -0.1
)

// pace returns by how much a piece of a rank is shorter where the rest of its cycle is longer, and which peers wait there
// too; nil where the piece does not make up for most of it. The cycle is from the end of the piece to its next end, so that
// the rest comes before the piece, and is compared with the cycle before: what grows over the run has no part in it.
func (s *series) pace(c cell) *claim.Pace {
	g := gates.Default().SyncPoint
	lo, mid, hi, ok := s.slopeOnRest(c, g.Confidence)
	if !ok || hi >= 0 || mid > g.Slope || mid < 1/g.Slope {
		return nil
	}
	out := &claim.Pace{Slope: mid, Low: lo, High: hi}
	for _, q := range s.peers[s.of[c.rank]] {
		if q == c.rank {
			continue
		}
		if _, mid, hi, ok := s.slopeOnRest(cell{q, c.piece}, g.Confidence); ok && hi < 0 && mid <= waitsToo {
			out.Peers = append(out.Peers, q)
		}
	}
	return out
}

// slopeOnRest returns the median slope of a piece of a rank on the rest of its cycle, over blocks of [paceBlock] intervals, with
// its interval at a confidence; ok is false where ranks run freely, synchronise in some steps only, or recorded too few. What
// recurs at the same distance in all of them is the program's, as an evaluation in every fourth step, and is taken off.
func (s *series) slopeOnRest(c cell, confidence float64) (lo, mid, hi float64, ok bool) {
	if s.Free() || s.Every > 1 {
		return 0, 0, 0, false
	}
	var at []int
	var x, y []float64 // changes from the interval before
	last, before := int64(0), -1
	for n := range s.Intervals {
		rest, known := s.restOfCycle(n, c)
		if !known {
			continue
		}
		if work := s.Work[c.piece]; before == n-1 {
			at, x, y = append(at, n), append(x, float64(rest-last)), append(y, float64(work[n*s.Ranks+c.rank]-work[before*s.Ranks+c.rank]))
		}
		last, before = rest, n
	}
	subtractProgram(at, x, y)
	var slopes []float64
	for i := 0; i+paceBlock <= len(at); i += paceBlock {
		xx, xy := 0.0, 0.0
		for k := i; k < i+paceBlock; k++ {
			xx, xy = xx+x[k]*x[k], xy+x[k]*y[k]
		}
		if xx > 0 {
			slopes = append(slopes, xy/xx)
		}
	}
	return robust.MedianInterval(slopes, confidence)
}

const (
	// longestProgram is the most steps after which a program is looked for to begin anew.
	longestProgram = 12
	// leastProgram is the part by which the deviations from a program must be smaller than those from one level.
	leastProgram = 1.0 / 3
)

// subtractProgram subtracts from two series over intervals the medians of the intervals at the same place of a period, of the period up to
// [longestProgram] that leaves the least of both; nothing where none leaves a third less than their medians do.
func subtractProgram(at []int, x, y []float64) {
	least, level := math.Inf(1), 0.0
	var left [2][]float64
	for m := 1; m <= longestProgram && 4*m <= len(at); m++ {
		dx, dy := subtractPhases(at, x, m), subtractPhases(at, y, m)
		sum := 0.0
		for i := range dx {
			sum += math.Abs(dx[i]) + math.Abs(dy[i])
		}
		if m == 1 {
			level = (1 - leastProgram) * sum
		} else if sum < min(least, level) {
			least, left = sum, [2][]float64{dx, dy}
		}
	}
	if left[0] != nil {
		copy(x, left[0])
		copy(y, left[1])
	}
}

// subtractPhases returns a series over intervals less the median of those at the same place of a period.
func subtractPhases(at []int, v []float64, period int) []float64 {
	phases := make([][]float64, period)
	for i, n := range at {
		phases[n%period] = append(phases[n%period], v[i])
	}
	middle := make([]float64, period)
	for k, p := range phases {
		if len(p) > 0 {
			middle[k] = median(p)
		}
	}
	out := make([]float64, len(v))
	for i, n := range at {
		out[i] = v[i] - middle[n%period]
	}
	return out
}

// restOfCycle returns how long a rank takes from the end of a piece in the interval before to its begin in this one, waits included;
// known is false where either is not recorded.
func (s *series) restOfCycle(n int, c cell) (sum int64, known bool) {
	if n == 0 || s.Head[n-1] < 0 || s.Head[n] < 0 || s.Tail[n] != s.Head[n-1] || s.Lacks(n-1, c.rank) || s.Lacks(n, c.rank) {
		return 0, false
	}
	own := s.Pieces[c.piece]
	at := own.Point
	for k, p := range s.Pieces {
		if p.Ranks != nil && !slices.Contains(p.Ranks, c.rank) {
			continue
		}
		after := k > c.piece
		if p.Tail != own.Tail { // what is left of the step before comes first
			after = own.Tail
		}
		switch {
		case p.Point > at || p.Point == at && after:
			sum += s.Work[k][(n-1)*s.Ranks+c.rank]
		case k != c.piece:
			sum += s.Work[k][n*s.Ranks+c.rank]
		}
	}
	for p, spent := range s.Spent {
		if p < at {
			sum += spent[n*s.Ranks+c.rank]
		} else {
			sum += spent[(n-1)*s.Ranks+c.rank]
		}
	}
	return sum, true
}

// limitToPace makes what a claim saves an upper bound, as others may wait for the same next. Those who are seen to wait for it already
// leave nothing to be saved.
func limitToPace(f *claim.Claim) {
	f.Certainty = min(f.Certainty, claim.Supported)
	f.Saves.High = max(f.Saves.High, f.Saves.Largest())
	f.Saves.Low = 0
	if len(f.Pace.Peers) > 0 {
		f.Saves.Alone, f.Saves.After, f.Saves.AtMost = 0, 0, 0
	}
}
