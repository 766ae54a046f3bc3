package clock

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Point is one event that a clock and the reference have read.
type Point struct {
	At    int64 // on the reference
	Ahead int64 // how much more the clock showed
	// Weight is how much it tells beside others: the inverse of the variance of
	// Ahead, in any unit that is the same for all. 0 stands for 1.
	Weight float64
}

func (p Point) weight() float64 {
	if p.Weight == 0 {
		return 1
	}
	return p.Weight
}

func byTime(a, b Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Ahead, b.Ahead)) }

// ErrTooFew is too few points to fit a clock to.
var ErrTooFew = errors.New("too few points")

// MinPoints is how many points Fit takes at least.
const MinPoints = 8

// Fit finds how a clock runs, robustly: up to about a quarter of the points may
// be anything. The first slope is the median of those between points half the
// list apart (Theil 1950, the incomplete method), the first offset the median of
// what is left; then both are those of weighted least squares over the points
// within three standard deviations of that line, by the median distance from
// it. Medians alone waste a third of the points, and lean to the side where the
// outliers are. A slope within four standard errors of none is taken for none.
// O(n log n).
func Fit(points []Point) (Clock, error) {
	n := len(points)
	if n < MinPoints {
		return Clock{}, fmt.Errorf("clock: %d events that both clocks have read, at least %d are needed to compare them: %w", n, MinPoints, ErrTooFew)
	}
	p := slices.Clone(points)
	slices.SortStableFunc(p, byTime)
	c := Clock{Epoch: p[0].At, Points: n, Span: p[n-1].At - p[0].At}
	c.Drift = slope(p)
	c.center(p)
	c.regress(c.near(p), c.spread(p))
	if c.Drifts = math.Abs(c.Drift) > 4*c.DriftErr; !c.Drifts {
		c.Drift = 0
		c.center(p)
		c.level(c.near(p))
	}
	c.Residual = int64(median(p, func(x Point) float64 { return math.Abs(c.beside(x)) }))
	return c, nil
}

// beside is how far a point lies from the line, nanoseconds.
func (c *Clock) beside(x Point) float64 { return float64(x.Ahead - c.AheadAt(x.At)) }

// spread is the standard deviation of a point of weight 1 from the line: that
// of normal noise is robust.SigmaOfMAD times the median distance.
func (c *Clock) spread(m []Point) float64 {
	return robust.SigmaOfMAD * max(1, median(m, func(x Point) float64 { return math.Abs(c.beside(x)) * math.Sqrt(x.weight()) }))
}

// near is the points that belong to the line.
func (c *Clock) near(m []Point) (near []Point) {
	within := 3 * c.spread(m)
	for _, x := range m {
		if math.Abs(c.beside(x))*math.Sqrt(x.weight()) <= within {
			near = append(near, x)
		}
	}
	return near
}

// regress turns the line into that of least squares. Points of weight 1 have
// the standard deviation spread from it.
func (c *Clock) regress(m []Point, spread float64) {
	t := weighted(m, func(x Point) float64 { return float64(x.At - c.Epoch) })
	y := weighted(m, c.beside)
	var tt, ty float64
	for _, x := range m {
		d := float64(x.At-c.Epoch) - t
		tt += x.weight() * d * d
		ty += x.weight() * d * (c.beside(x) - y)
	}
	if tt == 0 {
		c.Drift, c.DriftErr = 0, 0
		return
	}
	c.DriftErr = spread / math.Sqrt(tt)
	c.Offset += int64(math.Round(y - ty/tt*t))
	c.Drift += ty / tt
}

// level moves the line to the mean of the points.
func (c *Clock) level(m []Point) { c.Offset += int64(math.Round(weighted(m, c.beside))) }

// weighted is the mean of something over points.
func weighted(m []Point, of func(Point) float64) float64 {
	var sum, weight float64
	for _, x := range m {
		sum, weight = sum+x.weight()*of(x), weight+x.weight()
	}
	return sum / weight
}

func median(m []Point, of func(Point) float64) float64 {
	list := make([]float64, len(m))
	for i, x := range m {
		list[i] = of(x)
	}
	return robust.Upper(list)
}

// slope is the median slope between points half the list apart; 0 where they are at the same time.
func slope(m []Point) float64 {
	half := len(m) / 2
	var slopes []float64
	for i := range half {
		a, b := m[i], m[i+len(m)-half]
		if b.At > a.At {
			slopes = append(slopes, float64(b.Ahead-a.Ahead)/float64(b.At-a.At))
		}
	}
	return robust.Upper(slopes)
}

// center sets Offset for the slope that is.
func (c *Clock) center(m []Point) {
	c.Offset = m[0].Ahead // clocks may be years apart, more than a float64 tells to the nanosecond
	c.Offset += int64(median(m, c.beside))
}
