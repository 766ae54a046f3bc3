package frontier

// middle holds the order statistics around the middle of n values: the lower
// and upper median and one beyond on either side. It answers for the median of
// all, and of all but one.
type middle struct {
	n                 int
	below, lo, hi, up int64 // sorted[(n-1)/2-1], sorted[(n-1)/2], sorted[n/2], sorted[n/2+1]
}

// median of all values; for an even count the mean of the two middle values,
// rounded down to a whole nanosecond.
func (m middle) median() int64 { return mean2(m.lo, m.hi) }

// without is the median of the other values, x being one of them.
func (m middle) without(x int64) int64 {
	switch {
	case m.n == 1:
		return x
	case m.n%2 == 1 && x > m.lo:
		return mean2(m.below, m.lo)
	case m.n%2 == 1 && x < m.lo:
		return mean2(m.lo, m.up)
	case m.n%2 == 1:
		return mean2(m.below, m.up)
	case x >= m.hi:
		return m.lo
	}
	return m.hi
}

// mean2 is the mean rounded down, without overflow.
func mean2(a, b int64) int64 { return a + (b-a)>>1 }

// middleOf computes the order statistics around the middle. scratch is
// overwritten; it has the length of v. Expected O(len(v)).
func middleOf(v, scratch []int64) middle {
	n := len(v)
	s := scratch[:n]
	copy(s, v)
	k := (n - 1) / 2
	selectAt(s, k)
	m := middle{n: n, lo: s[k], hi: s[k], below: s[k], up: s[k]}
	if k > 0 {
		m.below = maxInt(s[:k])
	}
	if n%2 == 1 {
		if k+1 < n {
			m.up = minInt(s[k+1:])
		}
		return m
	}
	m.hi, m.up = twoSmallest(s[k+1:])
	return m
}

// medianOf is the median of v; scratch as in middleOf.
func medianOf(v, scratch []int64) int64 {
	s := scratch[:len(v)]
	copy(s, v)
	return medianInPlace(s)
}

// medianInPlace is the median of v, which it reorders.
func medianInPlace(v []int64) int64 {
	k := (len(v) - 1) / 2
	selectAt(v, k)
	if len(v)%2 == 1 {
		return v[k]
	}
	return mean2(v[k], minInt(v[k+1:]))
}

func maxInt(v []int64) int64 {
	m := v[0]
	for _, x := range v[1:] {
		m = max(m, x)
	}
	return m
}

func minInt(v []int64) int64 {
	m := v[0]
	for _, x := range v[1:] {
		m = min(m, x)
	}
	return m
}

// twoSmallest is the smallest value and the one after it; of one value, that
// value twice.
func twoSmallest(v []int64) (first, second int64) {
	if len(v) == 1 {
		return v[0], v[0]
	}
	first, second = min(v[0], v[1]), max(v[0], v[1])
	for _, x := range v[2:] {
		second = min(second, max(first, x))
		first = min(first, x)
	}
	return first, second
}

// selectAt partially sorts v so that v[k] is the k-th smallest, nothing before
// it is larger and nothing after it smaller: quickselect (Hoare 1961, CACM
// 4:321) around a median of three. Partitions move elements without a branch
// on their values, which noise would mispredict half the time: of 1,000 random
// values this takes a third of the time of engine/internal/order, which serves
// values of any type. Values must lie within ±2⁶², as window times do.
func selectAt(v []int64, k int) {
	lo, hi := 0, len(v)
	for hi-lo > 12 {
		pivot := medianOfThree(v[lo], v[lo+(hi-lo)/2], v[hi-1])
		mid := lo + partition(v[lo:hi], pivot)
		if k < mid {
			hi = mid
			continue
		}
		// Nothing below the pivot is left; step over what equals it.
		lo = mid + partition(v[mid:hi], pivot+1)
		if k < lo {
			return
		}
	}
	insertionSort(v[lo:hi])
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

func insertionSort(v []int64) {
	for i := 1; i < len(v); i++ {
		x := v[i]
		j := i
		for ; j > 0 && v[j-1] > x; j-- {
			v[j] = v[j-1]
		}
		v[j] = x
	}
}

func medianInt(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	return medianOf(v, make([]int64, len(v)))
}
