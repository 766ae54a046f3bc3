package robust

import "math"

// MedianInterval returns the median of v with its distribution-free interval at a confidence; ok
// is false where v has too few values for one. It puts v in another order.
func MedianInterval(v []float64, confidence float64) (lo, mid, hi float64, ok bool) {
	k, ok := MedianRank(len(v), confidence)
	if !ok {
		return 0, 0, 0, false
	}
	n := len(v)
	lo = Select(v, k)
	hi = Select(v[k:], n-1-2*k)
	lower, upper := Middles(v[k : n-k])
	return lo, (lower + upper) / 2, hi, true
}

// MedianRank returns the largest k for which [s[k], s[n−1−k]] of n sorted values
// covers the median with at least this confidence: the number of values below
// the median is Bin(n, ½), so the interval misses with probability
// 2·P(Bin ≤ k). ok is false when even the full range does not suffice.
func MedianRank(n int, confidence float64) (k int, ok bool) {
	// What lies further out than sixteen standard deviations is nothing in doubles.
	k = max(0, n/2-8*int(math.Sqrt(float64(n))))
	tail, p := 0.0, chanceOfHalf(n, k)
	for ; 2*k < n; k++ {
		tail += p
		if 2*tail > 1-confidence {
			break
		}
		p *= float64(n-k) / float64(k+1)
	}
	return k - 1, k > 0
}

// chanceOfHalf returns P(Bin(n, ½) = k).
func chanceOfHalf(n, k int) float64 {
	lgamma := func(x int) float64 { y, _ := math.Lgamma(float64(x + 1)); return y }
	return math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) - float64(n)*math.Ln2)
}
