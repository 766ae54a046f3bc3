package sync

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// VisitWork calls f with the work of every entry of a place and its own delay, ns. Own delay is the excess over the
// lower median of the other members of the cohort. Members that come from calls of different groups have worked since
// different times. Their own delay is the least of three: the excess since the call before, the excess since the last
// call of all members, and the excess over ranks that left the same call for a call of the same kind. Their work is then
// the median plus own delay.
func (t *Waits) VisitWork(p *Place, f func(e Entry, work, own int64)) {
	b := works{left: map[int32][]int64{}}
	for _, c := range p.Cohorts {
		b.fill(t, p, c)
		for j, e := range c {
			f(e, b.work[j], b.own[j])
		}
	}
}

// works are the work and the own delay of the members of a cohort, ns.
type works struct {
	work, own, all, sorted []int64
	left                   map[int32][]int64 // [point] works of those who left it for a mixed place, ascending; none where one is alone
}

// fill computes the works of a cohort.
func (b *works) fill(t *Waits, p *Place, c Cohort) {
	b.work, b.own = b.work[:0], b.own[:0]
	for _, e := range c {
		b.work = append(b.work, t.WorkSince(e, p.Lag))
	}
	b.own = append(b.own, b.work...)
	subtractOthers(b.own, &b.sorted)
	if !p.Mixed || t.waits == nil {
		return
	}
	b.all = t.appendWorkSinceAll(c, p.Lag, b.all[:0])
	subtractOthers(b.all, &b.sorted)
	b.sorted = append(b.sorted[:0], b.work...)
	middle := median(b.sorted)
	for j, e := range c {
		work, lowered := b.work[j], false
		if len(b.all) > 0 {
			b.own[j], lowered = min(b.own[j], b.all[j]), true
		}
		if others := b.worksOfExits(t, e, p.Lag); len(others) > 1 {
			of, _ := robust.MiddlesWithout(others, work)
			b.own[j], lowered = min(b.own[j], work-of), true
		}
		if lowered {
			b.work[j] = middle + max(0, b.own[j])
		}
	}
}

// worksOfExits returns the works, ascending, of the ranks that leave the call before an entry for a call of the same
// kind.
func (b *works) worksOfExits(t *Waits, e Entry, lag int8) []int64 {
	s, p := t.siteAt(e), t.Of[e.Process][e.Call-1]
	if _, known := t.lagAfter[s]; !known {
		return nil
	}
	if out, known := b.left[p]; known {
		return out
	}
	var out []int64
	for _, o := range t.exitsFrom(p) {
		if t.siteAt(o) == s {
			out = append(out, t.WorkSince(o, lag))
		}
	}
	slices.Sort(out)
	b.left[p] = out
	return out
}

// subtractOthers replaces each value by its excess over the lower median of the others.
func subtractOthers(w []int64, scratch *[]int64) {
	*scratch = append((*scratch)[:0], w...)
	slices.Sort(*scratch)
	for j, x := range w {
		of, _ := robust.MiddlesWithout(*scratch, x)
		w[j] = x - of
	}
}

// maxCallsBack is how many calls back the last call of all members may be.
const maxCallsBack = 16

// appendWorkSinceAll appends the work of the members of a cohort since the last point that all of
// them entered; nothing where there is none.
func (t *Waits) appendWorkSinceAll(c Cohort, lag int8, dst []int64) []int64 {
	for back := int32(1); back <= min(maxCallsBack, c[0].Call); back++ {
		p := t.Of[c[0].Process][c[0].Call-back]
		for _, e := range c {
			sum := t.Work(e, t.LagOf(e, lag))
			i := e.Call - 1
			for ; i > max(0, e.Call-maxCallsBack) && t.Of[e.Process][i] != p; i-- {
				sum += t.Work(Entry{Process: e.Process, Call: i}, t.waits[e.Process][i])
			}
			if t.Of[e.Process][i] != p {
				dst = dst[:0]
				break
			}
			dst = append(dst, sum)
		}
		if len(dst) == len(c) {
			break
		}
	}
	return dst
}
