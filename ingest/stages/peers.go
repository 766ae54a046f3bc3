package stages

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Ranks whose roles differ in more than dp are no peers, since they may do
// other work: pipeline stages have other layers, and shards of a tensor other
// sizes. Most shards are equal, though, and then a shard that is slow stands
// out among the shards as a replica does among replicas. What is launched tells:
//
//   - ranks that differ along an axis alone must launch the same operators in
//     the same number, in every step that is used;
//   - where there are several such sets of ranks, their operators must not all
//     say the same difference: what takes a twentieth longer at the same place
//     of every set, in operators that are a tenth of the work, is the shard's
//     and not a rank's.
//
// Such an axis counts as dp. Along pp nobody is a peer: a stage of a pipeline
// is compared with the others as a group, and never by operator.

// byDesign is how much longer, as a factor, something must take at one place of
// every set, and ofWork the part of the work that this must hold for.
const (
	byDesign = 1.05
	ofWork   = 0.1
)

// settlePeers sets the roles that ranks are compared by.
func (c *converter) settlePeers() {
	c.roles = make([]trace.Role, len(c.ranks))
	for r, rank := range c.ranks {
		c.roles[r] = rank.Role
	}
	if slices.ContainsFunc(c.ranks, func(r *profile.Rank) bool { return r.Role == nil || r.OpsLost > 0 || r.TalliesLost }) {
		return
	}
	before, launched := len(c.notes), c.launchCounts()
	for _, coord := range c.ranks[0].Role {
		if coord.Axis != trace.DataParallel && coord.Axis != trace.PipelineParallel && c.isAlikeAlong(coord.Axis, launched) {
			c.mergeAxis(coord.Axis)
		}
	}
	c.merged = slices.Clone(c.notes[before:])
}

// counted is how often a rank launched an operator in a step, and for how long
// in all.
type counted struct {
	count int32
	ns    int64
}

type launchPlace struct {
	name  string
	stage int32
	step  int64
}

// launchCounts returns the launches of each rank in the steps that are used, without communication.
func (c *converter) launchCounts() []map[launchPlace]counted {
	out := make([]map[launchPlace]counted, len(c.ranks))
	for r, rank := range c.ranks {
		out[r] = make(map[launchPlace]counted)
		used := c.usedSteps(r)
		for _, t := range rank.Tallies {
			if used[t.Step] {
				p := launchPlace{rank.Names[t.Name], t.Stage, rank.Steps[t.Step].Index}
				have := out[r][p]
				out[r][p] = counted{have.count + t.Count, have.ns + t.Dur}
			}
		}
	}
	return out
}

// isAlikeAlong reports whether ranks that differ along an axis alone do the same
// work. O(launches).
func (c *converter) isAlikeAlong(axis string, launched []map[launchPlace]counted) bool {
	sets := c.setsAlong(axis)
	for _, set := range sets {
		for _, r := range set[1:] {
			if !maps.EqualFunc(launched[set[0]], launched[r], func(a, b counted) bool { return a.count == b.count }) {
				return false
			}
		}
	}
	return len(sets) > 0 && len(launched[sets[0][0]]) > 0 && !differByDesign(sets, launched)
}

// setsAlong returns the ranks, by position, that differ along an axis alone, each set in the order of the axis; nil where a
// place is empty or held twice.
func (c *converter) setsAlong(axis string) [][]int {
	at := make(map[string][]int)
	for r, role := range c.roles {
		at[dropAxis(role, axis).String()] = append(at[dropAxis(role, axis).String()], r)
	}
	var sets [][]int
	for _, key := range slices.Sorted(maps.Keys(at)) {
		set := at[key]
		slices.SortFunc(set, func(a, b int) int { return cmp.Compare(coordOf(c.roles[a], axis), coordOf(c.roles[b], axis)) })
		for i, r := range set {
			if coordOf(c.roles[r], axis) != i || len(set) < 2 {
				return nil
			}
		}
		sets = append(sets, set)
	}
	return sets
}

func coordOf(role trace.Role, axis string) int {
	at, _ := role.Coord(axis)
	return at
}

// dropAxis returns a role without its coordinates on an axis.
func dropAxis(role trace.Role, axis string) trace.Role {
	return slices.DeleteFunc(slices.Clone(role), func(c trace.Coord) bool { return c.Axis == axis })
}

// differByDesign reports whether, at one place of all of several sets, a good
// part of the work takes longer than at the place where it takes least.
func differByDesign(sets [][]int, launched []map[launchPlace]counted) bool {
	if len(sets) < 2 || slices.ContainsFunc(sets, func(s []int) bool { return len(s) != len(sets[0]) }) {
		return false
	}
	times := make([]map[string]int64, len(launched)) // by name
	total := int64(0)
	for r, all := range launched {
		times[r] = make(map[string]int64)
		for p, n := range all {
			times[r][p.name] += n.ns
			total += n.ns
		}
	}
	for place := range sets[0] {
		longer := int64(0)
		for name := range times[sets[0][0]] {
			all := int64(0) // at the place
			// It takes longer there in every set than where it takes least.
			if !slices.ContainsFunc(sets, func(set []int) bool {
				least, here := times[set[0]][name], times[set[place]][name]
				for _, r := range set {
					least = min(least, times[r][name])
				}
				all += here * int64(len(set))
				return float64(here) < byDesign*float64(least)
			}) {
				longer += all
			}
		}
		if float64(longer) >= ofWork*float64(total) {
			return true
		}
	}
	return false
}

// mergeAxis lets the ranks along an axis count as replicas.
func (c *converter) mergeAxis(axis string) {
	sizes := make(map[int]bool)
	for _, role := range c.roles {
		sizes[coordOf(role, axis)] = true
	}
	for r, role := range c.roles {
		replica := coordOf(role, trace.DataParallel)*len(sizes) + coordOf(role, axis)
		rest := dropAxis(dropAxis(role, axis), trace.DataParallel)
		merged, err := trace.NewRole(append(rest, trace.Coord{Axis: trace.DataParallel, Index: replica})...)
		if err != nil {
			return
		}
		c.roles[r] = merged
	}
	c.note(input.NoteRecorder, "ranks that differ in %s alone launch the same operators in the same number and count as replicas of each other: dp=%d·dp+%s", axis, len(sizes), axis)
}

// groupNumbers returns, by rank, the positions of their groups of peers among all, ordered by pipeline stage: operator traces
// tell groups apart by stage alone. several: some stage has more groups than one; else the numbers are stages.
func (c *converter) groupNumbers() (numbers []int, several bool) {
	type group struct {
		pp   int
		name string
	}
	of := make([]group, len(c.roles))
	stages := make(map[int]bool)
	for r, role := range c.roles {
		of[r] = group{coordOf(role, trace.PipelineParallel), role.Group()}
		stages[of[r].pp] = true
	}
	order := func(a, b group) int { return cmp.Or(cmp.Compare(a.pp, b.pp), cmp.Compare(a.name, b.name)) }
	groups := slices.Compact(slices.SortedFunc(slices.Values(of), order))
	several = len(groups) > len(stages)
	for _, g := range of {
		n := g.pp
		if several {
			n, _ = slices.BinarySearchFunc(groups, g, order)
		}
		numbers = append(numbers, n)
	}
	return numbers, several
}
