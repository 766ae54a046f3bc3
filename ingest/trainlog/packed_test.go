package trainlog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPacked gives back what was packed, in as many bytes each as the numbers need.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	drawn := func(n int, draw func() int64) (out []int64) {
		for range n {
			out = append(out, draw())
		}
		return out
	}
	for name, c := range map[string]struct {
		v    []int64
		size int // bytes of each; 0: a sequence
	}{
		"none":                {nil, 0},
		"one":                 {[]int64{7}, 0},
		"steps":               {[]int64{10, 20, 30, 40}, 0},
		"all alike":           {[]int64{5, 5, 5}, 0},
		"not timed":           {[]int64{-1, -1, -1}, 0},
		"of milliseconds":     {drawn(100, func() int64 { return 1e6 * (1000 + rng.Int64N(255)) }), 1},
		"one more":            {append(drawn(50, func() int64 { return 3e9 }), 3e9+254e6, 3e9+1e6, -1), 1},
		"too far for a byte":  {[]int64{3e9, 3e9 + 255e6, 3e9 + 1e6}, 2},
		"of 100 microseconds": {drawn(100, func() int64 { return 1e5 * rng.Int64N(65000) }), 2},
		"of nanoseconds":      {drawn(100, func() int64 { return 1e9 + rng.Int64N(1e9) }), 4},
		"far apart":           {[]int64{1, 1 << 53, 3, -1}, 8},
		"steps below none":    {[]int64{4, -7, 12, -1}, 8},
		"the largest":         {[]int64{math.MaxInt64, 0, math.MaxInt64 - 1}, 8},
	} {
		wide := make([]int64, 0, 3*len(c.v))
		for _, x := range c.v {
			wide = append(wide, 99, x, 99)
		}
		p := pack(wide, 1, 3)
		got := slices.Repeat([]int64{0}, 3*len(c.v))
		p.unpack(got, 1, 3)
		for i, x := range c.v {
			if got[3*i] != 0 || got[3*i+1] != x || got[3*i+2] != 0 {
				t.Errorf("%s: %v is read for number %d, %d", name, got[3*i:3*i+3], i, x)
			}
		}
		if size := len(p.bytes) + 2*len(p.shorts) + 4*len(p.words) + 8*len(p.whole); size != c.size*len(c.v) {
			t.Errorf("%s: %d bytes, expected %d each", name, size, c.size)
		}
	}
}

// TestRowsArePacked does the same to rows and to a plain list, and reads the same of both.
func TestRowsArePacked(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var r rows
		var steps []int64
		var values [][]int64
		r.widen()
		for i := range 9*rowsOfPiece + rng.IntN(rowsOfPiece) {
			step := int64(3 * i)
			if rng.IntN(5000) == 0 {
				step = -1
			}
			r.append(step)
			steps, values = append(steps, step), append(values, slices.Repeat([]int64{notTimed}, r.width))
			for c := range r.width {
				if rng.IntN(10) > 0 {
					x := rng.Int64N(1e9) / 1e5 * 1e5
					r.change(r.n - 1)[c], values[r.n-1][c] = x, x
				}
			}
			if rng.IntN(20_000) == 0 {
				r.widen()
				for k := range values {
					values[k] = append(values[k], notTimed)
				}
			}
		}
		same := func(when string) {
			t.Helper()
			for i := range r.n {
				if r.step(i) != steps[i] || !slices.Equal(r.row(i), values[i]) {
					t.Fatalf("seed %d, %s: row %d is %d %v, expected %d %v", seed, when, i, r.step(i), r.row(i), steps[i], values[i])
				}
			}
		}
		if r.n != len(steps) {
			t.Fatalf("%d rows of %d", r.n, len(steps))
		}
		same("appended")
		n := 0
		for i := range r.n { // leaves every third out, and changes some
			if i%3 == 0 {
				continue
			}
			r.move(n, i)
			steps[n], values[n] = steps[i], slices.Clone(values[i])
			if i%7 == 0 {
				have, row := r.row(max(0, n-1)), r.row(n)
				if fmt.Sprint(have) != fmt.Sprint(values[max(0, n-1)]) || fmt.Sprint(row) != fmt.Sprint(values[n]) {
					t.Fatalf("seed %d: rows %d and %d are %v, %v", seed, n-1, n, have, row)
				}
				r.change(n)[0], values[n][0] = int64(i), int64(i)
				r.number(n, int64(i))
				steps[n] = int64(i)
			}
			n++
		}
		r.cut(n)
		same("cut")
		for i := range r.n { // until the last piece is packed
			r.row(r.n - 1 - i)
		}
		r.append(5)
		steps, values = append(steps[:n], 5), append(values[:n], slices.Repeat([]int64{notTimed}, r.width))
		same("appended to what was cut")
		if len(r.open) > maxOpen {
			t.Errorf("%d pieces are open", len(r.open))
		}
		r.free(3*rowsOfPiece + 5)
		for i := range r.pieces {
			if p := &r.pieces[i]; (p.steps == nil && p.packed == nil) != (i < 3) {
				t.Errorf("piece %d is there: %v", i, p.steps != nil || p.packed != nil)
			}
		}
	}
}
