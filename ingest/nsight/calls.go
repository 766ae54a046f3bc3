package nsight

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// call is one call of NCCL's API as its own NVTX range tells, and the kernel that ran
// it. The range is on the thread that launched, so nothing is guessed: the launch lies in the range of the call, or
// in that of the ncclGroupEnd that closed its group.
type call struct {
	comms.Call
	comm  uint64 // hash of the communicator, the log's commId; 0 before NCCL 2.25, or where the export has no payloads
	batch int    // calls with the same number were launched at once
}

// madeGroup is the making of a communicator, as its NVTX range tells.
type madeGroup struct {
	comm        uint64
	rank, ranks int64 // of this process; −1 where the range does not say, as that of a split
}

// tie finds the kernels of the calls. Kernels must be in their order.
func (p *commProcess) tie(ranges []apiRange) {
	slices.SortStableFunc(ranges, func(a, b apiRange) int { return cmp.Or(cmp.Compare(a.enter, b.enter), cmp.Compare(a.row, b.row)) })
	threads := map[int64]*thread{}
	var units []*unit
	p.calls = make([]call, 0, len(ranges))
	for i := range ranges {
		a := &ranges[i]
		t := threads[a.thread]
		if t == nil {
			t = &thread{}
			threads[a.thread] = t
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
		u.kernels = threads[u.thread].kernelsBetween(p, u.from, u.to)
		for _, c := range u.calls {
			p.calls[c].batch = n
		}
	}
	p.assign(units)
}

// thread is the calls of one thread that wait for the end of their group, and what it launched.
type thread struct {
	depth    int
	pending  []int // indices of calls
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
func (t *thread) take(p *commProcess, a *apiRange) *unit {
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
		u := &unit{calls: t.pending, thread: a.thread, from: a.enter, to: a.exit}
		t.pending = nil
		return u
	case makes, parts:
		p.keepMade(a)
		return nil
	case unsaid:
		return nil
	}
	p.calls = append(p.calls, a.call())
	i := len(p.calls) - 1
	if t.depth > 0 {
		t.pending = append(t.pending, i)
		return nil
	}
	return &unit{calls: []int{i}, thread: a.thread, from: a.enter, to: a.exit}
}

// kernelsBetween returns the kernels that the thread launched between two times.
func (t *thread) kernelsBetween(p *commProcess, from, to int64) []int {
	launch := func(i int) int64 { return p.Kernels[t.launches[i]].Launch }
	lo := sort.Search(len(t.launches), func(i int) bool { return launch(i) >= from })
	hi := sort.Search(len(t.launches), func(i int) bool { return launch(i) > to })
	return t.launches[lo:max(lo, hi)]
}

// assign gives every call its kernel. Where a group has several communicators, those decide whose streams are known
// from elsewhere.
func (p *commProcess) assign(units []*unit) {
	owners := map[int64]map[uint64]bool{} // communicators that launched on a stream by themselves
	var mixed []*unit
	for _, u := range units {
		first := p.calls[u.calls[0]].comm
		if slices.ContainsFunc(u.calls, func(c int) bool { return p.calls[c].comm != first }) {
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
func (p *commProcess) part(u *unit, owners map[int64]map[uint64]bool) {
	calls, kernels := map[uint64][]int{}, map[uint64][]int{}
	var order []uint64
	for _, c := range u.calls {
		id := p.calls[c].comm
		if calls[id] == nil {
			order = append(order, id)
		}
		calls[id] = append(calls[id], c)
	}
	doubtful := false
	for _, k := range u.kernels {
		var can []uint64
		for _, id := range order {
			if slices.ContainsFunc(calls[id], func(c int) bool { return runs(p.Kernels[k].Op, p.calls[c].Op) }) {
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
			p.calls[c].KernelSure = p.calls[c].KernelSure && !doubtful
		}
	}
}

// share gives the kernels of one communicator's group to its calls: sends and receives run in one, collectives in
// another. A group so large that it takes several, or of communicators that have no hash, leaves it open which ran
// what: as many kernels as calls go in their order then, and else the first stands for all.
func (p *commProcess) share(calls, kernels []int) {
	for _, x := range [...]bool{false, true} {
		p.shareAlike(
			slices.DeleteFunc(slices.Clone(calls), func(c int) bool { return p.calls[c].Op.PointToPoint() != x }),
			slices.DeleteFunc(slices.Clone(kernels), func(k int) bool { return p.Kernels[k].Op.PointToPoint() != x && p.Kernels[k].Op != nccl.Generic }))
	}
}

// shareAlike shares, as share does, what is all point to point, or all collective.
func (p *commProcess) shareAlike(calls, kernels []int) {
	for i, c := range calls {
		x := &p.calls[c]
		switch {
		case len(kernels) == 0 || x.Op.OneSided():
		case len(kernels) == len(calls):
			x.Kernel, x.KernelSure = kernels[i], len(kernels) == 1
		default:
			x.Kernel, x.KernelSure = kernels[0], len(kernels) == 1
		}
	}
}

// runs reports whether a kernel of this name may have run a call: of a group of collectives the name is that of
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
