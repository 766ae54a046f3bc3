package clock

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Point is one event that a clock and the reference have read.
type Point struct {
	At    int64 // on the reference
	Ahead int64 // how much more the clock showed
}

// MinPoints is how many points, or bounds on either side, a drift takes.
const MinPoints = 8

// Fit finds how a clock runs by the ends of collectives, of which half may be anything and there must be one:
// the median offset, or the median offset about the Theil–Sen slope (Sen 1968, JASA 63:1379–1389) where that
// halves what is left. Ends scatter to one side, late ones far more than early ones, so that a mean of those
// that are near leans to it. O(n log n), and quadratic in at most 256 of them.
func Fit(points []Point) Clock {
	points = slices.SortedFunc(slices.Values(points), func(a, b Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Ahead, b.Ahead)) })
	steady := clockOf(points, 0)
	if len(points) < MinPoints {
		return steady
	}
	if drifting := clockOf(points, theilSen(points)); 2*drifting.Residual < steady.Residual {
		drifting.Drifts = true
		return drifting
	}
	return steady
}

// clockOf returns the clock of a drift.
func clockOf(points []Point, drift float64) Clock {
	n := len(points)
	c := Clock{Drift: drift, Epoch: points[0].At, Points: n, Span: points[n-1].At - points[0].At}
	left := make([]int64, n)
	for i, p := range points {
		left[i] = p.Ahead - int64(math.Round(drift*float64(p.At-c.Epoch)))
	}
	c.Offset = robust.Lower(left)
	for i := range left {
		left[i] = max(left[i]-c.Offset, c.Offset-left[i])
	}
	c.Residual = robust.Lower(left)
	return c
}

// theilSen returns the median of the slopes between any two of at most 256 points, 0 where they are of one time.
func theilSen(points []Point) float64 {
	const most = 256
	thin := points
	if len(points) > most {
		thin = make([]Point, most)
		for i := range thin {
			thin[i] = points[i*len(points)/most]
		}
	}
	var slopes []float64
	for i, p := range thin {
		for _, q := range thin[i+1:] {
			if dt := q.At - p.At; dt > 0 {
				slopes = append(slopes, float64(q.Ahead-p.Ahead)/float64(dt))
			}
		}
	}
	return robust.Upper(slopes)
}
