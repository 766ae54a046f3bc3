package trace

import (
	"slices"
	"strings"
)

// Split is a way to put ranks in sets: those of a set differ in some axes of the layout only.
type Split struct {
	Axes  string   // joined with commas
	Sets  [][]int  // positions of ranks
	Names []string // of the sets: the coordinates that their ranks share
}

// Splits lists the ways that declared roles give: for every choice of some but not all axes, the
// sets of ranks that agree on the others. Sets of one rank, or one set of all, are no split. At most
// 30, of five axes (dp, pp, tp, ep and cp).
func Splits(ranks []Rank) []Split {
	const most = 5
	var axes []string
	for _, c := range ranks[0].Role {
		axes = append(axes, c.Axis)
	}
	if len(axes) < 2 || len(axes) > most {
		return nil
	}
	var out []Split
	for chosen := 1; chosen < 1<<len(axes)-1; chosen++ {
		var names []string
		for i, a := range axes {
			if chosen>>i&1 == 1 {
				names = append(names, a)
			}
		}
		s := Split{Axes: strings.Join(names, ",")}
		at := map[string]int{}
		for r, rank := range ranks {
			rest := slices.DeleteFunc(slices.Clone(rank.Role), func(c Coord) bool { return slices.Contains(names, c.Axis) })
			key := rest.String()
			i, ok := at[key]
			if !ok {
				i = len(s.Sets)
				at[key] = i
				s.Sets, s.Names = append(s.Sets, nil), append(s.Names, key)
			}
			s.Sets[i] = append(s.Sets[i], r)
		}
		if len(s.Sets) > 1 && !slices.ContainsFunc(s.Sets, func(set []int) bool { return len(set) < 2 }) {
			out = append(out, s)
		}
	}
	return out
}
