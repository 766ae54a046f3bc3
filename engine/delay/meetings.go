package delay

import "github.com/sfstat/sfstat/engine/claim"

// scaleToSteps changes claims about intervals of several steps into claims about steps and returns them. Times of an interval are means per step,
// so sizes stay; counts of steps and sums over the run grow with the number of steps.
func scaleToSteps(list []claim.Claim, steps int) []claim.Claim {
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
