package profile

import (
	"cmp"
	"slices"
)

// categories fills the accounts of the steps, whose times ascend and do not
// overlap, and sorts the work. O(n log n) in the pieces of work.
func categories(steps []Step, works []work) {
	slices.SortFunc(works, func(x, y work) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end)) })
	var any, compute, communication, memory, blurred union
	for _, w := range works {
		any.add(w.start, w.end)
		switch w.kind {
		case Communication:
			communication.add(w.start, w.end)
		case Memory:
			memory.add(w.start, w.end)
		default:
			compute.add(w.start, w.end)
		}
		if gaps := w.end - w.start - w.busy; gaps > 0 {
			blurred = append(blurred, [2]int64{w.start, w.start + gaps})
		}
	}
	covered := both(communication, compute)
	for _, part := range [...]struct {
		of  union
		dst func(*Categories) *int64
	}{
		{compute, func(c *Categories) *int64 { return &c.Compute }},
		{communication, func(c *Categories) *int64 { return &c.Communication }},
		{memory, func(c *Categories) *int64 { return &c.Memory }},
		{any, func(c *Categories) *int64 { return &c.Idle }},
		{covered, func(c *Categories) *int64 { return &c.ExposedComm }},
		{blurred, func(c *Categories) *int64 { return &c.Blurred }},
	} {
		part.of.share(steps, part.dst)
	}
	any.extents(steps)
	for i := range steps {
		c := steps[i].Time
		c.Idle = c.End - c.Start - c.Idle
		c.ExposedComm = c.Communication - c.ExposedComm
	}
}

// union is a set of moments: intervals by start, apart from each other.
type union [][2]int64

// add takes intervals by start.
func (u *union) add(start, end int64) {
	if n := len(*u); n > 0 && start <= (*u)[n-1][1] {
		(*u)[n-1][1] = max((*u)[n-1][1], end)
		return
	}
	*u = append(*u, [2]int64{start, end})
}

// each needs the intervals by start only. It calls for every interval and every step that it touches, with what of
// it lies in the step.
func (u union) each(steps []Step, do func(c *Categories, start, end int64)) {
	first := 0
	for _, i := range u {
		for first < len(steps) && steps[first].Time.End <= i[0] {
			first++
		}
		for s := first; s < len(steps) && steps[s].Time.Start < i[1]; s++ {
			c := steps[s].Time
			if start, end := max(i[0], c.Start), min(i[1], c.End); start < end {
				do(c, start, end)
			}
		}
	}
}

// share adds to every step the length of what lies in it.
func (u union) share(steps []Step, dst func(*Categories) *int64) {
	u.each(steps, func(c *Categories, start, end int64) { *dst(c) += end - start })
}

// extents sets the first and the last moment of every step that is in the
// union.
func (u union) extents(steps []Step) {
	u.each(steps, func(c *Categories, start, end int64) {
		if c.First == c.Last {
			c.First = start
		}
		c.Last = end
	})
}

// both is what two unions share.
func both(a, b union) union {
	var out union
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if start, end := max(a[i][0], b[j][0]), min(a[i][1], b[j][1]); start < end {
			out = append(out, [2]int64{start, end})
		}
		if a[i][1] < b[j][1] {
			i++
		} else {
			j++
		}
	}
	return out
}
