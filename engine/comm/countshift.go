package comm

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
)

// launchUnit is what one side of a communicator launched at once, as one witness tells it.
type launchUnit struct {
	Count   int64 // launches of the communicator before it, as the witness counts
	ids     []int // of its calls
	calls   []*comms.Call
	Time    int64 // nanoseconds on the witness's clock, when HasTime
	HasTime bool
	// After and Before bound when the same unit began on the other witness's clock, as calls
	// next to it say that are already found; 0 where nothing bounds it.
	After, Before int64
}

// mayBeSameCall reports whether two records may be of one call, on whatever rank and of whatever witness.
func mayBeSameCall(a, b *comms.Call) bool {
	return a.Op == b.Op && (a.Bytes == b.Bytes || a.Bytes < 0 || b.Bytes < 0) && (a.Peer == b.Peer || a.Peer < 0 || b.Peer < 0)
}

// maxShifts bounds what is tried: sequences in which everything is alike fit anywhere, and then only times tell.
const maxShifts = 4096

// countShift finds by how much the counts of two witnesses of one side of a communicator differ: of[i].Count − in[j].Count
// of a unit that both tell. Either may lack units. Both must be in the order of their counts.
//
// A shift is possible where no unit of the first that falls into the span of the second contradicts the one
// there, and at least half of the shorter list falls into it. Where several are, times decide: of a true pair
// the two clocks are equally far apart each time, so that three of four of them deviate least from the median, by a factor of four.
// ok is false where nothing decides.
func countShift(of, in []launchUnit) (d int64, ok bool) {
	var best []possibleShift
	shifts, ok := shiftsOf(of, in)
	if !ok {
		return 0, false
	}
	for _, d := range shifts {
		if s, possible := tryShift(of, in, d); possible {
			best = append(best, s)
		}
	}
	switch len(best) {
	case 0:
		return 0, false
	case 1:
		return best[0].by, true
	}
	slices.SortStableFunc(best, func(x, y possibleShift) int { return cmp.Compare(x.spread, y.spread) })
	return best[0].by, 4*best[0].spread+leastApart < best[1].spread
}

const (
	minShiftTimes = 4     // pairs with times that it takes to tell how steady they are
	leastApart    = 1_000 // nanoseconds that spreads differ by, at least
)

// possibleShift is a shift that is possible, and what three of four distances between the clocks then deviate from their median at most;
// infinite without times.
type possibleShift struct {
	by     int64
	spread float64
}

// shiftsOf returns the shifts at which the unit in the middle of one list finds one like it in the other: half of the shorter list is in
// common, and so is its middle. ok is false if those are too many.
func shiftsOf(of, in []launchUnit) (list []int64, ok bool) {
	if len(of) == 0 || len(in) == 0 {
		return nil, false
	}
	x, y := &of[len(of)/2], &in[len(in)/2]
	for i := range in {
		if in[i].mayContain(x) {
			list = append(list, x.Count-in[i].Count)
		}
	}
	for i := range of {
		if y.mayContain(&of[i]) {
			list = append(list, of[i].Count-y.Count)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list, len(list) <= maxShifts
}

// tryShift reports whether a shift is possible.
func tryShift(of, in []launchUnit, d int64) (s possibleShift, possible bool) {
	agree := 0
	var apart []float64
	for i := range of {
		u := &of[i]
		j, found := sort.Find(len(in), func(j int) int { return cmp.Compare(u.Count-d, in[j].Count) })
		if !found && (j == 0 || j == len(in)) { // outside of its span
			continue
		}
		if !found || !in[j].mayContain(u) {
			return possibleShift{}, false
		}
		agree++
		if u.HasTime && in[j].HasTime {
			apart = append(apart, float64(u.Time-in[j].Time))
		}
	}
	s = possibleShift{by: d, spread: math.Inf(1)}
	if len(apart) >= minShiftTimes {
		usual := robust.Lower(apart)
		for i := range apart {
			apart[i] = math.Abs(apart[i] - usual)
		}
		s.spread = robust.Select(apart, (len(apart)-1)*3/4)
	}
	return s, agree > 0 && 2*agree >= min(len(of), len(in))
}

// mayContain reports whether all calls of o may be among those of u, when it may be.
func (u *launchUnit) mayContain(o *launchUnit) bool {
	if u.HasTime && (o.After != 0 && u.Time < o.After || o.Before != 0 && u.Time > o.Before) {
		return false
	}
	for _, c := range o.calls {
		if !slices.ContainsFunc(u.calls, func(x *comms.Call) bool { return mayBeSameCall(x, c) }) {
			return false
		}
	}
	return true
}
