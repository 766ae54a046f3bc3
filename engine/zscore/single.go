package zscore

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// ceiling is the largest |score| that any of n values can have by Population.
func ceiling(n int) float64 { return math.Sqrt(float64(n - 1)) }

// scratch is one thread's memory.
type scratch struct {
	sorted, scores, column, pooled []float64
}

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
		return student.LeaveOneOut(y)
	}
	mean, sd := stat.PopMeanStdDev(out, nil)
	for i, v := range out {
		out[i] = (v - mean) / sd
	}
	return out
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
