package arrivals

import "slices"

// eachDelay calls f with the own delay of every entry: its work less the lower
// median of the others in its cohort. Members that come from calls of different groups
// have worked for different times since then; what is their own is late since the last
// call of all of them too.
func (t *timed) eachDelay(f func(p *place, cohort int, e entry, x int64)) {
	var w, all, sorted []int64
	for i := range t.places {
		p := &t.places[i]
		for k, c := range p.cohorts {
			w = w[:0]
			for _, e := range c {
				w = append(w, t.since(e, p.lag))
			}
			overOthers(w, &sorted)
			if p.mixed && t.waits != nil {
				all = t.sinceAll(c, p.lag, all[:0])
				overOthers(all, &sorted)
				for j, x := range all {
					w[j] = min(w[j], x)
				}
			}
			for j, e := range c {
				f(p, k, e, w[j])
			}
		}
	}
}

// overOthers makes of values how far each is above the lower median of the others.
func overOthers(w []int64, scratch *[]int64) {
	*scratch = append((*scratch)[:0], w...)
	slices.Sort(*scratch)
	for j, x := range w {
		w[j] = x - ofOthers(*scratch, x)
	}
}

// mostBack is how many calls back the last call of all members is looked for.
const mostBack = 16

// sinceAll appends the work of the members of a cohort since the last point that all of
// them entered; nothing where there is none.
func (t *timed) sinceAll(c cohort, lag int8, dst []int64) []int64 {
	for back := int32(1); back <= min(mostBack, c[0].call); back++ {
		p := t.of[c[0].rank][c[0].call-back]
		for _, e := range c {
			sum := t.work(e, lag)
			i := e.call - 1
			for ; i > max(0, e.call-mostBack) && t.of[e.rank][i] != p; i-- {
				sum += t.work(entry{e.rank, i}, t.waits[e.rank][i])
			}
			if t.of[e.rank][i] != p {
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

// ofOthers is the lower median of sorted without one value x of it.
func ofOthers(sorted []int64, x int64) int64 {
	h := (len(sorted) - 2) / 2
	if x <= sorted[h] {
		return sorted[h+1]
	}
	return sorted[h]
}
