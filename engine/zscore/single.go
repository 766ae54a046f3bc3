package zscore

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
)

// ceiling is the largest |score| that any of n values can have by Population.
func ceiling(n int) float64 { return math.Sqrt(float64(n - 1)) }

// scratch is one thread's memory.
type scratch struct {
	sorted, scores, column, pooled []float64
	sides                          []side
}

// side is the sums of the values before or behind one, about a center.
type side struct{ sum, squares, lo, hi float64 }

// scoreStep scores the values of one step. The scores are valid until the next
// call with the same memory.
func scoreStep(m Method, y []float64, memory *scratch) []float64 {
	out := append(memory.scores[:0], y...)
	memory.scores = out
	if slices.Max(y) == slices.Min(y) {
		clear(out)
		return out
	}
	if m == LeaveOneOut {
		leaveOneOut(out, memory)
		return out
	}
	mean, sd := stat.PopMeanStdDev(out, nil)
	for i, v := range out {
		out[i] = (v - mean) / sd
	}
	return out
}

// leaveOneOut is the externally studentised residual, in place: with mean m and
// sample deviation s of the others,
//
//	t_i = (y_i − m)/(s·√(1 + 1/(N−1))),
//
// Student's t with N−2 degrees of freedom for normal values. The others' sums
// are added from both sides of i, never subtracted, so that an outlier of any
// size leaves no rounding behind.
func leaveOneOut(y []float64, memory *scratch) {
	n := len(y)
	center := median(y, memory)
	join := func(a, b side) side {
		return side{a.sum + b.sum, a.squares + b.squares, min(a.lo, b.lo), max(a.hi, b.hi)}
	}
	of := func(v float64) side { return side{v - center, (v - center) * (v - center), v, v} }
	none := side{0, 0, math.Inf(1), math.Inf(-1)}
	if cap(memory.sides) <= n {
		memory.sides = make([]side, n+1)
	}
	behind := memory.sides[:n+1]
	behind[n] = none
	for i := n - 1; i >= 0; i-- {
		behind[i] = join(of(y[i]), behind[i+1])
	}
	before := none
	k := float64(n - 1)
	for i, v := range y {
		others := join(before, behind[i+1])
		before = join(before, of(v))
		diff := v - center - others.sum/k
		switch {
		case others.lo == others.hi && v == others.lo:
			y[i] = 0
		case others.lo == others.hi:
			y[i] = math.Inf(sign(v - others.lo))
		default:
			variance := (others.squares - others.sum*others.sum/k) / (k - 1)
			y[i] = diff / math.Sqrt(variance*(1+1/k))
		}
	}
}

func sign(x float64) int {
	if x < 0 {
		return -1
	}
	return 1
}

// median of y, which stays as it is; of an even number the mean of the middle two.
func median(y []float64, memory *scratch) float64 {
	s := append(memory.sorted[:0], y...)
	memory.sorted = s
	return robust.Median(s)
}

// three are the k-th smallest of s and the two that follow it, which may be +Inf
// where there are none. It reorders s.
func three(s []float64, k int) (a, b, c float64) {
	a = robust.Select(s, k)
	b, c = math.Inf(1), math.Inf(1)
	for _, v := range s[k+1:] {
		switch {
		case v < b:
			b, c = v, b
		case v < c:
			c = v
		}
	}
	return a, b, c
}

// apart replaces every value by its difference from the median of the others.
// Values that are NaN are absent and stay so; with fewer than three present all
// become NaN.
func apart(y []float64, memory *scratch) {
	s := memory.sorted[:0]
	for _, v := range y {
		if v == v {
			s = append(s, v)
		}
	}
	memory.sorted = s
	if len(s) < 3 {
		for i := range y {
			y[i] = math.NaN()
		}
		return
	}
	// Of the m−1 others the middle is lower and upper, and both move up by one for
	// values at or below them.
	lower, upper := (len(s)-2)/2, (len(s)-1)/2
	first, second, third := three(s, lower)
	low, next := first, second
	high, after := first, second
	if upper > lower {
		high, after = second, third
	}
	for i, v := range y {
		if v != v {
			continue
		}
		l, h := low, high
		if v <= low {
			l = next
		}
		if v <= high {
			h = after
		}
		y[i] = v - (l+h)/2
	}
}
