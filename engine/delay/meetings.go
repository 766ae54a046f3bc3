package delay

import "github.com/sfstat/sfstat/engine/claim"

// Where ranks meet in one step of several, an interval's times are those of its mean step: what a claim says of one holds of each, and what
// it says of how many, and of all, it says of so many times as many.

// eachStep returns claims of intervals of so many steps as claims of these steps.
func eachStep(list []claim.Claim, steps int) []claim.Claim {
	if steps <= 1 {
		return list
	}
	for i := range list {
		f := &list[i]
		at := &f.Steps
		f.Every = steps
		for k := range f.Parts {
			f.Parts[k].Charged *= int64(steps)
		}
		at.Count, at.Of, at.Period = at.Count*steps, at.Of*steps, at.Period*steps
		if at.First >= 0 {
			at.First -= steps - 1
		}
		var list []int
		for _, last := range at.List {
			for t := last - steps + 1; t <= last; t++ {
				list = append(list, t)
			}
		}
		at.List = list
	}
	return list
}
