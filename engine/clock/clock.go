// Package clock compares the clocks of ranks and hosts: how far one is ahead of
// another, and how fast it drifts away, from what both have read.
//
// Three kinds of events tell, in the order of what they are worth:
//
//	an end      a collective on the device ends on all its members at once, within microseconds
//	a bound     nobody leaves a synchronisation point (barrier, blocking collective) before the last has
//	            entered it, and no message is received before it is sent
//	nothing     the clock is taken as it is
//
// [Fit] is the line through many ends, by medians; [Align] places all clocks of a run on that of the first, by ends or else by
// messages. [Rooms] are how far clocks that were placed some other way may be moved by
// synchronisation points.
//
// With a the moment that a rank enters a synchronisation point, or sends a message, and b a moment at
// which another has certainly left it (its exit, or its next entry), or received the message, each on its
// own clock, b − a bounds how far the second clock is ahead from above, and the
// same the other way round from below. Both directions together bound offset and
// drift; Align lays the line in the middle of what they allow, as NTP does (Mills
// 1991, IEEE Trans. Commun. 39:1482–1493), and half the width of that is how far
// off it may be.
//
// All times are nanoseconds. Clocks are straight lines: a clock that is set while
// it is read is none.
package clock

import "math"

// Clock is how a clock runs against a reference. The zero value is the
// reference itself.
type Clock struct {
	Epoch    int64   // on the reference: where Offset holds
	Offset   int64   // ns that the clock is ahead at Epoch
	Drift    float64 // ns that it gains in each ns of the reference; 1e-6 is 1 ppm
	Residual int64   // median distance of the events from the line, ns
	Points   int     // events that both clocks read at once
	Span     int64   // from the first of them to the last, ns
	Drifts   bool    // a drift was found; else Offset alone is used
}

// AheadAt returns how far the clock is ahead when the reference shows t.
func (c Clock) AheadAt(t int64) int64 {
	return c.Offset + int64(math.Round(c.Drift*float64(t-c.Epoch)))
}

// Reference turns a time of the clock into one of the reference: the moment at
// which the clock shows t.
func (c Clock) Reference(t int64) int64 {
	since := t - c.Offset - c.Epoch // on the clock; as a float64 it would lose ns after 104 days
	return c.Epoch + since - int64(math.Round(float64(since)*(c.Drift/(1+c.Drift))))
}
