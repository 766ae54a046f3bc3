package zscore

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// ceiling returns the largest |score| that any of n values can have by Population.
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

// median returns the median of y, which stays as it is; of an even number the mean of the middle two.
func median(y []float64, memory *scratch) float64 {
	s := append(memory.sorted[:0], y...)
	memory.sorted = s
	return robust.Median(s)
}

// subtractMedianOfOthers replaces every value by its difference from the median of the others.
// Values that are NaN are absent and stay so; with fewer than three present all
// become NaN.
func subtractMedianOfOthers(y []float64, memory *scratch) {
	s := memory.sorted[:0]
	for _, v := range y {
		if v == v {
			s = append(s, v)
		}
	}
	memory.sorted = s
	slices.Sort(s)
	for i, v := range y {
		y[i] = math.NaN()
		if len(s) >= 3 {
			lower, upper := robust.MiddlesWithout(s, v)
			y[i] = v - (lower+upper)/2
		}
	}
}
