package robust

import "slices"

// Middle holds the order statistics around the middle of n times: the lower
// and upper median and, of an odd number, one beyond on either side. It answers for the
// median of all, and of all but one.
type Middle struct {
	n                 int
	below, lo, hi, up int64 // sorted[(n-1)/2-1], sorted[(n-1)/2], sorted[n/2], sorted[n/2+1]
}

// Median of all times; for an even count the mean of the two middle ones,
// rounded down to a whole nanosecond.
func (m Middle) Median() int64 { return mean2(m.lo, m.hi) }

// Lower is the lower median of all times.
func (m Middle) Lower() int64 { return m.lo }

// Upper is the upper median of all times.
func (m Middle) Upper() int64 { return m.hi }

// Without is the median of the other times, x being one of them; of one time,
// that time.
func (m Middle) Without(x int64) int64 {
	at, above, equal, below := m.Others()
	switch {
	case x > at:
		return above
	case x < at:
		return below
	}
	return equal
}

// Others is Without of all times at once: of those above at, of those equal to it, and of those below.
func (m Middle) Others() (at, above, equal, below int64) {
	switch {
	case m.n == 1:
		return m.lo, m.lo, m.lo, m.lo
	case m.n%2 == 1:
		return m.lo, mean2(m.below, m.lo), mean2(m.below, m.up), mean2(m.lo, m.up)
	}
	return m.hi, m.lo, m.lo, m.hi
}

// mean2 is the mean rounded down, without overflow.
func mean2(a, b int64) int64 { return a + (b-a)>>1 }

// MiddleOf finds the order statistics around the middle of v, of which there is
// one or more. scratch is overwritten; it has at least the length of v. Expected
// O(n).
func MiddleOf(v, scratch []int64) Middle {
	s := scratch[:copy(scratch, v)]
	n, k := len(s), (len(s)-1)/2
	at := Select(s, k)
	m := Middle{n: n, lo: at, hi: at, below: at, up: at}
	switch {
	case n%2 == 0:
		m.hi = slices.Min(s[k+1:])
	case k > 0:
		m.below, m.up = slices.Max(s[:k]), slices.Min(s[k+1:])
	}
	return m
}

// MedianTime is the median of v, which it reorders: of an even number the mean
// of the middle two, rounded down; of none 0. Expected O(n).
func MedianTime(v []int64) int64 { return mean2(Middles(v)) }

// MedianTimeOf is MedianTime of a copy. scratch is overwritten; it has at least
// the length of v.
func MedianTimeOf(v, scratch []int64) int64 { return MedianTime(scratch[:copy(scratch, v)]) }
