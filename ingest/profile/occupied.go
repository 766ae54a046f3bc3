package profile

import (
	"cmp"
	"iter"
	"slices"
)

// interval is time from its first moment to its last, without that.
type interval struct{ start, end int64 }

// occupied is when work of each kind ran, from which the accounts of the steps
// are made: exact for far more work than is held otherwise.
type occupied struct {
	of    [kinds][]interval // as they came
	blurs []blur            // by kind and start
}

// blur is idle time that was taken for work, and where it began.
type blur struct {
	at, ns int64
	gaps   int
}

// maxOccupied is how many intervals of one kind are held, 67 MB; beyond, gaps
// are closed, the shortest first.
const maxOccupied = 1 << 22

// add notes work. O(1) on average, and O(log n) beyond the limit.
func (o *occupied) add(kind Kind, start, end int64) {
	list := &o.of[kind]
	if n := len(*list); n > 0 && start <= (*list)[n-1].end && end >= (*list)[n-1].start {
		last := &(*list)[n-1]
		last.start, last.end = min(last.start, start), max(last.end, end)
		return
	}
	if len(*list) >= maxOccupied {
		o.pack(kind, maxOccupied/2)
	}
	*list = append(*list, interval{start, end})
}

// pack sorts the intervals of a kind and joins those that touch, and neighbours
// over gaps that grow, until no more than most are left.
func (o *occupied) pack(kind Kind, most int) {
	list := o.of[kind]
	slices.SortFunc(list, func(x, y interval) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end)) })
	for gap := int64(0); ; gap = max(500, 2*gap) {
		if list = o.join(list, gap); len(list) <= most || gap > 1e18 {
			break
		}
	}
	o.of[kind] = list
}

// join joins intervals, by start, that are at most gap apart.
func (o *occupied) join(list []interval, gap int64) []interval {
	joined := list[:0]
	for _, i := range list {
		n := len(joined)
		if n == 0 || i.start-gap > joined[n-1].end {
			joined = append(joined, i)
			continue
		}
		last := &joined[n-1]
		if i.start > last.end {
			o.blur(last.end, i.start-last.end)
		}
		last.end = max(last.end, i.end)
	}
	return joined
}

// gapsPerBlur is how many neighbouring gaps are noted as one.
const gapsPerBlur = 64

func (o *occupied) blur(at, ns int64) {
	if n := len(o.blurs); n > 0 && o.blurs[n-1].gaps < gapsPerBlur && o.blurs[n-1].at <= at {
		o.blurs[n-1].ns += ns
		o.blurs[n-1].gaps++
		return
	}
	o.blurs = append(o.blurs, blur{at, ns, 1})
}

// either is the time in any of the lists, each by start and apart, as intervals
// by start and apart.
func either(lists ...[]interval) iter.Seq[interval] {
	return func(yield func(interval) bool) {
		at := make([]int, len(lists))
		var now interval
		begun := false
		for {
			first := -1
			for l := range lists {
				if at[l] < len(lists[l]) && (first < 0 || lists[l][at[l]].start < lists[first][at[first]].start) {
					first = l
				}
			}
			if first < 0 {
				break
			}
			next := lists[first][at[first]]
			at[first]++
			switch {
			case !begun:
				now, begun = next, true
			case next.start <= now.end:
				now.end = max(now.end, next.end)
			default:
				if !yield(now) {
					return
				}
				now = next
			}
		}
		if begun {
			yield(now)
		}
	}
}

// both is the time in both lists, each by start and apart.
func both(a, b []interval) iter.Seq[interval] {
	return func(yield func(interval) bool) {
		for i, j := 0, 0; i < len(a) && j < len(b); {
			if start, end := max(a[i].start, b[j].start), min(a[i].end, b[j].end); start < end && !yield(interval{start, end}) {
				return
			}
			if a[i].end < b[j].end {
				i++
			} else {
				j++
			}
		}
	}
}
