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
// The slope is the median of those between meetings half the list apart (Theil 1950, the incomplete method), the
// offset the median of what is left. Where the slope is within four standard errors of
// none, it is taken for none. O(n log n).
func Fit(meetings []Meeting) (Clock, error) {
	n := len(meetings)
	if n < MinMeetings {
		return Clock{}, fmt.Errorf("comm: %d collectives that both saw, at least %d are needed to compare two clocks: %w", n, MinMeetings, ErrTooFew)
	}
	m := sortedBy(meetings, byTime)
	c := Clock{Epoch: m[0].At, Meetings: n, Span: m[n-1].At - m[0].At}
	c.Drift = slope(m)
	c.center(m)
	// The median of n slopes of normal noise s over half the span T has the standard error
	// s·√(π/2)·√(2/(n/2))·2/T; s is 1.4826 times the median deviation.
	if c.Span > 0 {
		c.DriftErr = 1.4826 * float64(max(c.Residual, 1)) * math.Sqrt(math.Pi/2) * math.Sqrt(4/float64(n)) * 2 / float64(c.Span)
	}
	if c.Drifts = c.Span > 0 && math.Abs(c.Drift) > 4*c.DriftErr; !c.Drifts {
		c.Drift = 0
		c.center(m)
	}
	return c, nil
}

// slope is the median slope between meetings half the list apart; 0 where they are at the same time.
func slope(m []Meeting) float64 {
	half := len(m) / 2
	var slopes []float64
	for i := range half {
		a, b := m[i], m[i+len(m)-half]
		if b.At > a.At {
			slopes = append(slopes, (float64(b.Ahead)-float64(a.Ahead))/float64(b.At-a.At))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// center sets Offset and Residual for the slope that is.
func (c *Clock) center(m []Meeting) {
	rest := make([]int64, len(m))
	for i, x := range m {
		rest[i] = x.Ahead - int64(c.Drift*float64(x.At-c.Epoch))
	}
	slices.Sort(rest)
	c.Offset = rest[len(rest)/2]
	for i, r := range rest {
		rest[i] = max(r-c.Offset, c.Offset-r)
	}
	slices.Sort(rest)
	c.Residual = rest[len(rest)/2]
}

// AheadAt is how far the second clock is ahead when the first shows t.
func (c *Clock) AheadAt(t int64) int64 {
	return c.Offset + int64(math.Round(c.Drift*float64(t-c.Epoch)))
}

// First turns a time of the second clock into one of the first.
func (c *Clock) First(t int64) int64 {
	return c.Epoch + int64(math.Round(float64(t-c.Offset-c.Epoch)/(1+c.Drift)))
}
