package robust

import "slices"

// Middle holds the order statistics around the middle of n times: the lower
// and upper median and, of an odd number, one beyond on either side. It answers for the
// median of all, and of all but one.
type Middle struct {
	n                 int
	below, lo, hi, up int64 // sorted[(n-1)/2-1], sorted[(n-1)/2], sorted[n/2], sorted[n/2+1]
}

// Median returns that of all times; for an even count the mean of the two middle ones,
// rounded down to a whole nanosecond.
func (m Middle) Median() int64 { return mean2(m.lo, m.hi) }

// Lower returns the lower median of all times.
func (m Middle) Lower() int64 { return m.lo }

// Upper returns the upper median of all times.
func (m Middle) Upper() int64 { return m.hi }

// MedianWithout returns the median of the other times, x being one of them; of one time,
// that time.
func (m Middle) MedianWithout(x int64) int64 {
	at, above, equal, below := m.MediansWithout()
	switch {
	case x > at:
		return above
	case x < at:
		return below
	}
	return equal
}

// LowerWithout returns the lower median of the others, of a time that is one of them.
func (m Middle) LowerWithout(x int64) int64 {
	if m.n%2 == 1 && x >= m.lo && m.n > 1 {
		return m.below
	}
	if m.n%2 == 1 || x > m.lo {
		return m.lo
	}
	return m.hi
}

// MediansWithout returns what MedianWithout does for all times at once: of those above at, of those equal to it, and of those below.
func (m Middle) MediansWithout() (at, above, equal, below int64) {
	switch {
	case m.n == 1:
		return m.lo, m.lo, m.lo, m.lo
	case m.n%2 == 1:
		return m.lo, mean2(m.below, m.lo), mean2(m.below, m.up), mean2(m.lo, m.up)
	}
	return m.hi, m.lo, m.lo, m.hi
}

// mean2 returns the mean rounded down, without overflow.
func mean2(a, b int64) int64 { return a + (b-a)>>1 }

// MiddleOf finds the order statistics around the middle of v, of which there is
// one or more. scratch is overwritten; it has at least the length of v. Expected
// O(n).
func MiddleOf(v, scratch []int64) Middle {
	n := len(v)
	switch {
	case n == 1:
		return Middle{n: 1, lo: v[0], hi: v[0], below: v[0], up: v[0]}
	case n > wide/2 && n <= wide:
		return middleOfWide(v)
	}
	s := scratch[:n]
	copy(s, v)
	k := (n - 1) / 2
	selectTime(s, k)
	m := Middle{n: n, lo: s[k], hi: s[k], below: s[k], up: s[k]}
	switch {
	case n%2 == 0:
		m.hi = slices.Min(s[k+1:])
	case k > 0:
		m.below, m.up = slices.Max(s[:k]), slices.Min(s[k+1:])
	}
	return m
}

// MedianTime returns the median of v, which it reorders: of an even number the mean
// of the middle two, rounded down; of none 0. Expected O(n).
func MedianTime(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	return MedianTimeAmong(v, 0, len(v))
}

// MedianTimeAmong returns the MedianTime of n times, where so many are below those of v, which has the
// middle of them, and the others above.
func MedianTimeAmong(v []int64, below, n int) int64 {
	k := (n-1)/2 - below
	selectTime(v, k)
	if n%2 == 1 {
		return v[k]
	}
	return mean2(v[k], slices.Min(v[k+1:]))
}

// UpperTime returns the upper median of v, which it reorders; of none 0. Expected O(n).
func UpperTime(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	if n := len(v); n > wide/2 && n <= wide {
		return middleOfWide(v).hi
	}
	selectTime(v, len(v)/2)
	return v[len(v)/2]
}

// MedianTimeOf returns the MedianTime of a copy. scratch is overwritten; it has at least
// the length of v.
func MedianTimeOf(v, scratch []int64) int64 {
	switch n := len(v); {
	case n == 1:
		return v[0]
	case n > wide/2 && n <= wide:
		m := middleOfWide(v)
		return m.Median()
	}
	s := scratch[:len(v)]
	copy(s, v)
	return MedianTime(s)
}

// fewTimes is how many times are sorted and not partitioned: less than of other values,
// since a partition does not branch on them.
const fewTimes = 8

// selectTime sorts v in part, so that v[k] is the k-th smallest, nothing before it is larger and nothing after it smaller:
// quickselect (Hoare 1961, CACM 4:321) around a median of three. Partitions move elements without a branch on their values,
// which noise would mispredict half the time: of 1,000 random values this takes a third of the time of Select. Values must lie
// within ±2⁶², as times do that passed a reader; of others the result is arbitrary.
func selectTime(v []int64, k int) {
	lo, hi := 0, len(v)
	for bad := 0; hi-lo > fewTimes; {
		if bad == badDivisions {
			slices.Sort(v[lo:hi])
			return
		}
		n := hi - lo
		pivot := medianOfThree(v[lo], v[lo+n/2], v[hi-1])
		mid := lo + partition(v[lo:hi], pivot)
		switch {
		case k < mid:
			hi = mid
		case mid > lo:
			lo = mid
		default:
			// Nothing is below the pivot; step over what equals it.
			lo = mid + partition(v[mid:hi], pivot+1)
			if k < lo {
				return
			}
		}
		if hi-lo > n-n/8 {
			bad++
		}
	}
	sortFew(v[lo:hi])
}

// partition moves the values below the pivot to the front and counts them.
func partition(v []int64, pivot int64) int {
	n := 0
	for i, x := range v {
		v[i] = v[n]
		v[n] = x
		n += int(uint64(x-pivot) >> 63)
	}
	return n
}

func medianOfThree(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
