package trace

import (
	"slices"
)

// Align moves the starts so that the ranks' clocks agree at the moment when
// the last operator that all ranks take part in ended, in every step: it ends
// for all at once, whatever their clocks say. It returns the trace with its own
// column of starts, and by how much, at most, the clock of a rank was off in
// the median over the steps; a trace without such an operator is returned as it
// is.
//
// What ranks lose after that moment stays where it is: the reference is inside
// each step, before its end. O(n).
func (t *OpTrace) Align(g *Grid) (*OpTrace, int64) {
	var clip []int
	for i, in := range g.Instances {
		if in.Class == OptimizerClip {
			clip = append(clip, i)
		}
	}
	if len(clip) != g.Stages || len(t.Ranks) < 2 {
		return t, 0
	}
	lanes, W := g.Lanes(), len(g.Workers)
	ends := make([]int64, W)
	shift := make([]int64, W*len(g.Steps)) // [worker][step]
	for s := range g.Steps {
		for k, i := range clip {
			for d := range g.Replicas {
				row := g.At[i*lanes+s*g.Replicas+d]
				ends[k*g.Replicas+d] = t.Start[row] + t.Dur[row]
			}
		}
		sorted := slices.Sorted(slices.Values(ends))
		for w, end := range ends {
			shift[w*len(g.Steps)+s] = end - sorted[(W-1)/2]
		}
	}
	off, most := int64(0), slices.Max(shift)
	for w := range W {
		own := slices.Sorted(slices.Values(shift[w*len(g.Steps) : (w+1)*len(g.Steps)]))
		m := own[len(own)/2]
		off = max(off, m, -m)
	}
	if off == 0 {
		return t, 0
	}
	out := *t
	out.Start = slices.Clone(t.Start)
	for i, in := range g.Instances {
		for l := range lanes {
			row := g.At[i*lanes+l]
			w := int(in.Stage)*g.Replicas + l%g.Replicas
			out.Start[row] += most - shift[w*len(g.Steps)+l/g.Replicas]
		}
	}
	return &out, off
}
