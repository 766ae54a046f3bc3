package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Detail is the account of one window before it is summed: the prefixes of all
// ranks at every boundary of every step (StageFrontier, section 3), in the cut
// that Analyze chose. T steps, B boundaries, R ranks. Times are nanoseconds
// since the step of the cut began.
type Detail struct {
	*Result
	Boundaries []string // the stage that ends there, in the order of the cut; accumulation unfolded
	Recorded   []int    // the boundaries in the order in which stages are recorded
	Stage      []int    // [boundary] index of Result.Stages
	Sync       int      // boundary at which the ranks synchronise; −1: not known
	Prefix     []int64  // [step][boundary][rank], rank fastest
	Durations  []int64  // the same shape: what the rank spent between the boundary before and this one
}

func (a *accounting) detail() *Detail {
	v := a.v
	B, R := len(v.order), v.ranks()
	d := &Detail{Result: a.r, Stage: v.group, Sync: -1, Prefix: make([]int64, 0, v.steps*B*R), Durations: make([]int64, 0, v.steps*B*R)}
	d.Recorded = make([]int, B)
	for i, at := range v.order {
		d.Recorded[at.stage] = i
		d.Boundaries = append(d.Boundaries, v.name(i))
		if at.stage == a.point.At {
			d.Sync = i
		}
	}
	first := int64(0)
	v.walk(func(i int, x, row []int64) {
		if i == 0 { // of a carried cut the step begins where the ranks are
			first = slices.Min(x)
		}
		addTo(x, row)
		for _, at := range x {
			d.Prefix = append(d.Prefix, at-first)
		}
		d.Durations = append(d.Durations, row...)
	}, nil)
	return d
}

// PrefixesAt returns the prefixes at a boundary of a step, [rank], aliasing the detail.
func (d *Detail) PrefixesAt(step, boundary int) []int64 { return d.cells(d.Prefix, step, boundary) }

// DurationsAt returns what the ranks spent before a boundary of a step, [rank], aliasing
// the detail.
func (d *Detail) DurationsAt(step, boundary int) []int64 { return d.cells(d.Durations, step, boundary) }

func (d *Detail) cells(of []int64, step, boundary int) []int64 {
	R := len(d.Ranks)
	at := (step*len(d.Boundaries) + boundary) * R
	return of[at : at+R]
}

// Frontier returns the latest prefix at a boundary of a step.
func (d *Detail) Frontier(step, boundary int) int64 { return slices.Max(d.PrefixesAt(step, boundary)) }

// Slack returns Σ_t F − P of each rank at a boundary, [rank]: for how long it was ahead of the last rank. O(T·R).
func (d *Detail) Slack(boundary int) []int64 {
	sums := make([]int64, len(d.Ranks))
	for t := range d.Steps {
		last := d.Frontier(t, boundary)
		for r, at := range d.PrefixesAt(t, boundary) {
			sums[r] += last - at
		}
	}
	return sums
}

// Lateness returns how far each rank is behind the median rank in a step where the ranks arrive at their synchronisation point,
// which is the boundary before the stage in which they synchronise; at the end of the step where none is known. It is 0 for
// ranks ahead of the median. O(R).
func (d *Detail) Lateness(step int) []int64 {
	at := len(d.Boundaries) - 1
	if d.Sync > 0 {
		at = d.Sync - 1
	}
	late := slices.Clone(d.PrefixesAt(step, at))
	median := robust.MedianTime(slices.Clone(late))
	for r := range late {
		late[r] = max(0, late[r]-median)
	}
	return late
}

// Waits returns how long each rank waited before a boundary of a step for the last one to arrive: 0 where the ranks do not
// synchronise in that stage. O(R).
func (d *Detail) Waits(step, boundary int) []int64 {
	spent, end := d.DurationsAt(step, boundary), d.PrefixesAt(step, boundary)
	waits := make([]int64, len(spent))
	if !d.Stages[d.Stage[boundary]].Syncs && boundary != d.Sync {
		return waits
	}
	last := int64(math.MinInt64)
	for r := range spent {
		last = max(last, end[r]-spent[r])
	}
	for r := range spent {
		waits[r] = min(max(0, last-(end[r]-spent[r])), spent[r])
	}
	return waits
}

// Advance returns the exposed time of a stage in a step: how far the frontier moves.
func (d *Detail) Advance(step, stage int) int64 {
	sum := int64(0)
	for b, of := range d.Stage {
		if of != stage {
			continue
		}
		sum += d.Frontier(step, b)
		if b > 0 {
			sum -= d.Frontier(step, b-1)
		}
	}
	return sum
}
