package comm

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A collective ends on all its ranks at once, within microseconds, so that its ends on two
// clocks tell how far they are apart. The starts do not: a rank that comes early waits.

// Meeting is one event as two clocks saw it, nanoseconds.
type Meeting struct {
	At    int64 // on the first clock
	Ahead int64 // how much more the second one showed
	// Weight is how much it tells beside others: the inverse of the variance of
	// Ahead, in any unit that is the same for all. 0 stands for 1.
	Weight float64
}

func (m Meeting) weight() float64 {
	if m.Weight == 0 {
		return 1
	}
	return m.Weight
}

// ErrTooFew says that there are too few meetings to tell a clock.
var ErrTooFew = errors.New("too few meetings")

// MinMeetings is how many meetings a clock takes.
const MinMeetings = 8

// Clock is how one clock runs against another.
type Clock struct {
	Epoch    int64   // on the first clock: where Offset holds
	Offset   int64   // nanoseconds that the second clock is ahead at Epoch
	Drift    float64 // nanoseconds that it gains in each nanosecond; 1e-6 is 1 ppm
	DriftErr float64 // standard error of Drift, from the residuals
	Residual int64   // median distance of a meeting from the line, nanoseconds
	Meetings int
	Span     int64 // from the first meeting to the last
	Drifts   bool  // more than four standard errors from 0; else Offset alone is used
}

// Fit finds how a clock runs, robustly: up to about a quarter of the meetings may be anything.
// The first slope is the median of those between meetings half the list apart (Theil 1950, the incomplete method), the
// first offset the median of what is left; then both are those of weighted least squares over the meetings
// within three standard deviations of that line, which the median distance tells. Medians alone
// waste a third of the meetings, and lean to the side where the nonsense is. Where the slope is within four standard
// errors of none, it is taken for none. O(n log n).
func Fit(meetings []Meeting) (Clock, error) {
	n := len(meetings)
	if n < MinMeetings {
		return Clock{}, fmt.Errorf("comm: %d collectives that both saw, at least %d are needed to compare two clocks: %w", n, MinMeetings, ErrTooFew)
	}
	m := sortedBy(meetings, byTime)
	c := Clock{Epoch: m[0].At, Meetings: n, Span: m[n-1].At - m[0].At}
	c.Drift = slope(m)
	c.center(m)
	c.regress(c.near(m), c.spread(m))
	if c.Drifts = math.Abs(c.Drift) > 4*c.DriftErr; !c.Drifts {
		c.Drift = 0
		c.center(m)
		c.level(c.near(m))
	}
	c.Residual = int64(median(m, func(x Meeting) float64 { return math.Abs(c.beside(x)) }))
	return c, nil
}

// beside is how far a meeting lies from the line, nanoseconds.
func (c *Clock) beside(x Meeting) float64 { return float64(x.Ahead - c.AheadAt(x.At)) }

// spread is the standard deviation of a meeting of weight 1 from the line: that
// of normal noise is 1.4826 times the median distance.
func (c *Clock) spread(m []Meeting) float64 {
	return 1.4826 * max(1, median(m, func(x Meeting) float64 { return math.Abs(c.beside(x)) * math.Sqrt(x.weight()) }))
}

// near is the meetings that belong to the line.
func (c *Clock) near(m []Meeting) (near []Meeting) {
	within := 3 * c.spread(m)
	for _, x := range m {
		if math.Abs(c.beside(x))*math.Sqrt(x.weight()) <= within {
			near = append(near, x)
		}
	}
	return near
}

// regress turns the line into that of least squares. Meetings of weight 1 have
// the standard deviation spread from it.
func (c *Clock) regress(m []Meeting, spread float64) {
	t := weighted(m, func(x Meeting) float64 { return float64(x.At - c.Epoch) })
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

// level moves the line to the mean of the meetings.
func (c *Clock) level(m []Meeting) { c.Offset += int64(math.Round(weighted(m, c.beside))) }

// weighted is the mean of something over meetings.
func weighted(m []Meeting, of func(Meeting) float64) float64 {
	var sum, weight float64
	for _, x := range m {
		sum, weight = sum+x.weight()*of(x), weight+x.weight()
	}
	return sum / weight
}

func median(m []Meeting, of func(Meeting) float64) float64 {
	list := make([]float64, len(m))
	for i, x := range m {
		list[i] = of(x)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// slope is the median slope between meetings half the list apart; 0 where they are at the same time.
func slope(m []Meeting) float64 {
	half := len(m) / 2
	var slopes []float64
	for i := range half {
		a, b := m[i], m[i+len(m)-half]
		if b.At > a.At {
			slopes = append(slopes, float64(b.Ahead-a.Ahead)/float64(b.At-a.At))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// center sets Offset for the slope that is.
func (c *Clock) center(m []Meeting) {
	c.Offset = m[0].Ahead // clocks may be years apart, more than a float64 tells to the nanosecond
	c.Offset += int64(median(m, c.beside))
}

// AheadAt is how far the second clock is ahead when the first shows t.
func (c *Clock) AheadAt(t int64) int64 {
	return c.Offset + int64(math.Round(c.Drift*float64(t-c.Epoch)))
}

// First turns a time of the second clock into one of the first.
func (c *Clock) First(t int64) int64 {
	return c.Epoch + int64(math.Round(float64(t-c.Offset-c.Epoch)/(1+c.Drift)))
}
