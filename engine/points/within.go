package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Within is a stage in which the ranks of each of some sets wait for the last of them, such as
// those of one tensor-parallel group.
type Within struct {
	Stage int
	Split int // in Steps.Splits; −1: sets that nobody declared
	Sets  [][]int
	ratio float64
}

// setsRatio is how much of the spread of exits may be left inside sets, as a part of what is
// expected where sets mean nothing.
const setsRatio = 0.5

// findWithin finds the stages in which sets of ranks synchronise. Inside each set the slope is −1, but
// that holds too where all ranks synchronise. The exits tell the two apart. Where all synchronise,
// what is left of differences when they leave is noise of each rank's own. Where sets
// synchronise, a set leaves together, when its own last rank has come and its own transfer is
// done. Per step, with exits z as deviations from the mean over ranks and from the rank's own line,
// and z̄ the mean of the rank's set, the ratio is
//
//	Σ (z − z̄)² ÷ Σ z²
//
// and (R − sets)/(R − 1) is expected of it where the sets mean nothing. The interval of its median
// must lie below setsRatio of that. all are where all ranks seem to wait. O(Looked · stages · ranks) for each split.
func findWithin(c *Steps, open bool, all []Point, g Gates) (out []Within) {
	best := make([]Within, len(c.Stages))
	for i, sets := range c.Splits {
		for k, ratio := range ratiosWithin(c, open, sets, g) {
			if ratio > 0 && (best[k].Sets == nil || ratio < best[k].ratio) {
				best[k] = Within{Stage: k, Split: i, Sets: sets, ratio: ratio}
			}
		}
	}
	for k, sets := range setsThatLeave(c, open) {
		if sets == nil || best[k].Sets != nil {
			continue
		}
		if ratio := ratiosWithin(c, open, sets, g)[k]; ratio > 0 && (isUnsynchronised(c, open, k, sets, g) || leaveApart(c, k, sets, all)) &&
			!slices.ContainsFunc(sets, func(set []int) bool { return exitOf(c, k, set) == paced }) {
			best[k] = Within{Stage: k, Split: -1, Sets: sets, ratio: ratio}
		}
	}
	for _, w := range best {
		if w.Sets != nil {
			out = append(out, w)
		}
	}
	return out
}

// ratiosWithin returns the ratio of each stage in which ranks of sets synchronise; 0 of the others.
func ratiosWithin(c *Steps, open bool, sets [][]int, g Gates) []float64 {
	R, S := c.Ranks, len(c.Stages)
	out, slopes, ratios := make([]float64, S), make([][]float64, S), make([][]float64, S)
	expected := float64(R-len(sets)) / float64(R-1)
	for _, at := range c.stretches() {
		if n := at[1] - at[0]; n < 2 || open && n < 3 {
			continue
		}
		visitStages(c, at, open, func(k int, x, y []float64) {
			inX, inY := centerBySet(x, R, sets), centerBySet(y, R, sets)
			v, _ := blockSlopes(inX, inY, R, R-len(sets))
			slopes[k] = append(slopes[k], v...)
			for t := 0; t < len(x); t += R {
				left, all := 0.0, 0.0
				for r := range R {
					z := inX[t+r] + inY[t+r]
					left += z * z
					z = x[t+r] + y[t+r]
					all += z * z
				}
				if all > float64(R) {
					ratios[k] = append(ratios[k], left/all/expected)
				}
			}
		})
	}
	for k := range slopes {
		p := Point{Stage: k}
		if p.judge(slopes[k], g); p.Evidence != Shown {
			continue
		}
		if _, mid, high, ok := robust.MedianInterval(ratios[k], g.Confidence); ok && high <= setsRatio {
			out[k] = max(mid, math.SmallestNonzeroFloat64)
		}
	}
	return out
}

const (
	// together is by what part of how they arrive two ranks of one set may differ when they leave. Of many ranks in few steps two of different sets
	// may come so close by chance; then those are looked for that differ by less, down to leastTogether.
	together, leastTogether = 0.5, 0.1
	// fewestChanges are too few to tell who leaves together.
	fewestChanges = 6
	// mostChanges are enough to tell.
	mostChanges = 32
	// mostSets bounds the ranks of which sets are sought that nobody declared: pairs of ranks are compared.
	mostSets = 256
)

// setsThatLeave finds for each stage the sets of ranks that leave it together, though they do not arrive together: what is left of how
// much two ranks differ from step to step is less than half, or less than that. nil: there are none, all ranks leave together, or who leaves with
// whom does not make sets. O(Looked · stages · ranks), and where there are sets O(Looked · ranks²).
func setsThatLeave(c *Steps, open bool) [][][]int {
	R := c.Ranks
	out := make([][][]int, len(c.Stages))
	for k, of := range pairChangesOf(c, open) {
		left := make([][]float64, R) // of how much two ranks differ, of those that were compared
		apart := func(r, q int) float64 {
			if left[r] == nil {
				left[r] = make([]float64, R)
			}
			if left[r][q] == 0 {
				left[r][q] = of.exitShare(r, q)
			}
			return left[r][q]
		}
		for most := together; out[k] == nil && most >= leastTogether; most /= 2 {
			out[k] = setsOf(R, func(r, q int) bool { return apart(r, q) < most })
		}
	}
	return out
}

// leastOfArrivals is the smallest part of how much two ranks usually differ when they arrive, by which those of one set may when they leave: stages of a
// pipeline that follow one another leave a stage nearly together.
const leastOfArrivals = 1.0 / 64

// setsThatEnd returns the sets of ranks that leave a stage together, whether or not they arrive so: from step to step two ranks of one set differ by less
// than some part of what two ranks usually differ by when they arrive, and two of different sets by at least twice as much. Of several such parts the
// smallest counts. nil: there are none, or all ranks leave it together.
func (c *pairChanges) setsThatEnd() (out [][]int) {
	R := c.ranks
	leave, arrive := make([]float64, R*R), make([]float64, 0, R*R/2)
	for r := range R {
		for q := range r {
			leave[r*R+q] = c.differ(c.leave, r, q)
			leave[q*R+r] = leave[r*R+q]
			arrive = append(arrive, c.differ(c.arrive, r, q))
		}
	}
	usual := robust.MedianDistance(arrive)
	var before [][]int // of twice the part
	for part := together; part >= leastOfArrivals; part /= 2 {
		sets := setsOf(R, func(r, q int) bool { return leave[r*R+q] < part*usual })
		if sets != nil && slices.EqualFunc(sets, before, slices.Equal[[]int]) {
			out = sets
		}
		before = sets
	}
	return out
}

// pairChangesOf returns how ranks arrive at each stage and leave it; nil where the ranks or the steps are too few to find sets, or the ranks too many.
func pairChangesOf(c *Steps, open bool) []pairChanges {
	R := c.Ranks
	if R < 4 || R > mostSets {
		return nil
	}
	steps := 0
	for _, at := range c.stretches() {
		if n := at[1] - at[0]; n >= 3 {
			steps += n
			if open {
				steps--
			}
		}
	}
	if steps <= fewestChanges {
		return nil
	}
	of := make([]pairChanges, len(c.Stages))
	for k := range of {
		of[k] = newPairChanges(R, steps)
	}
	done := 0
	for _, at := range c.stretches() {
		if at[1]-at[0] < 3 {
			continue
		}
		visited := 0
		visitStages(c, at, open, func(k int, x, y []float64) {
			of[k].add(done, x, y)
			visited = len(x) / R
		})
		done += visited
	}
	return of
}

// pairChanges is how ranks arrive at a stage and leave it in some steps and in those before them, at equal distances where
// there are many.
type pairChanges struct {
	ranks, by, changes int
	arrive, leave      []float64 // [step, of those that are looked at][rank]
	scratch            []float64
}

func newPairChanges(ranks, steps int) pairChanges {
	by := 1 + steps/mostChanges
	n := (steps - 2 + by) / by
	return pairChanges{ranks: ranks, by: by, changes: n, arrive: make([]float64, 0, 2*n*ranks), leave: make([]float64, 0, 2*n*ranks), scratch: make([]float64, n)}
}

// add takes steps that follow the first so many: when ranks arrive, and how long they stay, [step][rank].
func (c *pairChanges) add(first int, x, y []float64) {
	for t := 0; t < len(x); t += c.ranks {
		if step := first + t/c.ranks; step%c.by > 1 { // neither after a change nor before one
			continue
		}
		c.arrive = append(c.arrive, x[t:t+c.ranks]...)
		for r := range c.ranks {
			c.leave = append(c.leave, x[t+r]+y[t+r])
		}
	}
}

// exitShare returns how much two ranks' exits differ more or less from step to step, as a part of what their arrivals do.
func (c *pairChanges) exitShare(r, q int) float64 {
	return c.differ(c.leave, r, q) / c.differ(c.arrive, r, q)
}

// differ returns the median change from step to step of how much two ranks differ.
func (c *pairChanges) differ(v []float64, r, q int) float64 {
	next := 2 * c.ranks
	if c.by == 1 {
		next = c.ranks
	}
	for i := range c.scratch {
		before, after := v[i*next:], v[i*next+c.ranks:]
		c.scratch[i] = math.Abs(after[r] - after[q] - before[r] + before[q])
	}
	return robust.MedianDistance(c.scratch)
}

// setsOf returns the sets in which all ranks are near one another, and near no others: two sets or more of two ranks or more; else nil.
func setsOf(R int, near func(r, q int) bool) (sets [][]int) {
	in := make([]int, R) // the set of each rank, from 1
	for r := range R {
		if in[r] > 0 {
			continue
		}
		set := []int{r}
		in[r] = len(sets) + 1
		for q := r + 1; q < R; q++ {
			if in[q] == 0 && near(r, q) {
				set, in[q] = append(set, q), in[r]
			}
		}
		sets = append(sets, set)
		if len(set) == R || len(set) == 1 {
			return nil
		}
	}
	for _, set := range sets {
		for i, r := range set {
			for q := r + 1; q < R; q++ {
				if same := in[q] == in[r]; (i > 0 || !same) && near(r, q) != same {
					return nil
				}
			}
		}
	}
	return sets
}

// isUnsynchronised reports whether sets that leave a stage together do not wait for one another there: a set that arrives later does not stay
// for less.
func isUnsynchronised(c *Steps, open bool, k int, sets [][]int, g Gates) bool {
	R, S := c.Ranks, len(sets)
	var slopes []float64
	for _, at := range c.stretches() {
		if at[1]-at[0] < 3 {
			continue
		}
		visitStages(c, at, open, func(stage int, x, y []float64) {
			if stage == k {
				v, _ := blockSlopes(setMeans(x, R, sets), setMeans(y, R, sets), S, S-1)
				slopes = append(slopes, v...)
			}
		})
	}
	return len(slopes) > 0 && robust.Median(slopes) > g.Slope
}

// leaveApart reports whether sets that leave a stage together do not wait for one another there, by when they leave it, counted from a point that all ranks
// leave together: no less far apart than they arrive, and so far that no exit varies by as much. Where waits were recorded by themselves
// what is left is work and transfers, and who has a slow link leaves late as well.
func leaveApart(c *Steps, k int, sets [][]int, all []Point) bool {
	i := slices.IndexFunc(all, func(p Point) bool { return p.Stage != k && c.Stages[p.Stage].Role != Rest })
	if i < 0 || slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Role == Wait }) {
		return false
	}
	from := all[i].Stage
	var arrive, leave, took []float64
	since := make([]int64, c.Ranks)
	for _, at := range c.stretches() {
		for t := at[0] + 1; t < at[1]; t++ {
			c.exitToStage(t, from, k, since)
			arrive = append(arrive, spreadOf(since, sets))
			add(since, c.At(t, k))
			leave = append(leave, spreadOf(since, sets))
			took = append(took, float64(slices.Max(since)))
		}
	}
	if len(took) < fewestChanges {
		return false
	}
	left := robust.Median(leave)
	return left >= robust.Median(arrive) && left >= farApart*robust.Median(took)
}

// farApart is the part of the time since all left a point, by which sets must leave a stage apart for none of that to be how exits vary.
const farApart = 0.1

// spreadOf returns how far the means of sets lie apart, of values of ranks.
func spreadOf(v []int64, sets [][]int) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, set := range sets {
		sum := 0.0
		for _, r := range set {
			sum += float64(v[r])
		}
		least, most = min(least, sum/float64(len(set))), max(most, sum/float64(len(set)))
	}
	return most - least
}

// setMeans returns those of sets, [step][set], of values, [step][rank].
func setMeans(v []float64, R int, sets [][]int) (out []float64) {
	for t := 0; t < len(v); t += R {
		for _, set := range sets {
			sum := 0.0
			for _, r := range set {
				sum += v[t+r]
			}
			out = append(out, sum/float64(len(set)))
		}
	}
	return out
}

// centerBySet returns values, [step][rank], less the mean of the rank's set.
func centerBySet(v []float64, R int, sets [][]int) []float64 {
	out := make([]float64, len(v))
	for t := 0; t < len(v); t += R {
		for _, set := range sets {
			mean := 0.0
			for _, r := range set {
				mean += v[t+r]
			}
			mean /= float64(len(set))
			for _, r := range set {
				out[t+r] = v[t+r] - mean
			}
		}
	}
	return out
}

// waits reports whether ranks wait anywhere before all of them synchronise.
func (d *Division) waits() bool {
	return len(d.Within) > 0 || slices.ContainsFunc(d.Pieces, func(p Piece) bool { return d.Stages[p.Stage].Role == Wait })
}

// takeWaits takes off what ranks wait before all of them synchronise: stages that are nothing but
// waiting, and what those of a set wait for one another. What is left of a stage is the rank's own. What others wait for in the end is so the rank's for whom its set
// waits.
func (d *Division) takeWaits() {
	R := d.Ranks
	clock, own := make([]int64, R), make([]int64, R)
	for p := range max(1, len(d.Points)) {
		order := d.piecesTo(p)
		for n := range d.Intervals {
			clear(clock)
			for _, k := range order {
				row := d.Work[k][n*R : (n+1)*R]
				copy(own, row)
				if d.Stages[d.Pieces[k].Stage].Role == Wait {
					clear(own)
					if len(d.Spent) > 0 {
						for r, x := range row {
							d.Spent[p][n*R+r] += x // waited for the point all the same
						}
					}
				}
				i := slices.IndexFunc(d.Within, func(w Within) bool { return w.Stage == d.Pieces[k].Stage })
				if i >= 0 && d.Step(n, k) >= 0 {
					for _, set := range d.Within[i].Sets {
						last := clock[set[0]]
						for _, r := range set {
							last = max(last, clock[r])
						}
						for _, r := range set {
							own[r] = max(0, row[r]-(last-clock[r]))
						}
					}
				}
				for r, x := range row {
					clock[r] += x
				}
				copy(row, own)
			}
		}
	}
}
