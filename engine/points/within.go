package points

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Within is a stage in which the ranks of each of some sets wait for the last of them, such as
// those of one tensor-parallel group.
type Within struct {
	Stage int
	Split int // in Steps.Splits
	Sets  [][]int
	ratio float64
}

// setsRatio is how much of the spread of exits may be left inside sets, as a part of what is
// expected where sets mean nothing.
const setsRatio = 0.5

// within finds the stages in which sets of ranks synchronise. Inside each set the slope is −1, but
// that holds too where all ranks synchronise. The exits tell the two apart. Where all synchronise,
// what is left of differences when they leave is noise of each rank's own. Where sets
// synchronise, a set leaves together, when its own last rank has come and its own transfer is
// done. Per step, with exits z as deviations from the mean over ranks and from the rank's own line,
// and z̄ the mean of the rank's set, the ratio is
//
//	Σ (z − z̄)² ÷ Σ z²
//
// and (R − sets)/(R − 1) is expected of it where the sets mean nothing. The interval of its median
// must lie below setsRatio of that. O(Looked · stages · ranks) for each split.
func within(c *Steps, open bool, g Gates) (out []Within) {
	R := c.Ranks
	best := make([]Within, len(c.Stages))
	for i, sets := range c.Splits {
		slopes, ratios := make([][]float64, len(c.Stages)), make([][]float64, len(c.Stages))
		expected := float64(R-len(sets)) / float64(R-1)
		for _, at := range c.stretches() {
			if n := at[1] - at[0]; n < 2 || open && n < 3 {
				continue
			}
			eachStage(c, at, open, func(k int, x, y []float64) {
				inX, inY := inside(x, R, sets), inside(y, R, sets)
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
			_, mid, high, ok := robust.MedianInterval(ratios[k], g.Confidence)
			if ok && high <= setsRatio && (best[k].Sets == nil || mid < best[k].ratio) {
				best[k] = Within{Stage: k, Split: i, Sets: sets, ratio: mid}
			}
		}
	}
	for _, w := range best {
		if w.Sets != nil {
			out = append(out, w)
		}
	}
	return out
}

// inside are values, [step][rank], less the mean of the rank's set.
func inside(v []float64, R int, sets [][]int) []float64 {
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
		var order []int // pieces in the order of time: those of the step before come first
		for _, tail := range []bool{true, false} {
			for k, piece := range d.Pieces {
				if piece.Point == p && piece.Tail == tail {
					order = append(order, k)
				}
			}
		}
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
