package profiler

import "container/heap"

// longestQueue is how long before it begins work is believed to be launched
// when nothing but its neighbour tells.
const longestQueue = 1_000_000

// eachByStart goes through all work by start, of equals in the order in which it
// came. What has no launch that is known was launched, on its queue, when its
// neighbour was, at the latest when it began. O(n log m) for m runs that
// overlap; an error is of the temporary file.
func (l *works) eachByStart(from *launches, do func(w *work)) error {
	latest := make([]int64, len(l.lanes)) // launch on each lane
	seen := make([]bool, len(l.lanes))
	return l.mergeRuns(func(w *work) {
		if w.unresolved {
			made, known := from.find(w.launch)
			switch {
			case known != nil:
				w.launch, w.thread = made.at, made.thread
			case seen[w.lane]:
				w.launch = min(w.start, max(latest[w.lane], w.start-longestQueue))
			default:
				w.launch = w.start
			}
		}
		latest[w.lane], seen[w.lane] = w.launch, true
		do(w)
	})
}

// mergeRuns reads the runs as one, by start. A run is opened when its turn comes, so
// that of runs that follow each other one or two are open.
func (l *works) mergeRuns(do func(w *work)) error {
	var open cursors
	for left := l.runs; len(left)+len(open) > 0; {
		for len(left) > 0 && (len(open) == 0 || left[0].first <= open[0].now.start) {
			c := left[0].cursor(l.store.name())
			left = left[1:]
			if _, err := c.next(); err != nil {
				return err
			}
			heap.Push(&open, c)
		}
		do(&open[0].now)
		switch more, err := open[0].next(); {
		case err != nil:
			return err
		case more:
			heap.Fix(&open, 0)
		default:
			heap.Pop(&open)
		}
	}
	return nil
}

// cursors is a heap by what comes next.
type cursors []*cursor

func (c cursors) Len() int { return len(c) }

func (c cursors) Less(i, j int) bool {
	return c[i].now.start < c[j].now.start || c[i].now.start == c[j].now.start && c[i].order < c[j].order
}

func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

func (c *cursors) Push(x any) { *c = append(*c, x.(*cursor)) }

func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
