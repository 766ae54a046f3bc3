package charts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// What a timeline shows at most: that many ranks, and of each that many kernels.
const (
	mostRanks   = 8
	mostKernels = 120
)

// clip is the part of a recording that a timeline shows, on the clock of the first rank, nanoseconds.
type clip struct {
	r        *comm.Result
	ranks    []int // indices of Ranks
	from, to int64
	ops      []nccl.Op        // series
	begins   map[[2]int]int64 // of rank and kernel: when the last rank of it had come
	kinds    map[[2]int]parallel.Kind
}

// timeline returns the end of a step in the middle of the recording, or of all of it: for each rank a lane of all operations, and one for
// each kind of parallelism. An operation is paler until its last rank has come.
func timeline(r *comm.Result) plots.Timeline {
	c := &clip{r: r, begins: map[[2]int]int64{}, kinds: map[[2]int]parallel.Kind{}}
	for i := range r.Ranks {
		if _, known := r.FirstClockTime(i, 0); known && len(c.ranks) < mostRanks {
			c.ranks = append(c.ranks, i)
		}
	}
	c.choose()
	c.learn()
	t := plots.Timeline{X: plots.Axis{Name: "time", Unit: "ms", To: float64(c.to-c.from) / 1e6}, Waits: "waiting for others"}
	for _, op := range c.ops {
		t.Series = append(t.Series, op.String())
	}
	for _, i := range c.ranks {
		t.Tracks = append(t.Tracks, c.track(i))
	}
	return t
}

func (c *clip) time(i int, t int64) int64 {
	at, _ := c.r.FirstClockTime(i, t)
	return at
}

// choose takes the middle one of the steps of a rank, else all.
func (c *clip) choose() {
	c.from, c.to = 1<<63-1, -1<<63
	for _, i := range c.ranks {
		if steps := slices.Clone(c.r.ProfiledProcess(i).Steps); len(steps) > 0 {
			slices.SortFunc(steps, func(a, b comms.Span) int { return cmp.Compare(a.Start, b.Start) })
			s := steps[len(steps)/2]
			c.from, c.to = c.time(i, s.Start), c.time(i, s.End)
			break
		}
		for _, k := range c.r.Kernels(i) {
			c.from, c.to = min(c.from, c.time(i, k.Start)), max(c.to, c.time(i, k.End))
		}
	}
	c.shorten()
}

// shorten leaves the end of the step, where gradients are reduced: as much of it as has not too many kernels, and nothing
// before the first.
func (c *clip) shorten() {
	first, last := int64(1<<63-1), int64(-1<<63)
	for _, i := range c.ranks {
		n := 0
		for _, k := range slices.Backward(c.r.Kernels(i)) {
			start, end := c.time(i, k.Start), c.time(i, k.End)
			if end < c.from || start > c.to {
				continue
			}
			first, last = min(first, start), max(last, end)
			if n++; n == mostKernels {
				c.from = max(c.from, start)
			}
		}
	}
	if first > last {
		return
	}
	from, to := max(first, c.from), min(last, c.to)
	margin := (to - from) / 100
	c.from, c.to = from-margin, to+margin
}

// isInView reports whether a kernel of a rank is in the clip.
func (c *clip) isInView(i int, k *comms.Kernel) bool {
	return c.time(i, k.End) > c.from && c.time(i, k.Start) < c.to
}

// learn finds what the kernels in view were for, and the operations, the most frequent first.
func (c *clip) learn() {
	for x := range c.r.CollectivesAndMessages() {
		for _, p := range x.Parts { // one kernel may send to several and receive from several
			at := [2]int{p.Rank, p.Kernel}
			if begin, seen := c.begins[at]; !seen || x.Begin > begin {
				c.begins[at] = x.Begin
			}
		}
	}
	for _, m := range c.r.Matches {
		if g, ok := c.r.CommunicatorOf(m.Call); ok {
			c.kinds[[2]int{m.Rank, m.Kernel}] = c.r.Communicators[g].Kind
		}
	}
	uses := map[nccl.Op]int{}
	for _, i := range c.ranks {
		for _, k := range c.r.Kernels(i) {
			if c.isInView(i, &k) {
				uses[k.Op]++
			}
		}
	}
	for op := range uses {
		c.ops = append(c.ops, op)
	}
	slices.SortFunc(c.ops, func(a, b nccl.Op) int { return cmp.Or(cmp.Compare(uses[b], uses[a]), cmp.Compare(a, b)) })
	c.ops = c.ops[:min(len(c.ops), mostOps+1)]
}

// track returns the lanes of a rank.
func (c *clip) track(i int) []plots.Lane {
	track := []plots.Lane{{Name: fmt.Sprintf("rank %d", c.r.Ranks[i].Rank)}}
	lanes := map[parallel.Kind][]plots.Span{}
	for n, k := range c.r.Kernels(i) {
		series := slices.Index(c.ops, k.Op)
		if series < 0 || !c.isInView(i, &k) {
			continue
		}
		at := [2]int{i, n}
		start, end := c.time(i, k.Start), c.time(i, k.End)
		busy := start
		if begin, known := c.begins[at]; known {
			busy = min(max(begin, start), end)
		}
		s := plots.Span{From: c.ms(start), Busy: c.ms(busy), To: c.ms(end), Series: series}
		track[0].Spans = append(track[0].Spans, s)
		if kind := c.kinds[at]; kind != parallel.UnknownKind {
			lanes[kind] = append(lanes[kind], s)
		}
	}
	for kind := parallel.UnknownKind + 1; kind <= parallel.ContextParallel; kind++ {
		if len(lanes[kind]) > 0 {
			track = append(track, plots.Lane{Name: kind.String(), Spans: lanes[kind]})
		}
	}
	return track
}

func (c *clip) ms(t int64) float64 { return float64(t-c.from) / 1e6 }
