package volume

import (
	"math"
	"slices"
)

// Account is what one rank communicated beside what it should have.
type Account struct {
	Rank   int // index of the ranks of the job
	Stage  int64
	Bubble float64 // idle time of pipeline stages over computing, as the model's schedule has it
	Comparison
}

// Alike groups accounts, by index, whose rows are the same: what was logged
// within a thousandth of all that was expected, as on the ranks of one stage.
func Alike(all []Account) (groups [][]int) {
	for i := range all {
		at := slices.IndexFunc(groups, func(g []int) bool { return all[g[0]].alike(&all[i]) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

func (a *Account) alike(b *Account) bool {
	return slices.EqualFunc(a.Rows, b.Rows, func(x, y Row) bool {
		return x.Dimension == y.Dimension && x.Op == y.Op && x.Theory.Logged == y.Theory.Logged &&
			math.Abs(x.Observed.Logged-y.Observed.Logged) <= a.Theory.Logged/1000
	})
}
