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

	used   bool // a piece of device work belongs to it
	nested bool // it took in a call inside
}

// calls are the calls of a rank.
type calls []Call

// nest sorts the calls by start and lets a wrapper take in the first call
// inside it. No calls are added afterwards.
func (c *calls) nest() {
	slices.SortStableFunc(*c, func(x, y Call) int {
		return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	kept := (*c)[:0]
	for _, inner := range *c {
		if n := len(kept); n > 0 {
			out := &kept[n-1]
			inside := out.Thread == inner.Thread && inner.Start >= out.Start && inner.End <= out.End
			if inside && !out.nested {
				out.takeIn(&inner)
				continue
			}
			if inside && inner.Op.Message() && out.Op.OfMessages() {
				continue
			}
		}
		kept = append(kept, inner)
	}
	*c = kept
	slices.SortStableFunc(*c, func(x, y Call) int { return cmp.Compare(x.Start, y.Start) })
}

// takeIn fills in what the first call inside a call says besides.
func (c *Call) takeIn(inner *Call) {
	op := c.Op
	c.take(inner)
	c.Op, c.nested = op, true
	if c.Name == wrapper || !strings.Contains(c.Name, ":") && op == nccl.UnknownOp {
		c.Name, c.Op = inner.Name, inner.Op
	}
}

// mostNested is how many calls before the last one that began are looked at
// for one that is still under way.
const mostNested = 16

// callAt returns the call that was under way at a time, the one that began last; nil:
// none.
func (c calls) callAt(t int64) *Call {
	from := sort.Search(len(c), func(i int) bool { return c[i].Start > t })
	for i := from - 1; i >= 0 && i >= from-mostNested; i-- {
		if t <= c[i].End {
			return &c[i]
		}
	}
	return nil
}

// backend guesses the backend by the names of the calls.
func (c calls) backend() string {
	for i := range c {
		if isCall(c[i].Name) {
			backend, _, _ := strings.Cut(c[i].Name, ":")
			return backend
		}
	}
	return ""
}
