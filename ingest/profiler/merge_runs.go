package profiler

// longestQueue is how long before it begins work is believed to be launched
// when nothing but its neighbour tells.
const longestQueue = 1_000_000

// inOrder goes through all work by start, of equals in the order in which it
// came. What has no launch that is known was launched, on its queue, when its
// neighbour was, at the latest when it began. O(n log m) for m runs that
// overlap; an error is of the temporary file.
func (l *works) inOrder(from *launches, do func(w *work)) error {
	latest := make([]int64, len(l.lanes)) // launch on each lane
	seen := make([]bool, len(l.lanes))
	m := merge{store: &l.store, left: l.runs}
	for {
		w, err := m.next()
		if w == nil {
			return err
		}
		if w.unresolved {
			made, known := from.find(w.launch)
			switch {
			case known != nil:
				w.launch = made.at
			case seen[w.lane]:
				w.launch = min(w.start, max(latest[w.lane], w.start-longestQueue))
			default:
				w.launch = w.start
			}
		}
		latest[w.lane], seen[w.lane] = w.launch, true
		do(w)
	}
}

// merge reads runs as one, by start. A run is opened when its turn comes, so
// that of runs that follow each other one or two are open.
type merge struct {
	store *spill
	left  []run     // that are not open, by first
	open  []*cursor // a heap by what comes next
	read  bool      // the first of open was handed out
}

// next is the next piece of work, valid until the next call; nil: the end, or
// an error.
func (m *merge) next() (*work, error) {
	if m.read {
		m.read = false
		ok, err := m.open[0].next(m.store)
		if err != nil {
			return nil, err
		}
		if !ok {
			last := len(m.open) - 1
			m.open[0] = m.open[last]
			m.open = m.open[:last]
		}
		m.sink()
	}
	for len(m.left) > 0 && (len(m.open) == 0 || m.left[0].first <= m.open[0].now.start) {
		c := &cursor{from: m.left[0]}
		m.left = m.left[1:]
		if _, err := c.next(m.store); err != nil {
			return nil, err
		}
		m.open = append(m.open, c)
		m.rise()
	}
	if len(m.open) == 0 {
		return nil, nil
	}
	m.read = true
	return &m.open[0].now, nil
}

func (c *cursor) before(o *cursor) bool {
	return c.now.start < o.now.start || c.now.start == o.now.start && c.from.order < o.from.order
}

// sink puts the first of the heap where it belongs.
func (m *merge) sink() {
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(m.open); k++ {
			if m.open[k].before(m.open[least]) {
				least = k
			}
		}
		if least == i {
			return
		}
		m.open[i], m.open[least] = m.open[least], m.open[i]
		i = least
	}
}

// rise puts the last of the heap where it belongs.
func (m *merge) rise() {
	for i := len(m.open) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.open[i].before(m.open[up]) {
			return
		}
		m.open[i], m.open[up] = m.open[up], m.open[i]
		i = up
	}
}
