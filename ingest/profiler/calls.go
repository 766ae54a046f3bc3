package profiler

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Call is a collective or a transfer as the host called it. What is not known
// is "", nil, 0, and −1 for Seq, Bytes, Self and Peer; Op is read from the name, and
// Peer where that has it.
type Call struct {
	Name       string
	Op         nccl.Op
	Thread     int64
	Start, End int64
	Group      string
	Desc       string
	Ranks      *[]int // shared by the calls of a group
	Size       int
	Seq        int64
	Bytes      int64 // that the caller hands in
	Self, Peer int   // of a send or receive: the other's rank in the job, or where Self is told both are ranks of the group
}

// calls are the calls of a rank. There may be hundreds of thousands, which say
// the same again and again but for when, and how much.
type calls struct {
	all  []call
	said []Call // once each, without what call has
	at   map[Call]int32
}

// call is a call, in a third of the memory.
type call struct {
	start, end int64
	thread     int64
	seq, bytes int64
	said       int32 // position in calls.said
	used       bool  // a piece of device work belongs to it
	nested     bool  // it took in a call inside
}

// add adds a call.
func (c *calls) add(from Call) { c.all = append(c.all, c.short(from)) }

// short keeps what a call says.
func (c *calls) short(from Call) call {
	one := call{start: from.Start, end: from.End, thread: from.Thread, seq: from.Seq, bytes: from.Bytes}
	from.Start, from.End, from.Thread, from.Seq, from.Bytes = 0, 0, 0, 0, 0
	at, ok := c.at[from]
	if !ok {
		if c.at == nil {
			c.at = make(map[Call]int32)
		}
		at = int32(len(c.said))
		c.at[from] = at
		c.said = append(c.said, from)
	}
	one.said = at
	return one
}

// full is a call as it was added.
func (c *calls) full(of *call) Call {
	out := c.said[of.said]
	out.Start, out.End, out.Thread, out.Seq, out.Bytes = of.start, of.end, of.thread, of.seq, of.bytes
	return out
}

func (c *calls) name(of *call) string { return c.said[of.said].Name }

// nest sorts the calls by start and lets a wrapper take in the first call
// inside it. No calls are added afterwards.
func (c *calls) nest() {
	slices.SortStableFunc(c.all, func(x, y call) int {
		return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end))
	})
	kept := c.all[:0]
	for _, inner := range c.all {
		if n := len(kept); n > 0 {
			out := &kept[n-1]
			inside := out.thread == inner.thread && inner.start >= out.start && inner.end <= out.end
			if inside && !out.nested {
				*out = c.takeIn(out, &inner)
				continue
			}
			if inside && c.said[inner.said].Op.Message() && c.said[out.said].Op.OfMessages() {
				continue
			}
		}
		kept = append(kept, inner)
	}
	c.all = kept
	slices.SortStableFunc(c.all, func(x, y call) int { return cmp.Compare(x.start, y.start) })
}

// takeIn is a call with what the one inside it says besides.
func (c *calls) takeIn(outer, inner *call) call {
	out, in := c.full(outer), c.full(inner)
	op := out.Op
	out.take(&in)
	out.Op = op
	if out.Name == wrapper || !strings.Contains(out.Name, ":") && op == nccl.UnknownOp {
		out.Name, out.Op = in.Name, in.Op
	}
	short := c.short(out)
	short.nested = true
	return short
}

// mostNested is how many calls before the last one that began are looked at
// for one that is still under way.
const mostNested = 16

// under is the call that was under way at a time, the one that began last; nil:
// none.
func (c *calls) under(t int64) *call {
	from := sort.Search(len(c.all), func(i int) bool { return c.all[i].start > t })
	for i := from - 1; i >= 0 && i >= from-mostNested; i-- {
		if t <= c.all[i].end {
			return &c.all[i]
		}
	}
	return nil
}

// backend guesses the backend by the names of the calls.
func (c *calls) backend() string {
	for i := range c.all {
		if name := c.name(&c.all[i]); isCall(name) {
			backend, _, _ := strings.Cut(name, ":")
			return backend
		}
	}
	return ""
}
