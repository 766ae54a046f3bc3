package frontier

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// suspicion is what was charged because of a group of rows, by whomever: the
// size of every single charge, and how much all late ranks fixed together
// would save.
type suspicion struct {
	points  int
	charges int
	total   float64          // Σ of the charges
	sizes   map[uint64]*size // the charges, by size
	late    float64          // Σ over the synchronisation points of the late ranks' part of all ranks
	saved   float64
}

// size is some charges of nearly the same size, an eighth of an octave wide.
type size struct {
	n       float64
	largest float64
}

func (s *suspicion) charge(x float64) {
	if x < 1 { // ns
		return
	}
	s.charges++
	s.total += x
	if s.sizes == nil {
		s.sizes = map[uint64]*size{}
	}
	at := math.Float64bits(x) >> 49
	bin := s.sizes[at]
	if bin == nil {
		bin = new(size)
		s.sizes[at] = bin
	}
	bin.n++
	bin.largest = max(bin.largest, x)
}

// count takes note of a synchronisation point at which n of so many ranks were late.
func (s *suspicion) count(n, ranks int) {
	if n > 0 {
		s.points++
		s.late += float64(n) / float64(ranks)
	}
}

// chance bounds the chance that one given rank is charged so much, or is late
// so often, when all ranks are alike: the smaller of two bounds, doubled for
// having two. By size finds a rare delay of a second among frequent ones of
// milliseconds; by count finds a steady small delay among rare large ones.
func (s suspicion) chance(c *Culprit, charged float64, ranks int) float64 {
	return 2 * min(s.bySize(charged, ranks), s.byCount(c.Steps))
}

// byCount bounds the chance that the rank is among the late ones in k or more
// of the synchronisation points, each rank being so with equal chance: Chernoff's bound
// exp(−n·KL(k/n ‖ m)) for n independent events of mean m on average (Hoeffding
// 1963, JASA 58:13–30, Theorem 1).
func (s suspicion) byCount(k int) float64 {
	if s.points == 0 || k == 0 {
		return 1
	}
	n := float64(s.points)
	q, m := float64(k)/n, s.late/n
	if q <= m {
		return 1
	}
	kl := q * math.Log(q/m)
	if q < 1 {
		kl += (1 - q) * math.Log((1-q)/(1-m))
	}
	return math.Exp(-n * kl)
}

// bySize bounds the chance that one given rank is charged total or more when
// every charge falls on any rank with equal chance, whatever its size:
// Chernoff's bound for a weighted sum of independent indicators,
//
//	inf_λ≥0 exp(−λ·total) · Π_i (1 + (exp(λ·w_i) − 1)/R).
//
// Large delays count for what they are, so that noise of a few milliseconds
// cannot hide a rare delay of a second. For n equal charges that all fall on
// the rank, the bound is exact: R^−n. Within one synchronisation point the charges exclude
// each other, which only lowers the chance. Charges of nearly the same size are
// counted as the largest of them, which only raises the bound.
func (s suspicion) bySize(total float64, ranks int) float64 {
	if s.charges == 0 || total <= 0 {
		return 1
	}
	bins := slices.SortedFunc(maps.Values(s.sizes), func(a, b *size) int { return cmp.Compare(a.largest, b.largest) })
	largest := bins[len(bins)-1].largest
	exponent := func(lambda float64) float64 {
		sum := -lambda * total
		for _, b := range bins {
			sum += b.n * math.Log1p(math.Expm1(lambda*b.largest)/float64(ranks))
		}
		return sum
	}
	// The exponent is convex in λ; golden-section search between no tilt and
	// one beyond which exp would overflow.
	lo, hi := 0.0, 600/largest
	const golden = 0.6180339887498949
	a, c := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fc := exponent(a), exponent(c)
	for range 40 {
		if fa < fc {
			hi, c, fc = c, a, fa
			a = hi - golden*(hi-lo)
			fa = exponent(a)
		} else {
			lo, a, fa = a, c, fc
			c = lo + golden*(hi-lo)
			fc = exponent(c)
		}
	}
	return math.Exp(min(0, fa, fc))
}
