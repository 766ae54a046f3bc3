package clock

import (
	"iter"
	"slices"
)

// Entry is one member's part in a synchronisation point that lets nobody go on before all have
// entered.
type Entry struct {
	Clock int
	Enter int64
	// Left is a moment at which the member had left: its exit, or the next thing
	// that it entered. Unknown where nothing tells.
	Left int64
}

// Room is by how much a clock may be put forward, Low being below 0 where it may be put back.
// Unknown, or −Unknown, is any way.
type Room struct{ Low, High int64 }

// IsBounded reports whether there is room, and how much.
func (r Room) IsBounded() bool { return r.Low > -Unknown && r.High < Unknown && r.Low <= r.High }

// Rooms returns the room of each of n clocks, while the others stay, by entries on common time: nobody leaves a synchronisation
// point before the last has entered it. O(entries).
func Rooms(n int, syncs iter.Seq[[]Entry]) []Room {
	out := slices.Repeat([]Room{{-Unknown, Unknown}}, n)
	for sync := range syncs {
		entered, left := furthest{first: -Unknown, second: -Unknown}, furthest{first: -Unknown, second: -Unknown} // left: −t
		for _, e := range sync {
			entered.add(e.Enter, e.Clock)
			left.add(-e.Left, e.Clock)
		}
		for _, e := range sync {
			r := &out[e.Clock]
			if last := entered.largestOther(e.Clock); last > -Unknown && e.Left < Unknown {
				r.Low = max(r.Low, last-e.Left)
			}
			if last := left.largestOther(e.Clock); last > -Unknown {
				r.High = min(r.High, -last-e.Enter)
			}
		}
	}
	return out
}

// furthest is the largest value of any clock, and the largest of all others.
type furthest struct {
	first, second int64
	clock         int
}

func (f *furthest) add(v int64, clock int) {
	switch {
	case v > f.first && clock == f.clock:
		f.first = v
	case v > f.first:
		f.first, f.second, f.clock = v, f.first, clock
	case v > f.second && clock != f.clock:
		f.second = v
	}
}

// largestOther returns the largest for a clock: of the others.
func (f *furthest) largestOther(clock int) int64 {
	if clock == f.clock {
		return f.second
	}
	return f.first
}
