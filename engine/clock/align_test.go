package clock_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
)

const us, ms = 1_000, 1_000_000

// truth is clocks that run straight; the first is the reference.
type truth []clock.Clock

func clocksOf(rng *rand.Rand, n int, drift float64) truth {
	out := make(truth, n)
	for i := 1; i < n; i++ {
		out[i] = clock.Clock{Epoch: 1.7e18, Offset: rng.Int64N(2e9) - 1e9, Drift: (2*rng.Float64() - 1) * drift}
	}
	return out
}

// show is what a clock shows at a true time.
func (c truth) show(i int, t int64) int64 { return t + c[i].AheadAt(t) }

// off is how far a placed clock is from the truth at worst between two times.
func (c truth) off(placed []clock.Placed, i int, from, to int64) int64 {
	far := int64(0)
	for _, t := range []int64{from, (from + to) / 2, to} {
		d := placed[i].Reference(c.show(i, t)) - t
		far = max(far, d, -d)
	}
	return far
}

// steps are synchronisation points of a job: in every step all ranks compute,
// one of them longer, and gather three numbers one after the other.
func (c truth) steps(rng *rand.Rand, n int, late int) (syncs [][]clock.Entry, from, to int64) {
	now := int64(1.7e18)
	from = now
	var last []clock.Entry
	for range n {
		for _, compute := range []int64{20 * ms, 200 * us, 200 * us} {
			entered := make([]int64, len(c))
			released := int64(0)
			for i := range c {
				entered[i] = now + compute + int64(rng.ExpFloat64()*100*us)
				if i == late && compute == 20*ms {
					entered[i] += 30 * ms
				}
				released = max(released, entered[i])
			}
			sync := make([]clock.Entry, len(c))
			for i := range c {
				sync[i] = clock.Entry{Clock: i, Enter: c.show(i, entered[i]), Left: clock.Unknown}
				if last != nil {
					last[i].Left = sync[i].Enter
				}
			}
			last = sync
			syncs = append(syncs, sync)
			now = released
		}
	}
	return syncs, from, now
}

// messages are those that synchronisation points amount to: each that enters one tells every other
// that it may leave.
func messages(syncs [][]clock.Entry) (out []clock.Message) {
	for _, sync := range syncs {
		for _, a := range sync {
			for _, b := range sync {
				if a.Clock != b.Clock && b.Left != clock.Unknown {
					out = append(out, clock.Message{From: a.Clock, To: b.Clock, Sent: a.Enter, Received: b.Left})
				}
			}
		}
	}
	return out
}

// TestAlignBySynchronisation: clocks come back from entries alone, within the
// half-width that is given for them, whoever is late.
func TestAlignBySynchronisation(t *testing.T) {
	for _, c := range []struct {
		name         string
		ranks, steps int
		late         int
		drift        float64
		within       int64
	}{
		{"two ranks", 2, 40, -1, 0, ms},
		{"eight ranks", 8, 40, -1, 0, ms},
		{"one is late by 30 ms", 8, 40, 3, 0, ms},
		{"clocks drift", 8, 2000, 3, 50e-6, ms},
		{"few steps", 4, 3, 1, 50e-6, 2 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, 1))
				real := clocksOf(rng, c.ranks, c.drift)
				syncs, from, to := real.steps(rng, c.steps, c.late)
				placed := clock.Align(c.ranks, clock.Events{Messages: messages(syncs)})
				for i := range placed {
					p := &placed[i]
					if off := real.off(placed, i, from, to); off > p.HalfWidth+1 || p.HalfWidth > c.within || p.Contradicted > 0 || (i > 0) != p.HasReference() {
						t.Errorf("seed %d, clock %d: %d ns off, the half-width is %d, %d bounds of %d contradicted", seed, i, off, p.HalfWidth, p.Contradicted, p.Bounds)
					}
					if c.drift > 0 && c.steps > 1000 && math.Abs(p.Drift-real[i].Drift) > 3e-6 {
						t.Errorf("seed %d, clock %d: drift %g, want %g", seed, i, p.Drift, real[i].Drift)
					}
				}
			}
		})
	}
}

// TestAlignContradicted: one synchronisation point that did not block is left out
// and counted, and clocks still come back.
func TestAlignContradicted(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	real := clocksOf(rng, 4, 0)
	syncs, from, to := real.steps(rng, 100, 2)
	for i := range syncs[42] {
		syncs[42][i].Left = syncs[42][i].Enter + 1 // the late one enters 30 ms after others have left
	}
	placed := clock.Align(4, clock.Events{Messages: messages(syncs)})
	for i := range placed {
		if off := real.off(placed, i, from, to); off > ms {
			t.Errorf("clock %d is %d ns off", i, off)
		}
	}
	if placed[2].Contradicted != 1 {
		t.Errorf("%d bounds are contradicted, want 1", placed[2].Contradicted)
	}
}

// TestAlignOverOthers: clocks that share nothing with the first are placed over
// others, and their half-widths add up.
func TestAlignOverOthers(t *testing.T) {
	sync := func(a, b int, ahead int64) [][]clock.Entry {
		return [][]clock.Entry{
			{{Clock: a, Enter: 0, Left: 10}, {Clock: b, Enter: ahead, Left: 10 + ahead}},
			{{Clock: a, Enter: 100, Left: 110}, {Clock: b, Enter: 100 + ahead, Left: 110 + ahead}},
		}
	}
	e := clock.Events{Messages: messages(append(sync(0, 1, 1000), sync(1, 2, -5000)...))}
	p := clock.Align(4, e)
	for i, want := range []struct {
		offset, half int64
		by           int
	}{{0, 0, -1}, {1000, 10, 0}, {-4000, 20, 1}, {0, 0, -1}} {
		if p[i].Offset != want.offset || p[i].HalfWidth != want.half || p[i].By != want.by {
			t.Errorf("clock %d: %+v", i, p[i])
		}
	}
}

// TestAlignByEnds: a clock that runs 100 ppm fast, with ends that scatter by 3 ns;
// one that does not drift and two that share no end with the first.
func TestAlignByEnds(t *testing.T) {
	var ends [][]clock.Reading
	for i := range int64(1000) {
		at := i * ms
		ends = append(ends, []clock.Reading{{Clock: 0, At: at}, {Clock: 1, At: at + 5000 + at/10_000 + i%7 - 3}},
			[]clock.Reading{{Clock: 2, At: at - 700}, {Clock: 0, At: at}}, []clock.Reading{{Clock: 3, At: at}, {Clock: 4, At: at - 10}})
	}
	p := clock.Align(5, clock.Events{Ends: ends})
	if c := p[1]; c.Offset < 4990 || c.Offset > 5010 || c.Drift < 0.99e-4 || c.Drift > 1.01e-4 || c.Residual > 4 || !c.Drifts {
		t.Errorf("the fast clock %+v", c)
	}
	if c := p[2]; c.Offset != -700 || c.Drift != 0 || c.Residual != 0 || c.By != 0 {
		t.Errorf("the even clock %+v", c)
	}
	if p[3].HasReference() || p[4].By != 3 || p[4].Offset != -10 {
		t.Errorf("a job of its own %+v %+v", p[3], p[4])
	}
}

// TestJump: a clock that is set by a second.
func TestJump(t *testing.T) {
	set := func(n, at int, by int64) (p []clock.Point) {
		for i := range n {
			x := clock.Point{At: int64(i) * ms, Ahead: int64(i % 3)}
			if i >= at {
				x.Ahead += by
			}
			p = append(p, x)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		points []clock.Point
		first  int
	}{
		{"none", nil, 0}, {"steady", set(10, 10, 0), 0}, {"forward", set(10, 4, 1000*ms), 4}, {"backward", set(10, 4, -1000*ms), 4},
		{"too near the beginning", set(10, 1, 1000*ms), 0}, {"too near the end", set(10, 9, 1000*ms), 0}, {"too little", set(10, 4, ms), 0},
		{"drifting", []clock.Point{{At: 0}, {At: 1, Ahead: 20 * ms}, {At: 2, Ahead: 40 * ms}, {At: 3, Ahead: 60 * ms}, {At: 4, Ahead: 80 * ms}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if first, by, ok := clock.Jump(c.points); first != c.first || ok != (c.first > 0) || ok && (max(by, -by)+ms/2)/ms != 1000 {
				t.Errorf("%d by %d, %v, want %d", first, by, ok, c.first)
			}
		})
	}
}

// TestAlignOdd: what is not of a clock, what nobody left and what is beyond all
// sense does no harm.
func TestAlignOdd(t *testing.T) {
	for name, e := range map[string]clock.Events{
		"nothing":  {},
		"strays":   {Ends: [][]clock.Reading{{{Clock: -1}, {Clock: 9}}}, Messages: []clock.Message{{From: 0, To: 7}}},
		"extremes": {Messages: []clock.Message{{From: 0, To: 1, Sent: math.MinInt64, Received: math.MinInt64}, {From: 1, To: 0, Sent: math.MaxInt64, Received: math.MaxInt64 - 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if p := clock.Align(2, e); len(p) != 2 || p[0].HasReference() {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	message := []clock.Message{{From: 0, To: 1, Sent: 0, Received: 10}, {From: 1, To: 0, Sent: 0, Received: 30}}
	for _, c := range []struct {
		hosts []string
		want  int64
	}{
		{nil, -10}, {[]string{"a", "a"}, 0}, {[]string{"a", "b"}, -10}, {[]string{"", ""}, -10},
	} {
		t.Run(fmt.Sprint(c.hosts), func(t *testing.T) {
			if p := clock.Align(2, clock.Events{Messages: message, Hosts: c.hosts}); p[1].Offset != c.want {
				t.Errorf("offset %d, want %d", p[1].Offset, c.want)
			}
		})
	}
}

// Two hosts send each other messages. Their clocks are 5 ms apart.
func ExampleAlign() {
	const ms = 1_000_000
	var messages []clock.Message
	for step := range int64(3) {
		t := step * 100 * ms
		messages = append(messages,
			clock.Message{From: 0, To: 1, Sent: t, Received: t + 5*ms + ms}, // takes 1 ms
			clock.Message{From: 1, To: 0, Sent: t + 5*ms + 10*ms, Received: t + 11*ms})
	}
	p := clock.Align(2, clock.Events{Messages: messages})[1]
	fmt.Printf("%.1f ms ahead, right to %.1f ms\n", float64(p.Offset)/ms, float64(p.HalfWidth)/ms)
	// Output: 5.0 ms ahead, right to 1.0 ms
}

// TestRooms: where clocks are right each has room for as long as the last and the first to leave allow; none
// once one is wrong by more.
func TestRooms(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		syncs, _, _ := make(truth, 6).steps(rng, 40, 3)
		for d, r := range clock.Rooms(6, slices.Values(syncs)) {
			if !r.IsBounded() || r.Low > 0 || r.High < 0 || r.High-r.Low > ms {
				t.Errorf("seed %d, clock %d: %+v", seed, d, r)
			}
		}
		for i := range syncs {
			syncs[i][2].Enter += 50 * ms
			syncs[i][2].Left += 50 * ms
		}
		if r := clock.Rooms(6, slices.Values(syncs[:100]))[2]; !r.IsBounded() || r.High > -49*ms || r.Low < -51*ms {
			t.Errorf("seed %d: 50 ms off, with room for %+v", seed, r)
		}
	}
	alone := [][]clock.Entry{{{Clock: 0, Left: 5}, {Clock: 0, Left: clock.Unknown}}, {{Clock: 1, Left: clock.Unknown}, {Clock: 0, Left: clock.Unknown}}}
	for _, r := range clock.Rooms(2, slices.Values(alone)) {
		if r.IsBounded() {
			t.Errorf("%+v", r)
		}
	}
}
