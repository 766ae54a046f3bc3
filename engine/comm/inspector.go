package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// placeKernels takes the kernels of every process that a profiler saw. Beside exports of Nsight Systems, which have all kernels,
// what NCCL's Inspector dumped is left out.
//
// Where a dump lacks the times of kernels, a record has its duration, and when it was written, which is some time later. A collective ends on all
// its ranks at once, so that durations tell who arrived when: its end is put where the first rank wrote it, and what stands apart from
// other collectives is not believed (Result.Timeless).
func (r *Result) placeKernels() {
	c := r.Recorded
	r.kernels, r.profiled = make([][]comms.Kernel, len(c.Processes)), make([]bool, len(c.Processes))
	var dumped []int // processes of dumps
	for p := range c.Processes {
		switch r.kindOf(p) {
		case comms.SourceInspector:
			dumped = append(dumped, p)
		case comms.SourceNsight:
			r.kernels[p], r.profiled[p] = c.Processes[p].Kernels, true
		}
	}
	if len(dumped) == 0 {
		return
	}
	if r.Sources(comms.SourceNsight) > 0 {
		r.count(NoteDumpsUnused, r.Sources(comms.SourceInspector))
		return
	}
	for _, p := range dumped {
		r.kernels[p], r.profiled[p] = c.Processes[p].Kernels, true
		for i := range c.Processes[p].Kernels {
			r.Timeless = r.Timeless || !c.Processes[p].Kernels[i].HasSpan
		}
	}
	lost := int64(0)
	for _, p := range dumped {
		lost += max(c.Processes[p].Lost, 0)
	}
	if lost > 0 {
		r.note(Note{Kind: NoteDumpsDropped, N: lost})
	}
	records, numbers := 0, int64(0)
	for _, n := range r.seriesNumbers() {
		records, numbers = records+n.records, numbers+n.last-n.first+1
	}
	if r.Sampled = numbers > int64(records) || lost > 0; numbers > int64(records) {
		r.note(Note{Kind: NoteDumpsSampled, N: int64(records), Of: numbers})
	}
	if r.Timeless {
		r.placeByDuration()
		r.note(Note{Kind: NoteDumpsTimeless})
	}
}

// peerWaits notes the rank whose proxies waited least for others by RCCL's own account, if that is less than half
// of what the others did: who is waited for waits for nobody.
func (r *Result) peerWaits() {
	type wait struct {
		rank    int
		sum, of int64
	}
	var waits []wait
	for i := range r.Ranks {
		w := wait{rank: r.Ranks[i].Rank}
		for _, k := range r.Kernels(i) {
			if k.HasPeerWait {
				w.sum, w.of = w.sum+k.PeerWait, w.of+1
			}
		}
		if w.of > 0 {
			waits = append(waits, w)
		}
	}
	if len(waits) < 3 {
		return
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.sum*b.of, b.sum*a.of) })
	least, typical := waits[0], waits[len(waits)/2]
	if n, of := least.sum/least.of, typical.sum/typical.of; 2*n < of {
		r.note(Note{Kind: NotePeerWait, N: n, Of: of, Sets: [][]int{{least.rank}}})
	}
}

// isDump reports whether a process was seen by NCCL's Inspector.
func (r *Result) isDump(process int) bool { return r.kindOf(process) == comms.SourceInspector }

// series is the calls of one operation on one side of a communicator.
type series struct {
	group int // of Recorded.Groups
	op    nccl.Op
}

// numbers is what a dump has of a series.
type numbers struct {
	records     int
	first, last int64
}

// seriesNumbers returns the numbers of every series of the dumps.
func (r *Result) seriesNumbers() map[series]numbers {
	all := map[series]numbers{}
	for i := range r.Recorded.Calls {
		c := &r.Recorded.Calls[i]
		if !r.isDump(c.Process) {
			continue
		}
		n, known := all[series{c.Group, c.Op}]
		if !known || c.OpSeq < n.first {
			n.first = c.OpSeq
		}
		n.records, n.last = n.records+1, max(n.last, c.OpSeq)
		all[series{c.Group, c.Op}] = n
	}
	return all
}

// operation is one collective, or one side of a message, on all ranks.
type operation struct {
	id   uint64 // of the communicator
	op   nccl.Op
	seq  int64
	rank int // of a message; −1 of a collective
}

// placeByDuration puts the kernels of dumps without times where they must have run.
func (r *Result) placeByDuration() {
	c := r.Recorded
	ends := map[operation]int64{}
	of := func(x *comms.Call) operation {
		o := operation{c.Groups[x.Group].ID, x.Op, x.OpSeq, -1}
		if x.Peer >= 0 {
			o.rank = c.Groups[x.Group].Rank
		}
		return o
	}
	each := func(visit func(x *comms.Call)) {
		for i := range c.Calls {
			if x := &c.Calls[i]; r.isDump(x.Process) {
				visit(x)
			}
		}
	}
	each(func(x *comms.Call) {
		o, at := of(x), c.Processes[x.Process].Kernels[x.Kernel].Reported
		if end, ok := ends[o]; !ok || at < end {
			ends[o] = at
		}
	})
	placed := make([][]comms.Kernel, len(c.Processes))
	each(func(x *comms.Call) {
		k := c.Processes[x.Process].Kernels[x.Kernel]
		k.End = ends[of(x)]
		k.Start = k.End - k.Duration
		if placed[x.Process] == nil {
			placed[x.Process] = make([]comms.Kernel, len(c.Processes[x.Process].Kernels))
		}
		placed[x.Process][x.Kernel] = k
	})
	for p, kernels := range placed {
		if kernels != nil {
			r.kernels[p] = kernels
		}
	}
}
