package clock_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
)

// chosenBy returns, for each clock, the one that it is compared with, event by event: an event speaks for the member that
// was placed first, and of equals the lowest clock and then the lowest reference is taken.
func chosenBy(n int, ends, messages [][]int) []int {
	by, order := slices.Repeat([]int{-1}, n), []int{0}
	most := func(events [][]int) (clock, reference, count int) {
		for c := range n {
			for _, p := range slices.Sorted(slices.Values(order)) {
				shared := 0
				for _, e := range events {
					first := slices.IndexFunc(order, func(o int) bool { return slices.Contains(e, o) })
					if first >= 0 && order[first] == p && slices.Contains(e, c) {
						shared++
					}
				}
				if !slices.Contains(order, c) && shared > count {
					clock, reference, count = c, p, shared
				}
			}
		}
		return clock, reference, count
	}
	for len(order) < n {
		c, p, shared := most(ends)
		if shared == 0 {
			c, p, shared = most(messages)
		}
		if shared == 0 {
			c, p = slices.IndexFunc(by, func(int) bool { return true }), -1
			for slices.Contains(order, c) {
				c++
			}
		}
		by[c], order = p, append(order, c)
	}
	return by
}

// TestReferences: each clock is compared with the one that a count over all events chooses.
func TestReferences(t *testing.T) {
	for seed := range uint64(300) {
		g := rand.New(rand.NewPCG(seed, 4))
		n := 2 + g.IntN(6)
		var e clock.Events
		var ends, messages [][]int
		for range g.IntN(12) {
			members := g.Perm(n)[:1+g.IntN(n)]
			var end []clock.Reading
			for _, c := range members {
				end = append(end, clock.Reading{Clock: c, At: g.Int64N(1000)})
			}
			ends, e.Ends = append(ends, members), append(e.Ends, end)
		}
		for range g.IntN(12) {
			pair := g.Perm(n)[:2]
			messages, e.Messages = append(messages, pair), append(e.Messages, clock.Message{From: pair[0], To: pair[1], Received: 50})
		}
		if n > 3 && seed%3 == 0 { // a clock that shares nothing
			alone := func(list []int) bool { return slices.Contains(list, n-1) }
			ends, messages = slices.DeleteFunc(ends, alone), slices.DeleteFunc(messages, alone)
			e.Ends = slices.DeleteFunc(e.Ends, func(end []clock.Reading) bool {
				return slices.ContainsFunc(end, func(r clock.Reading) bool { return r.Clock == n-1 })
			})
			e.Messages = slices.DeleteFunc(e.Messages, func(m clock.Message) bool { return m.From == n-1 || m.To == n-1 })
		}
		var got []int
		for _, p := range clock.Align(n, e) {
			got = append(got, p.By)
		}
		if want := chosenBy(n, ends, messages); !slices.Equal(got, want) {
			t.Fatalf("seed %d: compared with %v, want %v; ends of %v, messages of %v", seed, got, want, ends, messages)
		}
	}
}

// TestSteadyBounds: of fewer than eight bounds on a side a clock is in the middle between the least upper and the largest lower
// one, off by half of what is between them, and breaks those that no clock keeps. Whether it is years ahead changes nothing.
func TestSteadyBounds(t *testing.T) {
	for seed := range uint64(200) {
		g := rand.New(rand.NewPCG(seed, 5))
		epoch, ahead := int64(0), int64(0)
		if seed%2 == 1 {
			epoch, ahead = 1_700_000_000_000_000_001, 1_000_000_000_000_000_003
		}
		var e clock.Events
		upper, lower := []int64{}, []int64{}
		nu, nl := 1+g.IntN(7), 1+g.IntN(7)
		if seed%5 == 0 {
			nu = 8 + g.IntN(40) // many on one side fit no drift
		} else if seed%5 == 1 {
			nl = 8 + g.IntN(40)
		}
		for range nu {
			at, x := epoch+g.Int64N(1_000_000), ahead+g.Int64N(500)-20
			upper, e.Messages = append(upper, x), append(e.Messages, clock.Message{From: 0, To: 1, Sent: at, Received: at + x})
		}
		for range nl {
			at, x := epoch+g.Int64N(1_000_000), ahead-g.Int64N(500)+20
			lower, e.Messages = append(lower, x), append(e.Messages, clock.Message{From: 1, To: 0, Sent: at + x, Received: at})
		}
		g.Shuffle(len(e.Messages), func(a, b int) { e.Messages[a], e.Messages[b] = e.Messages[b], e.Messages[a] })
		top, bottom := slices.Min(upper), slices.Max(lower)
		half := max(top-bottom, bottom-top)
		want := clock.Placed{By: 0, Bounds: nu + nl, HalfWidth: (half + 1) / 2}
		want.Offset = bottom + int64(math.Floor(float64(top-bottom)/2))
		for _, x := range upper {
			if want.Offset > x {
				want.Contradicted++
			}
		}
		for _, x := range lower {
			if want.Offset < x {
				want.Contradicted++
			}
		}
		p := clock.Align(2, e)[1]
		want.Epoch = p.Epoch
		if p != want {
			t.Fatalf("seed %d: %+v, want %+v; at most %v, at least %v", seed, p, want, upper, lower)
		}
	}
}

// limit is a bound, at a time, on how far a clock is ahead.
type limit struct{ at, ahead float64 }

// corners returns the lines ahead + drift·t at the corners of what bounds and the largest drift allow.
func corners(upper, lower []limit) (out []limit) {
	const most = 500e-6
	keeps := func(drift, ahead float64) bool {
		for _, u := range upper {
			if ahead+drift*u.at > u.ahead+1e-6 {
				return false
			}
		}
		for _, l := range lower {
			if ahead+drift*l.at < l.ahead-1e-6 {
				return false
			}
		}
		return math.Abs(drift) <= most*(1+1e-12)
	}
	all := slices.Concat(upper, lower)
	for i, a := range all {
		for _, drift := range []float64{-most, most} {
			if ahead := a.ahead - drift*a.at; keeps(drift, ahead) {
				out = append(out, limit{drift, ahead})
			}
		}
		for _, b := range all[:i] {
			if a.at == b.at {
				continue
			}
			drift := (a.ahead - b.ahead) / (a.at - b.at)
			if ahead := a.ahead - drift*a.at; keeps(drift, ahead) {
				out = append(out, limit{drift, ahead})
			}
		}
	}
	return out
}

// TestDriftingBounds: a clock is off by no more than the farthest line that its bounds allow, over their time, by their corners.
func TestDriftingBounds(t *testing.T) {
	for seed := range uint64(100) {
		g := rand.New(rand.NewPCG(seed, 6))
		gains := (2*g.Float64() - 1) * 300e-6
		if seed%4 == 0 {
			gains = 0
		}
		var e clock.Events
		var upper, lower []limit
		for range 8 + g.IntN(12) {
			at := g.Int64N(20_000_000)
			x := int64(math.Round(gains*float64(at))) + 5 + g.Int64N(400)
			upper, e.Messages = append(upper, limit{float64(at), float64(x)}), append(e.Messages, clock.Message{From: 0, To: 1, Sent: at, Received: at + x})
		}
		for range 8 + g.IntN(12) {
			at := g.Int64N(20_000_000)
			x := int64(math.Round(gains*float64(at))) - 5 - g.Int64N(400)
			lower, e.Messages = append(lower, limit{float64(at), float64(x)}), append(e.Messages, clock.Message{From: 1, To: 0, Sent: at + x, Received: at})
		}
		p := clock.Align(2, e)[1]
		room := func(drift float64) float64 {
			top, bottom := math.Inf(1), math.Inf(-1)
			for _, u := range upper {
				top = min(top, u.ahead-drift*u.at)
			}
			for _, l := range lower {
				bottom = max(bottom, l.ahead-drift*l.at)
			}
			return top - bottom
		}
		widest := room(0)
		for _, a := range slices.Concat(upper, lower) {
			for _, b := range slices.Concat(upper, lower) {
				if drift := (a.ahead - b.ahead) / (a.at - b.at); a.at != b.at && math.Abs(drift) <= 500e-6 {
					widest = max(widest, room(drift))
				}
			}
		}
		if drifts := widest > 2*max(0, room(0)); p.Drifts != drifts || drifts && room(p.Drift) < widest-0.5 || !drifts && p.Drift != 0 {
			t.Errorf("seed %d: %+v with room of %v, want of %v if a drift doubles %v", seed, p, room(p.Drift), widest, room(0))
		}
		first, last := math.Inf(1), math.Inf(-1)
		for _, x := range slices.Concat(upper, lower) {
			first, last = min(first, x.at), max(last, x.at)
		}
		far, ahead := 0.0, float64(p.Offset)-p.Drift*float64(p.Epoch)
		for _, c := range corners(upper, lower) {
			for _, at := range []float64{first, last} {
				far = max(far, math.Abs(c.ahead+c.at*at-ahead-p.Drift*at))
			}
		}
		if math.Abs(float64(p.HalfWidth)-far) > 3 {
			t.Errorf("seed %d: off by %d at most, want %v", seed, p.HalfWidth, far)
		}
	}
}

// TestRoomsOfMany: for each clock, over its entries and those of all others, however often each takes part.
func TestRoomsOfMany(t *testing.T) {
	for seed := range uint64(300) {
		g := rand.New(rand.NewPCG(seed, 7))
		n := 1 + g.IntN(5)
		want := slices.Repeat([]clock.Room{{Low: -clock.Unknown, High: clock.Unknown}}, n)
		var syncs [][]clock.Entry
		for range 1 + g.IntN(3) {
			var sync []clock.Entry
			for range 1 + g.IntN(7) {
				e := clock.Entry{Clock: g.IntN(n), Enter: g.Int64N(100), Left: 100 + g.Int64N(100)}
				if g.IntN(4) == 0 {
					e.Left = clock.Unknown
				}
				sync = append(sync, e)
			}
			syncs = append(syncs, sync)
			for _, a := range sync {
				for _, b := range sync {
					if r := &want[a.Clock]; a.Clock != b.Clock {
						if a.Left != clock.Unknown {
							r.Low = max(r.Low, b.Enter-a.Left)
						}
						if b.Left != clock.Unknown {
							r.High = min(r.High, b.Left-a.Enter)
						}
					}
				}
			}
		}
		if got := clock.Rooms(n, slices.Values(syncs)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v; %v", seed, got, want, syncs)
		}
	}
}

// TestTwoMoments: points of two moments have one slope, however near these are: of the 16 between 18, 20, 22, 24 and 118, 120, 123, 125
// the upper of the middle ones, 100 and 101. From 24 the eight are 6 off in the middle, from the line 2.
func TestTwoMoments(t *testing.T) {
	var points []clock.Point
	for i, ahead := range []int64{18, 20, 22, 24} {
		points = append(points, clock.Point{At: 7, Ahead: ahead}, clock.Point{At: 8, Ahead: []int64{118, 120, 123, 125}[i]})
	}
	if c := clock.Fit(points); !c.Drifts || c.Drift != 101 || c.Offset != 20 || c.Residual != 2 || c.Epoch != 7 || c.Span != 1 {
		t.Errorf("%+v, want 20 and 101 in a ns", c)
	}
}

// TestThereAndBack: a month later a clock that drifts shows the time that it is asked for.
func TestThereAndBack(t *testing.T) {
	const month = 30 * 86_400_000_000_000
	for _, drift := range []float64{-400e-6, 0, 400e-6} {
		c := clock.Clock{Epoch: 1.7e18, Offset: 5, Drift: drift}
		for _, at := range []int64{c.Epoch - month, c.Epoch, c.Epoch + 1, c.Epoch + month} {
			if got := c.Reference(at + c.AheadAt(at)); got-at > 1 || at-got > 1 {
				t.Errorf("drift %v: %d comes back %d off", drift, at, got-at)
			}
		}
	}
}

// TestWrongOnOneSide: one wrong bound on a side is left out where either side has twenty.
func TestWrongOnOneSide(t *testing.T) {
	for _, c := range []struct {
		upper, lower int
		left         bool
	}{{19, 200, false}, {200, 19, false}, {20, 200, true}, {200, 20, true}} {
		var messages []clock.Message
		kept := map[int]int{}
		for _, m := range exchange(200, 0, 5) {
			if most := []int{c.upper, c.lower}[m.From]; kept[m.From] < most {
				kept[m.From]++
				messages = append(messages, m)
			}
		}
		if p := clock.Align(2, clock.Events{Messages: messages})[1]; (p.HalfWidth < ms) != c.left {
			t.Errorf("of %d and %d bounds one each is wrong: %+v, want it left out: %v", c.upper, c.lower, p, c.left)
		}
	}
}

// TestClocksOfWorkers: three clocks that differ by other times in each step are brought to the one that is most ahead. How far they
// are off is the farthest median: of 0, −2 and 3 ms from the middle clock, 3 ms.
func TestClocksOfWorkers(t *testing.T) {
	ahead := [3][4]int64{{0, 0, 0, 0}, {-2 * ms, -2 * ms, -9 * ms, -1 * ms}, {3 * ms, 3 * ms, 4 * ms, 1 * ms}}
	o, g := clockJobOf(t, 3, func(rank, step int) int64 { return 10*ms + ahead[rank][step] }, 0)
	aligned, off := clock.AlignOperators(o, g)
	if off != 3*ms {
		t.Errorf("%d ns off, want 3 ms", off)
	}
	for row, start := range aligned.Start {
		right := []int64{1 * ms, 9 * ms}[o.Name[row]]
		if want := right + 14*ms; start != want {
			t.Errorf("row %d starts at %d, want %d", row, start, want)
		}
	}
	if slices.Equal(o.Start, aligned.Start) {
		t.Error("the trace itself was changed")
	}
}
