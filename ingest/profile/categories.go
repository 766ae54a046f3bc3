package profile

import (
	"iter"
	"slices"
)

// categories fills the accounts of the steps, whose times touch and ascend.
// O(n log n) in the intervals.
func (o *occupied) categories(steps []Step) {
	for kind := range kinds {
		o.pack(kind, maxOccupied)
	}
	compute, communication, memory := o.of[Compute], o.of[Communication], o.of[Memory]
	share(steps, slices.Values(compute), func(c *Categories, ns int64) { c.Compute += ns })
	share(steps, slices.Values(communication), func(c *Categories, ns int64) { c.Communication += ns })
	share(steps, slices.Values(memory), func(c *Categories, ns int64) { c.Memory += ns })
	share(steps, either(compute, communication, memory), func(c *Categories, ns int64) { c.Idle -= ns })
	share(steps, both(communication, compute), func(c *Categories, ns int64) { c.ExposedComm -= ns })
	extents(steps, either(compute, communication, memory))
	o.blurredIn(steps)
	for i := range steps {
		c := steps[i].Time
		c.Idle += c.End - c.Start
		c.ExposedComm += c.Communication
	}
}

// inSteps calls for every interval, by start, and every step that it touches,
// with what of it lies in the step.
func inSteps(steps []Step, of iter.Seq[interval], do func(c *Categories, part interval)) {
	first := 0
	for i := range of {
		for first < len(steps) && steps[first].Time.End <= i.start {
			first++
		}
		for s := first; s < len(steps) && steps[s].Time.Start < i.end; s++ {
			c := steps[s].Time
			if part := (interval{max(i.start, c.Start), min(i.end, c.End)}); part.start < part.end {
				do(c, part)
			}
		}
	}
}

// share adds to every step the length of what lies in it.
func share(steps []Step, of iter.Seq[interval], add func(c *Categories, ns int64)) {
	inSteps(steps, of, func(c *Categories, part interval) { add(c, part.end-part.start) })
}

// extents sets the first and the last moment of every step in which something
// ran.
func extents(steps []Step, of iter.Seq[interval]) {
	inSteps(steps, of, func(c *Categories, part interval) {
		if c.First == c.Last {
			c.First = part.start
		}
		c.Last = part.end
	})
}

// blurredIn adds to every step the idle time that was taken for work.
func (o *occupied) blurredIn(steps []Step) {
	if len(steps) == 0 {
		return
	}
	for _, b := range o.blurs {
		s, found := slices.BinarySearchFunc(steps, b.at, func(s Step, at int64) int { return int(min(1, max(-1, s.Time.Start-at))) })
		if !found {
			s = max(0, s-1)
		}
		steps[s].Time.Blurred += b.ns
	}
}
