package clock

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// AlignOperators moves the starts of an operator trace so that the ranks' clocks agree at the moment when
// the last operator that all ranks take part in ended, in every step: it ends
// for all at once, whatever their clocks say. It returns a trace with its own
// column of starts, and by how much, at most, the clock of a rank was off in
// the median over the steps.
//
// The other groups are the judge: where the ends of their members do not come
// at least twice as close to each other, the clocks were not what was off, and
// the trace is returned as it is with 0; so is one without such an operator or
// without other groups. The trace must be joined. O(n log n).
func AlignOperators(t *operator.Trace, g *operator.Grid) (*operator.Trace, int64) {
	var clip []int
	for i, in := range g.Instances {
		if in.Class == operator.OptimizerClip {
			clip = append(clip, i)
		}
	}
	if len(clip) != g.Stages || len(g.Workers) < 2 {
		return t, 0
	}
	shift := clipShift(t, g, clip) // [worker][step]
	if spread := slices.Max(shift) - slices.Min(shift); spread > mostApart {
		return t, 0
	}
	out := *t
	out.Start = slices.Clone(t.Start)
	most, lanes, steps := slices.Max(shift), g.Lanes(), len(g.Steps)
	for i, in := range g.Instances {
		for l, row := range g.At[i*lanes : (i+1)*lanes] {
			w := int(in.Stage)*g.Replicas + l%g.Replicas
			out.Start[row] += most - shift[w*steps+l/g.Replicas]
		}
	}
	before, judged := endSpread(t)
	if after, _ := endSpread(&out); !judged || 2*after >= before {
		return t, 0
	}
	off := int64(0)
	for w := range g.Workers {
		m := robust.Lower(shift[w*steps : (w+1)*steps])
		off = max(off, m, -m)
	}
	return &out, off
}

// mostApart is how far apart, in ns, clocks may be to be brought together (an
// hour): beyond, a time is wrong and not a clock.
const mostApart = 3_600_000_000_000

// clipShift returns the lead of every worker's clock over the middle one at the end of the operator of all workers,
// [worker][step].
func clipShift(t *operator.Trace, g *operator.Grid, clip []int) []int64 {
	lanes, steps := g.Lanes(), len(g.Steps)
	shift, ends := make([]int64, len(g.Workers)*steps), make([]int64, len(g.Workers))
	for s := range g.Steps {
		for k, i := range clip {
			for d := range g.Replicas {
				row := g.At[i*lanes+s*g.Replicas+d]
				ends[k*g.Replicas+d] = t.Start[row] + t.Dur[row]
			}
		}
		m := robust.Lower(slices.Clone(ends))
		for w, end := range ends {
			shift[w*steps+s] = end - m
		}
	}
	return shift
}

// endSpread returns the median spread of ends over the groups that clocks are not aligned by; false without any.
func endSpread(t *operator.Trace) (int64, bool) {
	n := int(slices.Max(append([]int32{-1}, t.Group...))) + 1
	first, last := slices.Repeat([]int64{trace.MaxTotal}, n), make([]int64, n)
	members := make([]int32, n)
	classes := make([]operator.Class, len(t.Names))
	for i, name := range t.Names {
		classes[i] = operator.ParseClass(name)
	}
	for row, group := range t.Group {
		if group >= 0 && classes[t.Name[row]] != operator.OptimizerClip {
			end := t.Start[row] + t.Dur[row]
			first[group], last[group] = min(first[group], end), max(last[group], end)
			members[group]++
		}
	}
	var spreads []int64
	for k, m := range members {
		if m > 1 {
			spreads = append(spreads, last[k]-first[k])
		}
	}
	if len(spreads) == 0 {
		return 0, false
	}
	return robust.Lower(spreads), true
}
