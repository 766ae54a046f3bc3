package delay_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/delay"
)

// order returns so many last arrivals: rank is last where at says so, the others are last by turns.
func order(arrivals, ranks, rank int, at func(i int) bool) *delay.LastArrivals {
	out, other := &delay.LastArrivals{Ranks: ranks}, 0
	for i := range arrivals {
		last, row := rank, make([]int64, ranks)
		if !at(i) {
			if other++; other%ranks == rank {
				other++
			}
			last = other % ranks
		}
		row[last] = 1000
		out.Add(row, self)
	}
	return out
}

func self(position int) int { return position }

// TestLastMostOften: the chances are R·P(Bin(n, 1/R) ≥ k) in exact rationals, of turns that are not correlated.
func TestLastMostOften(t *testing.T) {
	for name, c := range map[string]struct {
		last        *delay.LastArrivals
		n           int
		p           float64
		significant bool
	}{
		"103 of 119":  {order(119, 8, 3, func(i int) bool { return i%7 != 6 || i == 6 }), 103, 2.49125e-74, true},
		"an even one": {order(119, 8, 3, func(i int) bool { return i%8 == 3 || i == 0 }), 16, 1, false},
		"12 of 21":    {order(21, 4, 3, func(i int) bool { return i%2 == 0 || i == 1 }), 12, 0.0067483, true},
	} {
		l := c.last.MostFrequent()
		if l.Rank != 3 || l.N != c.n || math.Abs(l.P-c.p) > 1e-3*c.p || l.Significant() != c.significant {
			t.Errorf("%s: %+v, want rank 3 last at %d, p = %g", name, l, c.n, c.p)
		}
	}
	// One stretch of 30 of 120 arrivals is one event: its turns are correlated.
	if l := order(120, 8, 3, func(i int) bool { return i >= 40 && i < 70 }).MostFrequent(); l.Significant() {
		t.Errorf("one stretch: %+v", l)
	}
	// So few arrivals that not even the last of all would be significant: 2·2⁻⁵ > 0.05.
	if l := order(5, 2, 1, func(int) bool { return true }).MostFrequent(); l.Rank != -1 || l.Significant() {
		t.Errorf("five arrivals of two ranks: %+v, want no test", l)
	}
	if l := order(6, 2, 1, func(int) bool { return true }).MostFrequent(); l.Rank != 1 || !l.Significant() {
		t.Errorf("six arrivals of two ranks: %+v, want rank 1 in 2·2⁻⁶", l)
	}
	// Several at once are nobody's turn.
	ties := &delay.LastArrivals{Ranks: 3}
	for range 100 {
		ties.Add([]int64{1, 7, 7}, self)
	}
	if l := ties.MostFrequent(); l.Rank != -1 {
		t.Errorf("ties: %+v, want no test", l)
	}
}

// TestLastOfLongRuns: turns of more than 4096 arrivals are put together by two, and count as half as many. The chances are those of 4000 and 2250
// independent arrivals, in exact rationals.
func TestLastOfLongRuns(t *testing.T) {
	for _, c := range []struct {
		arrivals, last int
		p              float64
	}{{4000, 1100, 0.000641339}, {4500, 1240, 0.01194146}} {
		l := order(c.arrivals, 4, 3, func(i int) bool { return i*c.last%c.arrivals < c.last }).MostFrequent()
		if l.Rank != 3 || l.N != c.last || math.Abs(l.P-c.p) > 1e-3*c.p {
			t.Errorf("%d of %d: %+v, want p = %g", c.last, c.arrivals, l, c.p)
		}
	}
}

// TestLastAmongMany: of the ranks in the order of their first turns 64 tell how long turns last. If those from the 55th to the 64th are last ten times on
// end each, arrivals count as fewer; if those behind the 64th are, they do not.
func TestLastAmongMany(t *testing.T) {
	p := func(from, to int) float64 {
		var turns, stretches []int
		for range 10 {
			for r := 1; r < 80; r++ {
				if r < from || r >= to {
					turns = append(turns, r)
				}
			}
		}
		for r := from; r < to; r++ {
			stretches = append(stretches, slices.Repeat([]int{r}, 9)...)
			turns = slices.Insert(turns, r, r) // its first turn is in order
		}
		l := &delay.LastArrivals{Ranks: 80}
		add := func(r int) {
			row := make([]int64, 80)
			row[r] = 1
			l.Add(row, self)
		}
		for i, r := range append(turns, stretches...) {
			if i%16 == 0 {
				add(0)
			}
			add(r)
		}
		if m := l.MostFrequent(); m.Rank != 0 || m.N != 50 || m.Of != 840 {
			t.Errorf("%+v, want rank 0, 50 of 840", m)
		}
		return l.MostFrequent().P
	}
	even := p(80, 80)
	if got := p(54, 64); got < 2*even {
		t.Errorf("the 55th to the 64th on end: P = %g, by turns %g", got, even)
	}
	if got := p(64, 80); got != even {
		t.Errorf("behind the 64th on end: P = %g, by turns %g", got, even)
	}
}

// TestSkewIsAMedian: of 1, 2, 3, 4 ms and an hour between the middle one and the last the median is 3 ms; the mean would be
// 12 minutes. Rank 1 is last alone at four of them, 3, 4, 5 ms and an hour behind the middle of the other three.
func TestSkewIsAMedian(t *testing.T) {
	l := &delay.LastArrivals{Ranks: 4}
	for _, ms := range []int64{1, 3_600_000, 2, 4, 3} {
		l.Add([]int64{0, 4e6 + ms*1e6, 3e6, 5e6}, self)
	}
	if got := l.Skew(); got != 3e6 {
		t.Errorf("skew %d ns, want 3 ms", got)
	}
	if m := l.MostFrequent(); m.Rank != 1 || m.N != 4 || m.Of != 4 || m.Behind != 4.5e6 {
		t.Errorf("%+v, want rank 1, 4 of 4, 4.5 ms", m)
	}
}

// TestLastOfRuns: healthy ranks are significant in no more runs than the level says, whether steps are correlated or
// not; a rank with 5 % more work is, and a run cut in two says the same.
func TestLastOfRuns(t *testing.T) {
	const runs = 100
	for _, ar := range []float64{0, 0.5} {
		found := 0
		for seed := range uint64(runs) {
			run, _ := job{seed: seed, ranks: 8, steps: 60, noise: 0.02, ar: ar}.play()
			if analyzed(run, delay.Options{}).Latest.Significant() {
				found++
			}
		}
		if found > 10 { // P(Bin(100, 0.05) > 10) = 0.011
			t.Errorf("correlation %g: %d of %d healthy runs have a rank that is last too often", ar, found, runs)
		}
	}
	run, _ := job{seed: 1, ranks: 8, steps: 120, noise: 0.02}.play(fault{ranks: []int{3}, stage: 0, ms: 5})
	if l := analyzed(run, delay.Options{}).Latest; l.Rank != 3 || !l.Significant() || l.Behind < 3e6 || l.Behind > 10e6 {
		t.Errorf("%+v, want rank 3", l)
	}
}
