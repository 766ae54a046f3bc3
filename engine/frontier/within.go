package frontier

import (
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// A stage may be a synchronisation point of some ranks only: those of one tensor-parallel
// group, say. Inside each set the slope is −1, but that holds too where all
// ranks synchronise. The exits tell the two apart. Where all synchronise, what is left of
// differences when they leave is noise of each rank's own. Where sets synchronise, a
// set leaves together, when its own last rank has come and its own transfer is
// done.
//
// Per step, with exits z as deviations from the mean over ranks and from the
// rank's own line, and z̄ the mean of the rank's set, the ratio is
//
//	Σ (z − z̄)² ÷ Σ z²
//
// and (R − sets)/(R − 1) is expected of it where the sets mean nothing. The
// interval of its median must lie below setsRatio of that.
const setsRatio = 0.5

// syncWithin finds the stages in which sets of ranks synchronise among themselves,
// for every way in which declared axes of the layout split the ranks, and
// marks their boundaries. O(T·S·R) time for each of at most 30 ways.
func syncWithin(v *view, boundaries []Boundary, g gates.Gates) {
	splits := trace.Splits(v.w.Ranks)
	if len(splits) == 0 {
		return
	}
	exits := make([][]float64, len(boundaries))
	best := make([]float64, len(boundaries))
	for _, split := range splits {
		among := &gathering{sets: split.Sets}
		for i, inside := range slopeBoundaries(v, g, among) {
			if !inside.Syncs {
				continue
			}
			if exits[i] == nil {
				exits[i], best[i] = exitsOf(v, i), setsRatio
			}
			if ratio, ok := exitRatio(exits[i], split.Sets, v.ranks(), g); ok && ratio < best[i] {
				best[i] = ratio
				boundaries[i].Syncs, boundaries[i].Within, boundaries[i].sets = false, split.Axes, split.Sets
			}
		}
	}
}

// exitsOf is when ranks leave a stage, [step][rank], as deviations from the
// step's mean and the rank's trend.
func exitsOf(v *view, stage int) []float64 {
	R := v.ranks()
	exit, end := make([]float64, v.steps*R), make([]int64, R)
	eachArrival(v, func(t, i int, prefix, d []int64) {
		if i != stage {
			return
		}
		for r, p := range prefix {
			end[r] = p + d[r]
		}
		center(exit[t*R:(t+1)*R], end)
	})
	detrend(exit, R)
	return exit
}

// exitRatio is the median over steps of how much of the exits' spread is left
// inside the sets, as a part of what is expected if they mean nothing; ok when
// its interval lies below setsRatio.
func exitRatio(exit []float64, sets [][]int, R int, g gates.Gates) (ratio float64, ok bool) {
	expected := float64(R-len(sets)) / float64(R-1)
	var ratios []float64
	for t := 0; t < len(exit); t += R {
		if within, all := spreadWithin(exit[t:t+R], sets); all > float64(R) {
			ratios = append(ratios, within/all/expected)
		}
	}
	_, mid, hi, found := robust.MedianInterval(ratios, g.SyncPoint.Confidence)
	return mid, found && hi <= setsRatio
}

// spreadWithin is the sum of squares about the sets' means, and about 0.
func spreadWithin(z []float64, sets [][]int) (within, all float64) {
	for _, set := range sets {
		mean := 0.0
		for _, r := range set {
			mean += z[r]
		}
		mean /= float64(len(set))
		for _, r := range set {
			within += (z[r] - mean) * (z[r] - mean)
			all += z[r] * z[r]
		}
	}
	return within, all
}

// detrend takes each rank's least-squares line over the steps out of y, [step][rank].
func detrend(y []float64, R int) {
	T := len(y) / R
	for r := range R {
		var l line
		for t := range T {
			l.add(float64(t), y[t*R+r])
		}
		l.fit(T)
		for t := range T {
			y[t*R+r] -= l.at0 + l.slope*float64(t)
		}
	}
}
