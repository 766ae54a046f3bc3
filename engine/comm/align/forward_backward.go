package align

import (
	"math"
	"sort"
)

// trellis is the states of the model over one stretch: state (i, j) pairs launch i with kernel j. Launches are in order; runs
// of them are deletions, without a kernel in the trace; kernels may be insertions, without a launch; the class of a launch emits
// the shape of its kernel; and gaps between starts follow those between launches. An alignment is a path of hidden states, and
// the recursion over all of them is exact:
//
//	α(i, j) = e(i, j)·(B(i, j) + Σ α(i', j')·g(i−i'−1)·u(j'+1)…u(j−1)·ρ)   over i' < i, j' < j
//
// e is the emission odds of the kernel's shape, g the probability of a run of so many deletions, u
// the odds of an insertion, ρ the odds of the gap between the two starts, and B the border
// before the first pair. β is the same from the end, and α·β/Σ is the posterior of
// the pair: forward-backward recursion (Rabiner 1989, Proc. IEEE 77:257–286). Time is n·m, times 2·nearRows·nearColumns;
// memory is n·m.
type trellis struct {
	n, m      int
	emit      func(i, j int) float64
	inserted  []float64 // u of each kernel
	deletions deletions
	at        []float64 // of each launch: when its kernel is expected to start (startGaps), nanoseconds; nil where times are not used
	vary      []float64 // … the variance of that from the first launch on
	span      float64   // a start that no gap predicts is uniform in it
	start     []float64 // of each kernel
	run       []float64 // g of runs of every length
	// Whether the first launch has the first kernel and the last the last.
	pinFirst, pinLast bool
}

// deletions is how launches lose their kernels: a run opens with one probability and is extended with
// another.
type deletions struct{ open, stay float64 }

func (g deletions) of(k int) float64 {
	if k == 0 {
		return 1 - g.open
	}
	return g.open * (1 - g.stay) * math.Pow(g.stay, float64(k-1))
}

const (
	nearColumns = 2    // kernels, the last of which is compared in time with those before it
	nearRows    = 6    // launches on either side of the one that the time points to
	outlierPart = 0.1  // of the pairs, whose gap is not the usual one
	mostSpreads = 30   // off the usual gap: what is further is an outlier
	negligible  = 1e-9 // beside the most likely state of a kernel
)

// field is one value for each launch and kernel, each kernel's with a scale of its own.
type field struct {
	n     int
	v     []float64
	scale []float64 // natural logarithm
}

func newField(n, m int) field { return field{n, make([]float64, n*m), make([]float64, m)} }

func (f *field) column(j int) []float64 { return f.v[j*f.n : (j+1)*f.n] }

// normalise makes the greatest value of a column 1; its values were in the scale given.
func (f *field) normalise(j int, scale float64) {
	most := 0.0
	for _, v := range f.column(j) {
		most = max(most, v)
	}
	f.scale[j] = scale
	if most > 0 {
		for i := range f.column(j) {
			f.column(j)[i] /= most
		}
		f.scale[j] += math.Log(most)
	}
}

// posterior is of each pair; false where no path is possible.
func (c *trellis) posterior() (field, bool) {
	c.run = make([]float64, c.n+1)
	for k := range c.run {
		c.run[k] = c.deletions.of(k)
	}
	a, g := c.pass(1), c.pass(-1)
	total := c.total(&a)
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return field{}, false
	}
	for j := range c.m {
		scale := math.Exp(a.scale[j] + g.scale[j] - total)
		fa, fg := a.column(j), g.column(j)
		for i := range fa {
			if fa[i] > 0 { // both passes have e in them
				fa[i] = min(fa[i]*fg[i]/c.emit(i, j)*scale, 1)
			}
		}
	}
	return a, true
}

// total is the logarithm of the sum over all paths.
func (c *trellis) total(a *field) float64 {
	tail := 0.0
	sum := math.Inf(-1)
	for j := c.m - 1; j >= 0; j-- {
		s := 0.0
		for i, v := range a.column(j) {
			if v > 0 {
				s += v * c.border(c.n-1-i, c.m-1-j, c.pinLast)
			}
		}
		sum = logAdd(sum, math.Log(s)+a.scale[j]+tail)
		tail += math.Log(c.inserted[j])
	}
	if !c.pinFirst && !c.pinLast {
		sum = logAdd(sum, math.Log(c.deletions.of(c.n))+tail)
	}
	return sum
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// border is the odds of so many launches between the first or last pair and the end, that many kernels
// from it; those kernels' own are left out. A trace may begin and end anywhere.
func (c *trellis) border(rows, columns int, pinned bool) float64 {
	if pinned && (rows > 0 || columns > 0) {
		return 0
	}
	if pinned {
		return 1
	}
	return c.deletions.of(rows)/2 + 1/float64(2*(c.n+1))
}

// pass computes α for direction 1; for direction −1 the same from the end, which is e·β.
func (c *trellis) pass(dir int) field {
	f := newField(c.n, c.m)
	far, skip := make([]float64, c.n), make([]float64, c.n)
	insertions, before := 0.0, 0.0 // logarithms: of all kernels so far having no launch; the scale of far
	for step := range c.m {
		j := step
		pinned := c.pinFirst
		if dir < 0 {
			j, pinned = c.m-1-step, c.pinLast
		}
		out := f.column(j)
		for k := range c.n {
			i := k
			if dir < 0 {
				i = c.n - 1 - k
			}
			e := c.emit(i, j)
			if e == 0 {
				continue
			}
			out[i] = e * (c.border(k, step, pinned)*math.Exp(insertions-before) + c.outlierWeight()*far[i] + c.timely(&f, i, j, dir, before))
		}
		f.normalise(j, before)
		u := c.inserted[j]
		c.skipped(skip, out, dir)
		shift := math.Exp(before - f.scale[j])
		for i := range far {
			far[i] = far[i]*u*shift + skip[i]
		}
		before = f.scale[j]
		insertions += math.Log(u)
	}
	return f
}

func (c *trellis) outlierWeight() float64 {
	if c.at == nil {
		return 1
	}
	return outlierPart
}

// skipped sets dst to the sum over launches before each, in the direction, with what it costs that those between have no
// kernel.
func (c *trellis) skipped(dst, of []float64, dir int) {
	run, open := 0.0, c.deletions.open*(1-c.deletions.stay)
	i, end := 0, c.n
	if dir < 0 {
		i, end = c.n-1, -1
	}
	for k := 0; i != end; i, k = i+dir, k+1 {
		dst[i] = 0
		if k > 1 {
			run = run*c.deletions.stay + open*of[i-2*dir]
		}
		if k > 0 {
			dst[i] = run + (1-c.deletions.open)*of[i-dir]
		}
	}
}

// timely sums over the pairs before, in the direction, from which the time to this one is as usual.
func (c *trellis) timely(f *field, i, j, dir int, scale float64) (sum float64) {
	if c.at == nil {
		return 0
	}
	insertions := 1.0
	for other := j - dir; other >= 0 && other < c.m && other != j-(nearColumns+1)*dir; other -= dir {
		column := f.column(other)
		target := c.at[i] + c.start[other] - c.start[j]
		lo, hi := 0, i
		if dir < 0 {
			lo, hi = i+1, c.n
		}
		to := insertions * math.Exp(f.scale[other]-scale)
		insertions *= c.inserted[other]
		mid := lo + sort.SearchFloat64s(c.at[lo:hi], target)
		for row := max(lo, mid-nearRows); row < min(hi, mid+nearRows); row++ {
			if column[row] > negligible {
				sum += to * column[row] * c.run[max(i-row, row-i)-1] * c.odds(i, row, math.Abs(c.at[row]-target))
			}
		}
	}
	return sum
}

// odds is how much likelier the time between the kernels of two launches is than any other: a Laplace distribution.
func (c *trellis) odds(i, row int, off float64) float64 {
	scale := math.Sqrt(max(c.vary[i]-c.vary[row], c.vary[row]-c.vary[i])) + 1
	if off > mostSpreads*scale {
		return 0
	}
	return (1 - outlierPart) * c.span / (2 * scale) * math.Exp(-off/scale)
}
