package frontier

import (
	"math"
	"slices"
)

// suspicion is what was charged because of a group of rows, by whomever: the
// size of every single charge, and how much all late ranks fixed together
// would save.
type suspicion struct {
	points  int
	charges int
	total   float64 // Σ of the charges
	sizes   []size  // the charges, by size: of the class least and those above it
	least   uint64
	late    float64 // Σ over the synchronisation points of the late ranks' part of all ranks
	saved   float64
}

// size is the charges of a class: of nearly the same size, an eighth of an octave wide.
type size struct{ n, largest float64 }

func (s *suspicion) charge(x float64) {
	if x < 1 { // ns
		return
	}
	s.charges++
	s.total += x
	bin := s.bin(math.Float64bits(x) >> 49)
	bin.n++
	bin.largest = max(bin.largest, x)
}

// bin is the charges of a class of sizes, the leading bits of each. It is valid until
// the next one is asked for.
func (s *suspicion) bin(class uint64) *size {
	const octave = 8 // classes
	if len(s.sizes) == 0 {
		below := 5 * octave // which may come
		s.sizes, s.least = make([]size, below+1, 9*octave), class-uint64(below)
	}
	if class < s.least {
		below := s.least - class + octave
		s.sizes, s.least = slices.Insert(s.sizes, 0, make([]size, below)...), s.least-below
	}
	i := int(class - s.least)
	if n := len(s.sizes); i >= n {
		s.sizes = slices.Grow(s.sizes, i+1-n)[:i+1]
		clear(s.sizes[n:])
	}
	return &s.sizes[i]
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
	return math.Exp(min(0, s.exponent(s.tilt(total, ranks), total, ranks)))
}

// exponent is the logarithm of the bound at a tilt λ.
func (s suspicion) exponent(lambda, total float64, ranks int) float64 {
	sum := -lambda * total
	for _, b := range s.sizes {
		if b.n == 0 {
			continue
		}
		sum += b.n * math.Log1p(math.Expm1(lambda*b.largest)/float64(ranks))
	}
	return sum
}

// tilt is the λ at which the exponent is least, by Newton's method on its
// derivative, which rises with λ, between no tilt and one beyond which exp would
// overflow. The bound holds for any λ.
func (s suspicion) tilt(total float64, ranks int) float64 {
	const enough = 1e-12 // what another step would change
	lo, hi := 0.0, 600/s.sizes[len(s.sizes)-1].largest
	others := float64(ranks - 1)
	lambda := hi / 600
	for range 60 {
		slope, bend := -total, 0.0
		for _, b := range s.sizes {
			if b.n == 0 {
				continue
			}
			odds := math.Exp(lambda*b.largest) / others
			part := b.largest * odds / (1 + odds) // 1 − 1/(1+odds) of a charge that is the rank's
			slope += b.n * part
			bend += b.n * part * b.largest / (1 + odds)
		}
		if slope > 0 {
			hi = lambda
		} else {
			lo = lambda
		}
		next := lambda - slope/bend
		if !(next > lo && next < hi) { // NaN too
			next = (lo + hi) / 2
		}
		done := math.Abs(slope*(next-lambda)) <= enough
		if lambda = next; done {
			break
		}
	}
	return lambda
}
