package frontier

// The kernels below are the inner loops of everything: a row of one step at a
// time, over the ranks. They allocate nothing.

// Core is the frontier over steps that arrive one at a time: the advances and
// nothing else, at the speed at which memory can be read.
type Core struct {
	Advance  []int64 // [stage] Σ over the steps added, nanoseconds
	Makespan int64   // Σ of the steps' exposed makespans; equals ΣAdvance exactly

	ranks  int
	maxima []int64 // [stage][4]: maxima of prefix sums, in four lanes
	prefix []int64 // of the columns that the vector kernel leaves
}

// NewCore makes a core for steps of this shape; both counts are 1 or more.
func NewCore(stages, ranks int) *Core {
	return &Core{Advance: make([]int64, stages), ranks: ranks, maxima: make([]int64, 4*stages), prefix: make([]int64, ranks)}
}

// AddStep adds a step, [stage][rank]: a[s] = F[s] − F[s−1] with F[s] the
// largest prefix sum over ranks (StageFrontier, section 3). A step of another
// shape is a programming error and panics.
//
// O(S·R) time, no allocation.
func (c *Core) AddStep(step []int64) {
	S, R := len(c.Advance), c.ranks
	if len(step) != S*R {
		panic("frontier: AddStep: length mismatch")
	}
	clear(c.maxima)
	columns := 0
	if acrossStages(S, R) {
		columns = stepMaxima(step, S, R, c.maxima)
	}
	rest := c.prefix[columns:]
	clear(rest)
	previous := int64(0)
	for s := range c.Advance {
		m := c.maxima[4*s : 4*s+4 : 4*s+4]
		frontier := max(m[0], m[1], m[2], m[3])
		if len(rest) > 0 {
			frontier = max(frontier, addMax(rest, step[(s+1)*R-len(rest):(s+1)*R]))
		}
		c.Advance[s] += frontier - previous
		previous = frontier
	}
	c.Makespan += previous
}

// acrossStages chooses between two orders of the same sums. Row by row is one
// stream of memory, and fastest while prefixes stay in the first-level cache.
// Across stages, eight ranks at a time keep their prefixes in registers: it
// saves the call per row that dominates for a handful of ranks, and the second
// stream that 2,048 ranks and more would need, but reads one stream per stage,
// which the hardware follows only for a few, and only when they lie in
// different pages. Measured: BenchmarkCore.
func acrossStages(stages, ranks int) bool {
	return ranks <= 16 || ranks >= 2048 && stages <= 8
}

// addMaxGo adds d to p and returns the maximum of the sums, which are not
// negative. Eight at a time: one link of the chain of maxima per eight sums,
// and no bounds check inside.
func addMaxGo(p, d []int64) int64 {
	var m int64
	i := 0
	for ; i+8 <= len(p) && i+8 <= len(d); i += 8 {
		q, e := p[i:i+8:i+8], d[i:i+8:i+8]
		a0, a1, a2, a3 := q[0]+e[0], q[1]+e[1], q[2]+e[2], q[3]+e[3]
		a4, a5, a6, a7 := q[4]+e[4], q[5]+e[5], q[6]+e[6], q[7]+e[7]
		q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7] = a0, a1, a2, a3, a4, a5, a6, a7
		m = max(m, max(max(a0, a1), max(a2, a3)), max(max(a4, a5), max(a6, a7)))
	}
	for ; i < len(p); i++ {
		p[i] += d[i]
		m = max(m, p[i])
	}
	return m
}

// topTwo is the largest and the second largest value and the first index of
// the largest. For one value the second is that value.
func topTwo(v []int64) (first, second int64, at int) {
	first, at = v[0], 0
	if len(v) == 1 {
		return first, first, 0
	}
	second = minInt64
	for i, x := range v[1:] {
		switch {
		case x > first:
			first, second, at = x, first, i+1
		case x > second:
			second = x
		}
	}
	return first, second, at
}

const minInt64 = -1 << 63
