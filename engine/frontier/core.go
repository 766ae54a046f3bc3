package frontier

// The kernels below are the inner loops of everything: a row of one step at a
// time, over the ranks. They allocate nothing.

// AddStep runs the frontier over one step: step is [stage][rank] with
// len(prefix) ranks, advance has one element per stage, and the step's
// advances a[s] = F[s] − F[s−1] (StageFrontier, section 3) are added to it.
// prefix is scratch of one element per rank; it holds the ranks' totals
// afterwards. The exposed makespan of the step is returned; it equals the sum
// of the step's advances exactly.
//
// O(S·R) time, no allocation. Lengths that disagree are a programming error
// and panic.
func AddStep(step, prefix, advance []int64) (makespan int64) {
	R := len(prefix)
	if R == 0 || len(step) != R*len(advance) {
		panic("frontier: AddStep: length mismatch")
	}
	frontier := setMax(prefix, step[:R])
	advance[0] += frontier
	for s := 1; s < len(advance); s++ {
		next := addMax(prefix, step[s*R:(s+1)*R])
		advance[s] += next - frontier
		frontier = next
	}
	return frontier
}

// setMax copies d to p and returns its maximum.
func setMax(p, d []int64) int64 {
	d = d[:len(p)]
	var m0, m1, m2, m3 int64
	i := 0
	for ; i+4 <= len(p); i += 4 {
		a, b, c, e := d[i], d[i+1], d[i+2], d[i+3]
		p[i], p[i+1], p[i+2], p[i+3] = a, b, c, e
		m0, m1, m2, m3 = max(m0, a), max(m1, b), max(m2, c), max(m3, e)
	}
	for ; i < len(p); i++ {
		p[i] = d[i]
		m0 = max(m0, d[i])
	}
	return max(m0, m1, m2, m3)
}

// addMax adds d to p and returns the maximum of the sums. Four independent
// maxima break the dependency chain that would otherwise bound the loop.
func addMax(p, d []int64) int64 {
	d = d[:len(p)]
	var m0, m1, m2, m3 int64
	i := 0
	for ; i+4 <= len(p); i += 4 {
		a, b, c, e := p[i]+d[i], p[i+1]+d[i+1], p[i+2]+d[i+2], p[i+3]+d[i+3]
		p[i], p[i+1], p[i+2], p[i+3] = a, b, c, e
		m0, m1, m2, m3 = max(m0, a), max(m1, b), max(m2, c), max(m3, e)
	}
	for ; i < len(p); i++ {
		a := p[i] + d[i]
		p[i] = a
		m0 = max(m0, a)
	}
	return max(m0, m1, m2, m3)
}

// topTwo is the largest and the second largest value and the first index of
// the largest. For one value the second is that value.
func topTwo(v []int64) (first, second int64, at int) {
	first, at = v[0], 0
	if len(v) == 1 {
		return first, first, 0
	}
	second = minInt64
	for i, x := range v[1:] {
		switch {
		case x > first:
			first, second, at = x, first, i+1
		case x > second:
			second = x
		}
	}
	return first, second, at
}

const minInt64 = -1 << 63

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
	if k+1 < n {
		m.up = minInt(s[k+1:])
		if n%2 == 0 {
			m.hi = m.up
		}
	}
	return m
}

// medianOf is the median of v; scratch as in middleOf.
func medianOf(v, scratch []int64) int64 { return middleOf(v, scratch).median() }

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

// selectAt partially sorts v so that v[k] is the k-th smallest, nothing before
// it is larger and nothing after it smaller (Hoare's FIND, CACM 4:321, with
// the median of three as pivot and insertion sort for short ranges).
func selectAt(v []int64, k int) {
	lo, hi := 0, len(v)-1
	for hi-lo > 16 {
		mid := lo + (hi-lo)/2
		if v[mid] < v[lo] {
			v[mid], v[lo] = v[lo], v[mid]
		}
		if v[hi] < v[lo] {
			v[hi], v[lo] = v[lo], v[hi]
		}
		if v[hi] < v[mid] {
			v[hi], v[mid] = v[mid], v[hi]
		}
		pivot := v[mid]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
	for i := lo + 1; i <= hi; i++ {
		x := v[i]
		j := i
		for ; j > lo && v[j-1] > x; j-- {
			v[j] = v[j-1]
		}
		v[j] = x
	}
}
