package robust

import "math"

// wide is of how many values a sorting network finds the middle. Its comparisons are
// the same whatever the values, so that no branch is mispredicted: half the time of a
// quickselect.
const wide = 32

// middleOfWide returns the middle of up to 32 values, and more than 16: of fewer a network of 32
// is no faster. Values below and above all others fill it up on both sides.
func middleOfWide(v []int64) Middle {
	var s [wide]int64
	n := len(v)
	low := (wide + 1 - n) / 2
	for i := range s[:low] {
		s[i] = math.MinInt64
	}
	copy(s[low:], v)
	for i := range s[low+n:] {
		s[low+n+i] = math.MaxInt64
	}
	a, b := (*[16]int64)(s[:16]), (*[16]int64)(s[16:])
	sort16(a)
	sort16(b)
	// The largest of the 16 smallest of two sorted lists and the smallest of the 16 largest;
	// of an odd number, whose median that is, the second smallest too.
	lo, hi, up := int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64)
	if n%2 == 0 {
		for i, x := range a {
			y := b[15-i]
			lo, hi = max(lo, min(x, y)), min(hi, max(x, y))
		}
		return Middle{n: n, lo: lo, hi: hi}
	}
	for i, x := range a {
		y := b[15-i]
		large := max(x, y)
		lo = max(lo, min(x, y))
		up = min(up, max(hi, large))
		hi = min(hi, large)
	}
	return Middle{n: n, below: lo, lo: hi, hi: hi, up: up}
}

// sort16 sorts two halves and merges them (Batcher's bitonic merge).
func sort16(v *[16]int64) {
	a, b := (*[8]int64)(v[:8]), (*[8]int64)(v[8:])
	sort8(a)
	sort8(b)
	for i, x := range a {
		y := b[7-i]
		a[i], b[7-i] = min(x, y), max(x, y)
	}
	bitonic8(a)
	bitonic8(b)
}

// bitonic8 sorts values that rise and then fall, or the other way round.
func bitonic8(v *[8]int64) {
	a, b, c, d, e, f, g, h := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = a, b, c, d, e, f, g, h
}

// sort8 sorts eight values by the network of 19 comparisons (Knuth, The Art of Computer Programming,
// volume 3, section 5.3.4).
func sort8(v *[8]int64) {
	a, b, c, d, e, f, g, h := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	c, e = min(c, e), max(c, e)
	d, f = min(d, f), max(d, f)
	b, e = min(b, e), max(b, e)
	d, g = min(d, g), max(d, g)
	b, c = min(b, c), max(b, c)
	d, e = min(d, e), max(d, e)
	f, g = min(f, g), max(f, g)
	v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = a, b, c, d, e, f, g, h
}

// sortFew sorts up to eight values.
func sortFew(v []int64) {
	s := [8]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	copy(s[:], v)
	sort8(&s)
	copy(v, s[:])
}
