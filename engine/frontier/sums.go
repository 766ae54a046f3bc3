package frontier

// addTo adds d to p, which has its length or less. The inner loop of everything: a
// row of one step at a time, over the ranks.
func addTo(p, d []int64) {
	d = d[:len(p)]
	for i := range p {
		p[i] += d[i]
	}
}

// addToBoth adds d to p and to q.
func addToBoth(p, q, d []int64) {
	p, q = p[:len(d)], q[:len(d)]
	for i, x := range d {
		p[i] += x
		q[i] += x
	}
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
		if x > first {
			at = i + 1
		}
		second = max(second, min(first, x))
		first = max(first, x)
	}
	return first, second, at
}

const minInt64 = -1 << 63
