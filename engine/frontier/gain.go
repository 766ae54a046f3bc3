package frontier

import (
	"slices"
)

// base is what the durations of each row are clipped to: one value per row, or
// one per row and rank.
type base struct {
	perRow  []int64   // [row]
	perRank [][]int64 // [row][rank]; nil: perRow for all ranks
}

// savings finds, for every group of rows, how much shorter a course would be with
// the group clipped to its baseline (StageFrontier, section 4: G = (ΣF − ΣF′) ÷ ΣF,
// here the numerator).
//
// A clipped rank arrives earlier. Where ranks synchronise, only the last arrival
// counts: all that is saved is what the last arrival is earlier by, and from
// there on every rank is earlier by that.
//
// O(T·S·R) time over all groups, O(G·R) memory.
type savings struct {
	group []int // [row] → group
	base  base
	early [][]int64 // [group][rank]: how much earlier than recorded the rank is
	even  []bool    // [group]: early is the same for all ranks
}

func newSavings(v *view, b base) *savings {
	s := &savings{group: v.group, base: b, early: make([][]int64, len(v.groups)), even: make([]bool, len(v.groups))}
	for g := range s.early {
		s.early[g] = make([]int64, v.ranks())
		s.even[g] = true
	}
	return s
}

// induced is what clipping each group saves of a course, [group].
func (c *course) induced(b base) []int64 {
	v, s := c.v, newSavings(c.v, b)
	saved := make([]int64, len(v.groups))
	for t := range v.steps {
		for i := range v.order {
			if c.syncs[i] == nil {
				s.clip(i, v.row(t, i))
				continue
			}
			s.sync(c.arrivals(t, i), c.syncs[i])
			s.clip(i, c.productive(t, i))
		}
		if v.over(t) {
			s.end(c.end(t), saved)
		}
	}
	return saved
}

// static is what clipping each group saves of a view in which every later wait stays in
// place: the paper's gain, [group]. end is where the prefixes of each step end, [step][rank].
func (v *view) static(b base, end []int64) []int64 {
	R := v.ranks()
	saved := make([]int64, len(v.groups))
	if v.cut == CutCarried || len(v.groups) < len(v.order) || b.perRow == nil {
		s := newSavings(v, b)
		for t := range v.steps {
			for i := range v.order {
				s.clip(i, v.row(t, i))
			}
			if v.over(t) {
				s.end(end[t*R:(t+1)*R], saved)
			}
		}
		return saved
	}
	for t := range v.steps {
		x := end[t*R : (t+1)*R]
		last, second, at := topTwo(x)
		for i, b := range b.perRow {
			d := v.row(t, i)
			over := max(0, d[at]-b)
			if R > 1 && last-over < second { // another may be the last now
				over = last - latestClipped(x, d, b)
			}
			saved[v.group[i]] += over
		}
	}
	return saved
}

// latestClipped is the last of the ranks that reach x if what each spends in a row is
// clipped.
func latestClipped(x, d []int64, to int64) int64 {
	latest := int64(minInt64)
	d = d[:len(x)]
	for r, reached := range x {
		latest = max(latest, reached-max(0, d[r]-to))
	}
	return latest
}

func (s *savings) clip(i int, d []int64) {
	g := s.group[i]
	early := s.early[g]
	any := int64(0)
	if s.base.perRank == nil {
		b := s.base.perRow[i]
		for r, x := range d {
			over := max(0, x-b)
			early[r] += over
			any |= over
		}
	} else {
		for r, x := range d {
			over := max(0, x-s.base.perRank[i][r])
			early[r] += over
			any |= over
		}
	}
	if any != 0 {
		s.even[g] = false
	}
}

// sync is a synchronisation point at which the ranks arrive at x.
func (s *savings) sync(x []int64, at *gathering) {
	for g, early := range s.early {
		if s.even[g] {
			continue
		}
		for _, set := range at.sets {
			last, without := x[set[0]], x[set[0]]-early[set[0]]
			for _, r := range set {
				last, without = max(last, x[r]), max(without, x[r]-early[r])
			}
			for _, r := range set {
				early[r] = last - without
			}
		}
		s.even[g] = at.whole()
	}
}

// end is the end of a stretch in which prefixes are not reset: the ranks have reached x.
func (s *savings) end(x, saved []int64) {
	last := slices.Max(x)
	for g, early := range s.early {
		saved[g] += last - latestWithout(x, early)
		clear(early)
		s.even[g] = true
	}
}

// latestWithout is the last arrival when every rank is earlier by early.
func latestWithout(x, early []int64) int64 {
	last := x[0] - early[0]
	for r, reached := range x {
		last = max(last, reached-early[r])
	}
	return last
}
