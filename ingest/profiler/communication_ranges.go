package profiler

import (
	"sort"

	"github.com/sfstat/sfstat/trace/nccl"
)

// communicationRange is time in which a thread of the host called a collective or a transfer.
type communicationRange struct {
	start, end int64
	named      bool // a kernel that it launched communicates by its name
}

// communicationRanges are those of each thread, in none of which another lies, by start.
type communicationRanges map[uint16][]communicationRange

// communicationRanges returns the ranges in which the host called collectives: torch.distributed's wrappers and operators,
// backends' own and NCCL's, and ranges that other libraries and the program name as such. What they launch communicates whatever its kernels are called, unless a kernel among them does so by
// name: then the others prepare for it, such as copies into one tensor. A group of one rank moves nothing. O(n log n) for n calls.
func (b *Builder) communicationRanges() communicationRanges {
	all := make([]Call, 0, len(b.calls)+len(b.dispatched)+len(b.annotated))
	for _, from := range [...]calls{b.calls, b.dispatched} {
		for _, c := range from {
			if alone := c.Size == 1 || c.Ranks != nil && len(*c.Ranks) == 1; !alone && (c.Op != nccl.UnknownOp || c.Name == wrapper) {
				all = append(all, c)
			}
		}
	}
	all = append(all, b.annotated...)
	out := make(communicationRanges)
	for _, c := range outermostCalls(all) {
		if n, launches := b.threads[c.Thread]; launches {
			out[n] = append(out[n], communicationRange{start: c.Start, end: c.End})
		}
	}
	return out
}

// rangeOf returns the range in which a piece of work was launched; nil: in none.
func (r communicationRanges) rangeOf(w *work) *communicationRange {
	if w.thread == noThread {
		return nil
	}
	ranges := r[w.thread]
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].start > w.launch }) - 1
	if i < 0 || w.launch > ranges[i].end {
		return nil
	}
	return &ranges[i]
}

// markNamed notes that a kernel communicates by its name.
func (r communicationRanges) markNamed(w *work) {
	if c := r.rangeOf(w); c != nil {
		c.named = true
	}
}

// communicatesByRange reports whether a kernel communicates by the range in which it was launched, in which none does by its name.
func (r communicationRanges) communicatesByRange(w *work) bool {
	c := r.rangeOf(w)
	return c != nil && !c.named
}

// communicates counts a kernel as communication, of the call during which it was launched.
func (b *Builder) communicates(w *work) {
	w.kind = Communication
	if w.collective = b.deviceCollective(Work{Name: NameID(w.name), Start: w.start, End: w.end}); w.collective >= 0 {
		b.collectives[w.collective].launch = w.launch
	}
}
