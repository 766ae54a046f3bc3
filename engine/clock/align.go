package clock

import (
	"cmp"
	"math"
	"slices"
)

// Reading is what one clock showed when something ended on all that took part.
type Reading struct {
	Clock int
	At    int64
}

// Unknown stands for an Entry.Left or a Placed.HalfWidth that nothing tells.
const Unknown int64 = math.MaxInt64

// Message is sent on one clock and received on another.
type Message struct {
	From, To       int
	Sent, Received int64
}

// Events are what clocks have read together; clocks are numbered from 0.
type Events struct {
	Ends     [][]Reading // each of one collective, on the device
	Messages []Message
	Hosts    []string // by clock; those of one host show the same time unless bounds exclude it; nil, "": not known
	First    int      // the clock that the others are placed by
}

// Placed is a clock on the time of a run: that of Events.First, or else of the first clock of those
// that compare with each other, directly or over others.
type Placed struct {
	Clock
	By           int   // the clock that it was compared with; −1: with none, it is taken as it is
	Bounds       int   // bounds that place it, where no end does
	HalfWidth    int64 // ns that it may be off, either way, by its bounds and those of By; Unknown: bounds of one direction alone
	Contradicted int   // bounds that no straight clock keeps
}

// HasReference reports whether anything says how the clock runs.
func (p *Placed) HasReference() bool { return p.By >= 0 }

// Align places n clocks. One after the other is compared with one that has been
// placed before, of which it shares most ends, or, where no clock shares any,
// most bounds. What is not of a clock from 0 to n−1 is left out. O(n² + e log e)
// for e readings and messages.
func Align(n int, e Events) []Placed {
	a := newAligner(n, e)
	out := make([]Placed, n)
	for i := range n {
		clock, reference := a.next()
		if i == 0 {
			clock = e.First
		}
		out[clock].By = reference
		if reference >= 0 {
			a.compare(out, clock, reference)
		}
		a.place(clock)
	}
	return out
}

// pair is a clock and the one that it is compared with.
type pair struct{ clock, reference int }

// aligner is what clocks share.
type aligner struct {
	hosts    []string
	placed   []bool
	ended    [][]Reading // by clock
	ends     sharing
	bounds   sharing            // messages
	messages map[pair][]Message // by the lower number first
}

func newAligner(n int, e Events) *aligner {
	a := &aligner{placed: make([]bool, n), messages: make(map[pair][]Message), hosts: e.Hosts}
	known := func(clock int) bool { return clock >= 0 && clock < n }
	for _, end := range e.Ends {
		mean := meanReadings(slices.DeleteFunc(slices.Clone(end), func(r Reading) bool { return !known(r.Clock) }))
		clocks := make([]int, len(mean))
		for i := range mean {
			clocks[i] = mean[i].Clock
		}
		a.ends.add(n, clocks)
		a.ended = append(a.ended, mean)
	}
	for _, m := range e.Messages {
		if known(m.From) && known(m.To) && m.From != m.To {
			between := pair{min(m.From, m.To), max(m.From, m.To)}
			a.bounds.add(n, []int{between.clock, between.reference})
			a.messages[between] = append(a.messages[between], m)
		}
	}
	return a
}

// meanReadings returns when something ended on each clock: the mean of the readings that it has of it.
func meanReadings(end []Reading) (out []Reading) {
	slices.SortFunc(end, func(x, y Reading) int { return cmp.Or(cmp.Compare(x.Clock, y.Clock), cmp.Compare(x.At, y.At)) })
	for len(end) > 0 {
		n, after := 0, int64(0)
		for ; n < len(end) && end[n].Clock == end[0].Clock; n++ {
			after += end[n].At - end[0].At
		}
		out = append(out, Reading{end[0].Clock, end[0].At + after/int64(n)})
		end = end[n:]
	}
	return out
}

// sharing counts the events that clocks which are not placed share with those
// that are: of each event, with the member that was placed first.
type sharing struct {
	sets [][]int
	of   [][]int // by clock: its events
	used []bool
	with map[pair]int
}

func (s *sharing) add(n int, set []int) {
	if s.of == nil {
		s.of, s.with = make([][]int, n), make(map[pair]int)
	}
	for _, clock := range set {
		s.of[clock] = append(s.of[clock], len(s.sets))
	}
	s.sets, s.used = append(s.sets, set), append(s.used, false)
}

func (s *sharing) place(clock int, placed []bool) {
	if s.of == nil {
		return
	}
	for _, i := range s.of[clock] {
		if s.used[i] {
			continue
		}
		s.used[i] = true
		for _, other := range s.sets[i] {
			if !placed[other] {
				s.with[pair{other, clock}]++
			}
		}
	}
	for k := range s.with {
		if k.clock == clock {
			delete(s.with, k)
		}
	}
}

// best returns the clock to place next and the placed clock that it shares most with.
func (s *sharing) best() (p pair, ok bool) {
	most := 0
	for k, n := range s.with {
		if n > most || n == most && (k.clock < p.clock || k.clock == p.clock && k.reference < p.reference) {
			p, most = k, n
		}
	}
	return p, most > 0
}

func (a *aligner) place(clock int) {
	a.placed[clock] = true
	a.ends.place(clock, a.placed)
	a.bounds.place(clock, a.placed)
}

// next returns the clock to place next, and the clock to compare it with; −1: no other.
func (a *aligner) next() (clock, reference int) {
	if p, ok := a.ends.best(); ok {
		return p.clock, p.reference
	}
	if p, ok := a.bounds.best(); ok {
		return p.clock, p.reference
	}
	return slices.Index(a.placed, false), -1
}

// compare places a clock by one that is placed.
func (a *aligner) compare(out []Placed, clock, reference int) {
	by := out[reference]
	if points := a.points(clock, reference, by.Clock); len(points) > 0 {
		out[clock].Clock, out[clock].HalfWidth = Fit(points), by.HalfWidth
		return
	}
	b := a.boundsOf(clock, reference, by.Clock)
	p := &out[clock]
	p.Bounds = b.len()
	f, both := b.fitLine()
	oneHost := a.hosts != nil && a.hosts[clock] != "" && a.hosts[clock] == a.hosts[reference]
	switch same := b.countBroken(by.Clock); {
	case oneHost && same == 0:
		p.Clock, p.HalfWidth = by.Clock, by.HalfWidth
	case both:
		p.Clock, p.HalfWidth, p.Contradicted = f.Clock, plus(f.halfWidth, by.HalfWidth), f.contradicted
	default:
		p.Clock, p.HalfWidth = by.Clock, Unknown
		p.Offset = b.clamp(by.Offset)
	}
}

// plus returns the sum of two numbers; Unknown where either is.
func plus(a, b int64) int64 {
	if a > Unknown-b {
		return Unknown
	}
	return a + b
}

// points returns the ends that a clock shares with a placed clock.
func (a *aligner) points(clock, reference int, by Clock) (points []Point) {
	if a.ends.of == nil {
		return nil
	}
	of := func(m Reading, clock int) int { return cmp.Compare(m.Clock, clock) }
	for _, i := range a.ends.of[clock] {
		end := a.ended[i]
		if there, ok := slices.BinarySearchFunc(end, reference, of); ok {
			here, _ := slices.BinarySearchFunc(end, clock, of)
			common := by.Reference(end[there].At)
			points = append(points, Point{At: common, Ahead: end[here].At - common})
		}
	}
	return points
}

// boundsOf returns the bounds that messages set a clock, by a placed clock.
func (a *aligner) boundsOf(clock, reference int, by Clock) *bounds {
	b := &bounds{}
	for _, m := range a.messages[pair{min(clock, reference), max(clock, reference)}] {
		if m.From == clock {
			at := by.Reference(m.Received)
			b.addLower(at, m.Sent-at)
		} else {
			at := by.Reference(m.Sent)
			b.addUpper(at, m.Received-at)
		}
	}
	return b
}
