package page

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
)

const (
	mostLanes = 32     // ranks of a drawn step
	mostSpans = 16_000 // of all steps, where every step is drawn
	mostSteps = 4      // of each reason, where not every step is
)

// drawing is a step that may be drawn: of which rank how much is late decides.
type drawing struct {
	step   int64
	row    int // of its window
	length int64
	lanes  []lane
	points []point
	late   int64 // of any rank
	held   int64 // by the first culprit of the window
}

type lane struct {
	rank  int // in the ranks of the run
	late  int64
	spans []span
}

type span struct {
	series         int
	from, busy, to int64
	queue          int // 1: not the main one
}

type point struct {
	at           int64
	series, rank int
}

// drawingOf returns a step of a window, without what is drawn of it.
func drawingOf(d *frontier.Detail, step int) drawing {
	late := d.Lateness(step)
	out := drawing{step: d.StepAt(step), row: step, length: d.Frontier(step, len(d.Boundaries)-1), late: slices.Max(late)}
	if len(d.Culprits) > 0 {
		if r := slices.Index(d.Ranks, d.Culprits[0].Rank()); r >= 0 {
			out.held = late[r]
		}
	}
	return out
}

// fill puts into a drawing what is drawn of its step. The series and ranks are those of the run;
// lanes are the positions, in the window, of the ranks to draw.
func (x *drawing) fill(d *frontier.Detail, w *windowPlaces, lanes []int) {
	step := x.row
	late := d.Lateness(step)
	for _, r := range lanes {
		x.lanes = append(x.lanes, lane{rank: w.ranks[r], late: late[r]})
	}
	for b := range d.Boundaries {
		series, spent, end, waits := w.stages[d.Stage[b]], d.DurationsAt(step, b), d.PrefixesAt(step, b), d.Waits(step, b)
		for i, r := range lanes {
			from := end[r] - spent[r]
			x.lanes[i].spans = append(x.lanes[i].spans, span{series: series, from: from, busy: from + waits[r], to: end[r]})
		}
		if slices.Max(waits) > 0 {
			last := 0
			for r := range spent {
				if end[r]-spent[r] > end[last]-spent[last] {
					last = r
				}
			}
			x.points = append(x.points, point{end[last] - spent[last], series, w.ranks[last]})
		}
	}
}

// lanesOf returns the ranks of a window to draw: those that others wait for, those
// that are latest in its steps, and others evenly taken. total is by how much each
// is late in all.
func lanesOf(d *frontier.Detail, total []int64) []int {
	R := len(d.Ranks)
	if R <= mostLanes {
		return sequence(R)
	}
	var out []int
	take := func(r int) {
		if r >= 0 && len(out) < mostLanes && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, c := range d.Culprits[:min(4, len(d.Culprits))] {
		take(slices.Index(d.Ranks, c.Rank()))
	}
	latest := sequence(R)
	slices.SortStableFunc(latest, func(a, b int) int { return cmp.Compare(total[b], total[a]) })
	for _, r := range latest[:mostLanes/4] {
		take(r)
	}
	for i := range mostLanes {
		take(i * R / mostLanes)
	}
	slices.Sort(out)
	return out
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// best keeps of the drawings those that are worth it: in which the culprits of
// their windows are latest, in which anybody is, and the usual one.
func best(all []drawing) []drawing {
	keep := make([]bool, len(all))
	order := sequence(len(all))
	for _, key := range []func(*drawing) int64{func(d *drawing) int64 { return d.held }, func(d *drawing) int64 { return d.late }} {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(&all[b]), key(&all[a])) })
		for _, i := range order[:min(mostSteps, len(order))] {
			keep[i] = true
		}
	}
	keep[usual(all)] = true
	var out []drawing
	for i, d := range all {
		if keep[i] {
			out = append(out, d)
		}
	}
	return out
}

// usual returns the step of median length.
func usual(all []drawing) int {
	order := sequence(len(all))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].length, all[b].length) })
	return order[(len(order)-1)/2]
}
