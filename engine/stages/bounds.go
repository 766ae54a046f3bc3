package stages

import (
	"math"

	"github.com/sfstat/sfstat/trace/profile"
)

// bounds are between which offsets a clock lies by the messages that its rank
// exchanges with one that is placed: a message is not received before it is
// sent. Unbounded where no message goes that way.
type bounds struct {
	low, high int64
	messages  int
}

const unbounded = math.MaxInt64

// boundsOf are those of a rank's clock by messages to and from another: the
// start of a send lies before the end of its receive. O(messages of the two).
func (m *matching) boundsOf(ranks []*profile.Rank, p pair, by Clock) bounds {
	b := bounds{low: -unbounded, high: unbounded}
	for _, i := range m.between[p.sorted()] {
		from, to := m.messages[i].from, m.messages[i].to
		sent, received := ranks[from.rank].Collectives[from.collective].Start, ranks[to.rank].Collectives[to.collective].End
		if from.rank == p.rank {
			b.low = max(b.low, sent-by.Common(received))
		} else {
			b.high = min(b.high, received-by.Common(sent))
		}
		b.messages++
	}
	return b
}

// clock places a clock by its bounds. Ranks of one host have one clock, if the
// bounds allow it. Else it is put in the middle of two bounds, as NTP does,
// which is right where messages of both directions take equally long at their
// shortest; with one bound it is left as it is if that may be.
func (b bounds) clock(by Clock, oneHost bool) Clock {
	if b.messages == 0 {
		return Clock{}
	}
	c := Clock{Offset: by.Offset, Drift: by.Drift, At: by.At, Messages: b.messages}
	both := b.low > -unbounded && b.high < unbounded
	switch {
	case oneHost && b.low <= by.Offset && by.Offset <= b.high:
	case both:
		c.Offset = b.low + (b.high-b.low)/2
		c.Residual = max(b.high-b.low, b.low-b.high) / 2
	default:
		c.Offset = min(max(by.Offset, b.low), b.high)
	}
	return c
}
