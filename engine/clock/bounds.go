package clock

import (
	"cmp"
	"math"
	"slices"
)

// maxDrift is how much a clock may gain in each ns: 500 ppm, as fast as NTP
// slews one. Quartz alone stays within 100 ppm.
const maxDrift = 500e-6

// Of bounds that no straight clock keeps, one in trimmed on either side is left
// out, at most maxTrimmed: a collective that was matched wrongly, or did not block.
const (
	trimmed    = 20
	maxTrimmed = 64
)

// bound says that when the reference showed at, the clock was at most, or at
// least, so far ahead.
type bound struct{ at, ahead float64 } // ns, from the epoch and the base of the bounds

// bounds are what is known of one clock. Times are kept as distances from the
// first bound, since clocks may be years apart.
type bounds struct {
	epoch, base  int64
	any          bool
	upper, lower []bound
}

func (b *bounds) boundFrom(at, ahead int64) bound {
	if !b.any {
		b.epoch, b.base, b.any = at, ahead, true
	}
	return bound{float64(at - b.epoch), float64(ahead - b.base)}
}

// addUpper adds a bound: at a time the clock is ahead by at most so much.
func (b *bounds) addUpper(at, ahead int64) { b.upper = append(b.upper, b.boundFrom(at, ahead)) }

// addLower adds a bound: at a time the clock is ahead by at least so much.
func (b *bounds) addLower(at, ahead int64) { b.lower = append(b.lower, b.boundFrom(at, ahead)) }

func (b *bounds) len() int { return len(b.upper) + len(b.lower) }

// fitted is a clock in the middle of its bounds.
type fitted struct {
	Clock
	halfWidth    int64
	contradicted int
}

// fitLine lays a line through the middle of bounds of both directions: without a
// drift, unless only a drift keeps them or doubles the room between them. ok is
// false where one direction has none: then nothing says how far off it is.
// O(n log n).
func (b *bounds) fitLine() (f fitted, ok bool) {
	if len(b.upper) == 0 || len(b.lower) == 0 {
		return fitted{}, false
	}
	t := newTube(b.upper, b.lower)
	drift := 0.0
	if len(b.upper) >= MinPoints && len(b.lower) >= MinPoints {
		left := min(maxTrimmed, len(b.upper)/trimmed, len(b.lower)/trimmed)
		best := t.widest()
		for ; left > 0 && t.width(best) < 0; left-- {
			t = t.dropTouched(best)
			best = t.widest()
		}
		if t.width(best) > 2*max(t.width(0), 0) {
			drift = best
		}
	}
	ahead := (t.ceiling(drift) + t.floor(drift)) / 2
	f = fitted{Clock: Clock{Epoch: b.epoch, Offset: b.base + int64(math.Floor(ahead)), Drift: drift, Drifts: drift != 0}}
	f.halfWidth = int64(math.Ceil(t.halfWidth(drift, ahead)))
	f.contradicted = b.countBroken(f.Clock)
	return f, true
}

// countBroken returns how many bounds a clock breaks.
func (b *bounds) countBroken(c Clock) (n int) {
	at := func(x bound) float64 { return float64(c.AheadAt(b.epoch+int64(x.at)) - b.base) }
	for _, u := range b.upper {
		if at(u) > u.ahead {
			n++
		}
	}
	for _, l := range b.lower {
		if at(l) < l.ahead {
			n++
		}
	}
	return n
}

// clamp returns the offset nearest to another within the bounds of one direction.
func (b *bounds) clamp(offset int64) int64 {
	for _, u := range b.upper {
		offset = min(offset, b.base+int64(u.ahead))
	}
	for _, l := range b.lower {
		offset = max(offset, b.base+int64(l.ahead))
	}
	return offset
}

// tube is the room between upper and lower bounds: the lines ahead + drift·t in
// it are those between floor(drift) and ceiling(drift). Of the bounds, the hulls
// are enough.
type tube struct {
	upper, lower       []bound // hulls, by time
	allUpper, allLower []bound
	first, last        float64
	drifting           bool // either direction has enough bounds for a drift
}

func newTube(upper, lower []bound) *tube {
	byTime := func(a, b bound) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ahead, b.ahead)) }
	t := &tube{allUpper: slices.SortedFunc(slices.Values(upper), byTime), allLower: slices.SortedFunc(slices.Values(lower), byTime)}
	t.first = min(t.allUpper[0].at, t.allLower[0].at)
	t.last = max(t.allUpper[len(upper)-1].at, t.allLower[len(lower)-1].at)
	t.drifting = len(upper) >= MinPoints && len(lower) >= MinPoints
	t.upper, t.lower = hull(t.allUpper, 1), hull(t.allLower, -1)
	return t
}

// hull returns the part of the convex hull of bounds, by time, that faces the tube: side is 1 for upper bounds and −1 for
// lower ones (Andrew 1979, Inf. Process. Lett. 9:216–219).
func hull(all []bound, side float64) []bound {
	var h []bound
	for _, p := range all {
		for len(h) >= 2 {
			a, b := h[len(h)-2], h[len(h)-1]
			if side*((b.at-a.at)*(p.ahead-a.ahead)-(b.ahead-a.ahead)*(p.at-a.at)) > 0 {
				break
			}
			h = h[:len(h)-1]
		}
		h = append(h, p)
	}
	return h
}

// ceiling returns the highest line of a drift, at time 0.
func (t *tube) ceiling(drift float64) float64 {
	least := math.Inf(1)
	for _, u := range t.upper {
		least = min(least, u.ahead-drift*u.at)
	}
	return least
}

// floor returns the lowest line of a drift, at time 0.
func (t *tube) floor(drift float64) float64 {
	most := math.Inf(-1)
	for _, l := range t.lower {
		most = max(most, l.ahead-drift*l.at)
	}
	return most
}

// width returns the room that a drift leaves, a concave function; negative: no clock fits.
func (t *tube) width(drift float64) float64 { return t.ceiling(drift) - t.floor(drift) }

// widest returns the drift that leaves most room.
func (t *tube) widest() float64 { return highest(t.width, -maxDrift, maxDrift) }

// dropTouched returns the tube without the bound on either side that a drift touches first.
func (t *tube) dropTouched(drift float64) *tube {
	high, low := t.ceiling(drift), t.floor(drift)
	upper := slices.DeleteFunc(slices.Clone(t.allUpper), func(u bound) bool { return u.ahead-drift*u.at == high })
	lower := slices.DeleteFunc(slices.Clone(t.allLower), func(l bound) bool { return l.ahead-drift*l.at == low })
	if len(upper) == 0 || len(lower) == 0 {
		return t
	}
	return newTube(upper, lower)
}

// halfWidth returns how far a line may be from that of any clock in the tube, at any time
// of it; where there is none, half of what is missing.
func (t *tube) halfWidth(drift, ahead float64) float64 {
	if w := t.width(drift); w < 0 || !t.drifting {
		return math.Abs(w) / 2
	}
	least := t.edge(drift, -maxDrift)
	most := t.edge(drift, maxDrift)
	far := 0.0
	for _, at := range [...]float64{t.first, t.last} {
		here := ahead + drift*at
		top := func(d float64) float64 { return t.ceiling(d) + d*at }
		bottom := func(d float64) float64 { return -t.floor(d) - d*at }
		far = max(far, top(highest(top, least, most))-here, bottom(highest(bottom, least, most))+here)
	}
	return far
}

// edge returns the drift nearest to an outer one at which the tube still has room, from a drift inside.
func (t *tube) edge(inner, outer float64) float64 {
	if t.width(outer) >= 0 {
		return outer
	}
	for range 60 {
		middle := (inner + outer) / 2
		if t.width(middle) >= 0 {
			inner = middle
		} else {
			outer = middle
		}
	}
	return inner
}

// highest returns where a concave function is highest between two places.
func highest(f func(float64) float64, low, high float64) float64 {
	for range 100 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if f(a) < f(b) {
			low = a
		} else {
			high = b
		}
	}
	return (low + high) / 2
}
