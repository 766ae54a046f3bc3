package page

import (
	"math"
	"slices"
)

const (
	mostColumns = 1024
	// mostHeld is how many numbers of 4 bytes the steps of a run take at most while
	// they are read: 32 MiB.
	mostHeld = 1 << 23
)

// column is consecutive steps: of times the sum, of lateness the largest. Series
// that a step does not have are shorter, or NaN.
type column struct {
	ranks   []int // of a step alone: those that its series have, in this order; nil: all, as in columns
	first   int64
	steps   int
	exposed []float64   // [stage]
	late    []float32   // [rank]
	spent   [][]float32 // [stage][rank]
	last    int         // rank that was latest, −1: none
}

// join adds the steps of c to b.
func (b *column) join(c *column) {
	if c.last >= 0 {
		at := c.last
		if c.ranks != nil {
			at = slices.Index(c.ranks, c.last)
		}
		if b.last < 0 || at32(c.late, at) > at32(b.late, b.last) {
			b.last = c.last
		}
	}
	b.steps += c.steps
	for s, x := range c.exposed {
		b.exposed = pad(b.exposed, s+1, 0)
		b.exposed[s] += x
	}
	b.late = combineSeries(b.late, c.late, c.ranks, func(x, y float32) float32 { return max(x, y) })
	for s, of := range c.spent {
		for len(b.spent) <= s {
			b.spent = append(b.spent, nil)
		}
		b.spent[s] = combineSeries(b.spent[s], of, c.ranks, func(x, y float32) float32 { return x + y })
	}
}

// combineSeries combines two series, the second of some ranks; what one does not have is the other's.
func combineSeries(a, b []float32, ranks []int, combine func(x, y float32) float32) []float32 {
	if a = pad(a, len(b), nan32); ranks != nil && len(b) > 0 {
		a = pad(a, slices.Max(ranks)+1, nan32)
	}
	for r, y := range b {
		if ranks != nil {
			r = ranks[r]
		}
		switch x := a[r]; {
		case isNaN(x):
			a[r] = y
		case !isNaN(y):
			a[r] = combine(x, y)
		}
	}
	return a
}

var nan32 = float32(math.NaN())

func isNaN(x float32) bool { return math.IsNaN(float64(x)) }

// at32 returns a number of a series, NaN beyond its end.
func at32(x []float32, i int) float32 {
	if i >= len(x) {
		return nan32
	}
	return x[i]
}

// pad returns x with at least n elements.
func pad[T any](x []T, n int, with T) []T {
	x = slices.Grow(x, max(0, n-len(x)))
	for len(x) < n {
		x = append(x, with)
	}
	return x
}

// columns are the steps of a run, put together by twos whenever they are too many.
type columns struct {
	all   []column
	width int // steps that fill a column
}

// add appends a step; a column of it has so many numbers.
func (c *columns) add(step column, numbers int) {
	c.width = max(1, c.width)
	if n := len(c.all); n > 0 && c.all[n-1].steps < c.width && c.all[n-1].first+int64(c.all[n-1].steps) == step.first {
		c.all[n-1].join(&step)
		return
	}
	if len(c.all) >= max(64, min(mostColumns, mostHeld/max(1, numbers))) {
		c.halve()
	}
	c.all = append(c.all, column{first: step.first, last: -1})
	c.all[len(c.all)-1].join(&step)
}

// halve joins neighbours.
func (c *columns) halve() {
	half := c.all[:0]
	for i := 0; i < len(c.all); i += 2 {
		x := c.all[i]
		if i+1 < len(c.all) {
			x.join(&c.all[i+1])
		}
		half = append(half, x)
	}
	clear(c.all[len(half):])
	c.all = half
	c.width *= 2
}
