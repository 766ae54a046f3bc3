package align

import (
	"cmp"
	"maps"
	"slices"
)

const (
	maxLag     = 4096 // launches after which a communicator may repeat itself
	manyLags   = 16   // that are tried
	likeness   = 6    // neighbours on either side that must be alike
	leastAlike = 3    // … of which so many must be known
	unknown    = -1
)

// guessed is the class of every launch; those that the log lost have the class of launches of the same
// communicator that have the same neighbours, one period before or behind, and unknown if there are none.
func (e *evidence) guessed() []int {
	of := slices.Clone(e.rowKinds)
	byComm := map[int][]int{}
	for i, l := range e.launches {
		byComm[l.Comm] = append(byComm[l.Comm], i)
		if l.Lead < 0 {
			of[i] = unknown
		}
	}
	for _, c := range slices.Sorted(maps.Keys(byComm)) {
		rows := byComm[c]
		labels := make([]int, len(rows))
		for k, i := range rows {
			labels[k] = of[i]
		}
		if !slices.Contains(labels, unknown) {
			continue
		}
		lags := periods(labels)
		for k, i := range rows {
			if labels[k] == unknown {
				of[i] = alike(labels, lags, k)
			}
		}
	}
	return of
}

// periods finds the distances at which most is alike, the best first.
func periods(labels []int) []int {
	type lag struct {
		by   int
		like float64
	}
	var lags []lag
	for by := 1; by <= min(maxLag, len(labels)-1); by++ {
		same, known := 0, 0
		for k := by; k < len(labels); k++ {
			if a, b := labels[k], labels[k-by]; a != unknown && b != unknown {
				known++
				if a == b {
					same++
				}
			}
		}
		if known > leastAlike {
			lags = append(lags, lag{by, float64(same) / float64(known+1)})
		}
	}
	slices.SortStableFunc(lags, func(a, b lag) int { return cmp.Compare(b.like, a.like) })
	var best []int
	for _, l := range lags[:min(len(lags), manyLags)] {
		best = append(best, l.by)
	}
	return best
}

// alike is the label of the place whose neighbours are those of k, all of them as far as they are known.
func alike(labels []int, lags []int, k int) int {
	best, most := unknown, leastAlike-1
	for _, lag := range lags {
		for _, other := range [...]int{k - lag, k + lag} {
			if other < 0 || other >= len(labels) || labels[other] == unknown {
				continue
			}
			if n := neighbours(labels, k, other); n > most {
				best, most = labels[other], n
			}
		}
	}
	return best
}

// neighbours counts those that two places have in common, 0 if one differs.
func neighbours(labels []int, a, b int) (n int) {
	for d := -likeness; d <= likeness; d++ {
		if d == 0 || min(a, b)+d < 0 || max(a, b)+d >= len(labels) {
			continue
		}
		x, y := labels[a+d], labels[b+d]
		switch {
		case x == unknown || y == unknown:
		case x == y:
			n++
		default:
			return 0
		}
	}
	return n
}
