package align

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/needleman"
)

// randomTrellis is small enough to count all its paths, and for every launch and kernel to be near every other.
func randomTrellis(rng *rand.Rand) *trellis {
	c := &trellis{n: 1 + rng.IntN(nearRows), m: 1 + rng.IntN(nearColumns+1), deletions: deletions{0.1 + 0.5*rng.Float64(), 0.9 * rng.Float64()},
		pinFirst: rng.IntN(2) == 0, pinLast: rng.IntN(2) == 0}
	odds := make([][]float64, c.n)
	for i := range odds {
		odds[i] = make([]float64, c.m)
		for j := range odds[i] {
			if rng.IntN(4) > 0 || i == 0 && j == 0 || i == c.n-1 && j == c.m-1 {
				odds[i][j] = rng.Float64()
			}
		}
	}
	c.emit = func(i, j int) float64 { return odds[i][j] }
	for range c.m {
		c.inserted = append(c.inserted, 0.01+0.2*rng.Float64())
		c.start = append(c.start, float64(len(c.start))*40+100*rng.Float64())
	}
	if rng.IntN(3) > 0 {
		c.span = 1000
		at, vary := 0.0, 0.0
		for range c.n {
			at, vary = at+80*rng.Float64(), vary+400*rng.Float64()
			c.at, c.vary = append(c.at, at), append(c.vary, vary)
		}
	}
	return c
}

// paths calls f with every alignment and its weight, by the definition.
func (c *trellis) paths(f func(pairs []needleman.Pair, weight float64)) {
	insertions := func(from, to int) float64 {
		w := 1.0
		for j := from; j < to; j++ {
			w *= c.inserted[j]
		}
		return w
	}
	var extend func(pairs []needleman.Pair, weight float64)
	extend = func(pairs []needleman.Pair, weight float64) {
		last := needleman.Pair{Row: -1, Column: -1}
		if len(pairs) > 0 {
			last = pairs[len(pairs)-1]
			f(pairs, weight*c.border(c.n-1-last.Row, c.m-1-last.Column, c.pinLast)*insertions(last.Column+1, c.m))
		} else if !c.pinFirst && !c.pinLast {
			f(pairs, c.deletions.of(c.n)*insertions(0, c.m))
		}
		for i := last.Row + 1; i < c.n; i++ {
			for j := last.Column + 1; j < c.m; j++ {
				w := weight * c.emit(i, j) * insertions(last.Column+1, j)
				switch {
				case len(pairs) == 0:
					w *= c.border(i, j, c.pinFirst)
				case c.at == nil:
					w *= c.deletions.of(i - last.Row - 1)
				default:
					off := math.Abs((c.at[i] - c.at[last.Row]) - (c.start[j] - c.start[last.Column]))
					w *= c.deletions.of(i-last.Row-1) * (outlierPart + c.odds(i, last.Row, off))
				}
				if w > 0 {
					extend(append(pairs[:len(pairs):len(pairs)], needleman.Pair{Row: i, Column: j}), w)
				}
			}
		}
	}
	extend(nil, 1)
}

// The probabilities are those of counting every alignment one by one.
func TestPosterior(t *testing.T) {
	counted := 0
	for seed := range uint64(3000) {
		c := randomTrellis(rand.New(rand.NewPCG(seed, 5)))
		total, alignments := 0.0, 0
		want := make([]float64, c.n*c.m)
		c.paths(func(pairs []needleman.Pair, weight float64) {
			total += weight
			alignments++
			for _, p := range pairs {
				want[p.Column*c.n+p.Row] += weight
			}
		})
		got, ok := c.posterior()
		if ok != (total > 0) {
			t.Fatalf("seed %d: possible %v, of weight %g", seed, ok, total)
		}
		if !ok {
			continue
		}
		for k, w := range want {
			if math.Abs(got.v[k]-w/total) > 1e-9 {
				t.Fatalf("seed %d: %d × %d, launch %d and kernel %d: probability %.12f, counted %.12f", seed, c.n, c.m, k%c.n, k/c.n, got.v[k], w/total)
			}
		}
		counted += alignments
	}
	t.Logf("%d alignments", counted)
}

// Of a thousand launches all alike that lost all but ten kernels nothing runs over or under.
func TestPosteriorOfLongRuns(t *testing.T) {
	for _, n := range []int{10, 1000, 5000} {
		c := &trellis{n: n, m: 10, deletions: deletions{0.2, 0.2}, emit: func(i, j int) float64 { return 1e-3 }}
		for range c.m {
			c.inserted = append(c.inserted, 1e-6)
		}
		p, ok := c.posterior()
		if !ok {
			t.Fatal("no alignment is possible")
		}
		sum := 0.0
		for _, v := range p.v {
			sum += v
		}
		if math.IsNaN(sum) || sum < 5 || sum > float64(c.m)+1e-6 {
			t.Errorf("%d launches: %g pairs of %d kernels", n, sum, c.m)
		}
	}
}

// What a log lost is guessed from where the program was the same before.
func TestGuessed(t *testing.T) {
	program := []int{1, 2, 1, 3, 3, 1, 4}
	var labels []int
	for range 6 {
		labels = append(labels, program...)
	}
	lost := []int{3, 11, 12, 20, 26, 33}
	for _, k := range lost {
		labels[k] = unknown
	}
	lags := periods(labels)
	if lags[0]%len(program) != 0 {
		t.Errorf("repeats after %d, want a multiple of %d", lags[0], len(program))
	}
	var got []int
	for _, k := range lost {
		got = append(got, alike(labels, lags, k))
	}
	if want := "[3 3 1 4 1 1]"; fmt.Sprint(got) != want {
		t.Errorf("guessed %v, want %s", got, want)
	}
	if got := alike([]int{1, 2, unknown, 3, 4}, []int{1, 2, 3}, 2); got != unknown {
		t.Errorf("guessed %d where nothing repeats", got)
	}
}

// The pairs reported have the most right of all that could be, by the chances.
func TestDecode(t *testing.T) {
	f := field{n: 3, v: []float64{0.5, 0.4, 0, 0.1, 0.45, 0.4, 0, 0.1, 0.6}, scale: make([]float64, 3)}
	got := ""
	for _, q := range decode(&f) {
		got += fmt.Sprintf("%d-%d ", q.Row, q.Column)
	}
	if want := "0-0 1-1 2-2 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	crossed := field{n: 2, v: []float64{0, 0.9, 0.8, 0}, scale: make([]float64, 2)} // both cannot be
	if q := decode(&crossed); len(q) != 1 || q[0].Row != 1 || q[0].Column != 0 {
		t.Errorf("got %+v, want the likelier of two that cross", q)
	}
}
