package nsight

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/trace/nccl"
)

// CommCall is one call of NCCL's API as its own NVTX range tells, and the kernel that ran
// it. The range is on the thread that launched, so nothing is guessed: the launch lies in the range of the call, or
// in that of the ncclGroupEnd that closed its group.
type CommCall struct {
	Op         nccl.Op
	Start, End int64 // on the host, nanoseconds on the session's clock
	Thread     int64
	Row        int64          // of NVTX_EVENTS
	Comm       uint64         // hash of the communicator, the log's commId; 0 before NCCL 2.25, or where the export has no payloads
	Bytes      int64          // count × size of the type, as the log counts; −1 where the export has no payloads
	Reduction  nccl.Reduction // −1 of what does not reduce
	Root       int64          // or the peer; −1 of what has none
	Number     int64          // of the call among those of its operation on the communicator, −1: not told
	Group      int            // calls with the same number were launched at once
	Kernel     int            // index of Kernels, None where none was launched in the range
	Sure       bool           // no other kernel can have run it
}

// None is the index of nothing.
const None = -1

// CommInit is the making of a communicator, as its NVTX range tells.
type CommInit struct {
	Comm  uint64 // hash
	Rank  int64  // of this process; −1 where the range does not say, as that of a split
	Ranks int64
}

// Payloads says whether the ranges of the process's calls have what NCCL attached to them.
func (p *CommProcess) Payloads() bool {
	return slices.ContainsFunc(p.Calls, func(c CommCall) bool { return c.Bytes >= 0 })
}

// tie finds the kernels of the calls. Kernels must be in their order.
func (p *CommProcess) tie(ranges []apiRange) {
	slices.SortStableFunc(ranges, func(a, b apiRange) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Row, b.Row)) })
	threads := map[int64]*thread{}
	var units []*unit
	for i := range ranges {
		a := &ranges[i]
		t := threads[a.Thread]
		if t == nil {
			t = &thread{}
			threads[a.Thread] = t
		}
		if u := t.take(p, a); u != nil {
			units = append(units, u)
		}
	}
	for i := range p.Kernels {
		if k := &p.Kernels[i]; k.HasLaunch && !k.Replay && threads[k.Thread] != nil {
			t := threads[k.Thread]
			t.launches = append(t.launches, i)
		}
	}
	for _, t := range threads {
		slices.SortStableFunc(t.launches, func(a, b int) int { return cmp.Compare(p.Kernels[a].Launch, p.Kernels[b].Launch) })
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return cmp.Compare(a.from, b.from) })
	for n, u := range units {
		u.kernels = threads[u.thread].within(p, u.from, u.to)
		for _, c := range u.calls {
			p.Calls[c].Group = n
		}
	}
	p.assign(units)
}

// thread is the calls of one thread that wait for the end of their group, and what it launched.
type thread struct {
	depth    int
	pending  []int // indices of Calls
	launches []int // of Kernels, by launch
}

// unit is what is launched at once: a call by itself, or a group, and its launches.
type unit struct {
	calls    []int
	thread   int64
	from, to int64
	kernels  []int
}

// take goes on to the next range of the thread; a unit where one is complete.
func (t *thread) take(p *CommProcess, a *apiRange) *unit {
	switch a.step {
	case opens:
		t.depth++
		return nil
	case closes:
		if t.depth > 0 {
			t.depth--
		}
		if t.depth > 0 || len(t.pending) == 0 {
			return nil
		}
		u := &unit{calls: t.pending, thread: a.Thread, from: a.Start, to: a.End}
		t.pending = nil
		return u
	case makes, parts:
		p.made(a)
		return nil
	case unsaid:
		return nil
	}
	p.Calls = append(p.Calls, a.CommCall)
	i := len(p.Calls) - 1
	if t.depth > 0 {
		t.pending = append(t.pending, i)
		return nil
	}
	return &unit{calls: []int{i}, thread: a.Thread, from: a.Start, to: a.End}
}

// within is the kernels that the thread launched between two times.
func (t *thread) within(p *CommProcess, from, to int64) []int {
	launch := func(i int) int64 { return p.Kernels[t.launches[i]].Launch }
	lo := sort.Search(len(t.launches), func(i int) bool { return launch(i) >= from })
	hi := sort.Search(len(t.launches), func(i int) bool { return launch(i) > to })
	return t.launches[lo:max(lo, hi)]
}

// assign gives every call its kernel. Where a group has several communicators, those decide whose streams are known
// from elsewhere.
func (p *CommProcess) assign(units []*unit) {
	owners := map[int64]map[uint64]bool{} // communicators that launched on a stream by themselves
	var mixed []*unit
	for _, u := range units {
		first := p.Calls[u.calls[0]].Comm
		if slices.ContainsFunc(u.calls, func(c int) bool { return p.Calls[c].Comm != first }) {
			mixed = append(mixed, u)
			continue
		}
		for _, k := range u.kernels {
			s := p.Kernels[k].Stream
			if owners[s] == nil {
				owners[s] = map[uint64]bool{}
			}
			owners[s][first] = true
		}
		p.share(u.calls, u.kernels)
	}
	for _, u := range mixed {
		p.part(u, owners)
	}
}

// part divides a group of several communicators among them.
func (p *CommProcess) part(u *unit, owners map[int64]map[uint64]bool) {
	calls, kernels := map[uint64][]int{}, map[uint64][]int{}
	var order []uint64
	for _, c := range u.calls {
		id := p.Calls[c].Comm
		if calls[id] == nil {
			order = append(order, id)
		}
		calls[id] = append(calls[id], c)
	}
	doubtful := false
	for _, k := range u.kernels {
		var can []uint64
		for _, id := range order {
			if slices.ContainsFunc(calls[id], func(c int) bool { return runs(p.Kernels[k].Op, p.Calls[c].Op) }) {
				can = append(can, id)
			}
		}
		if known := owners[p.Kernels[k].Stream]; len(can) > 1 && len(known) > 0 {
			can = slices.DeleteFunc(can, func(id uint64) bool { return !known[id] })
		}
		if len(can) == 1 {
			kernels[can[0]] = append(kernels[can[0]], k)
		} else {
			doubtful = true
		}
	}
	for _, id := range order {
		p.share(calls[id], kernels[id])
		for _, c := range calls[id] {
			p.Calls[c].Sure = p.Calls[c].Sure && !doubtful
		}
	}
}

// share gives the kernels of one communicator's group to its calls: sends and receives run in one, collectives in
// another. A group so large that it takes several, or of communicators that have no hash, leaves it open which ran
// what: as many kernels as calls go in their order then, and else the first stands for all.
func (p *CommProcess) share(calls, kernels []int) {
	for _, x := range [...]bool{false, true} {
		p.shareAlike(
			slices.DeleteFunc(slices.Clone(calls), func(c int) bool { return p.Calls[c].Op.PointToPoint() != x }),
			slices.DeleteFunc(slices.Clone(kernels), func(k int) bool { return p.Kernels[k].Op.PointToPoint() != x && p.Kernels[k].Op != nccl.Generic }))
	}
}

// shareAlike is share of what is all point to point, or all collective.
func (p *CommProcess) shareAlike(calls, kernels []int) {
	for i, c := range calls {
		x := &p.Calls[c]
		switch {
		case len(kernels) == 0 || x.Op.OneSided():
		case len(kernels) == len(calls):
			x.Kernel, x.Sure = kernels[i], len(kernels) == 1
		default:
			x.Kernel, x.Sure = kernels[0], len(kernels) == 1
		}
	}
}

// runs says whether a kernel of this name may have run a call: of a group of collectives the name is that of
// one of them.
func runs(kernel, call nccl.Op) bool {
	switch {
	case kernel == nccl.Generic || kernel == nccl.UnknownOp:
		return true
	case call.OneSided():
		return false
	}
	return call.PointToPoint() == kernel.PointToPoint()
}
