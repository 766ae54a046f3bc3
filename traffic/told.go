package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Join says how calls of a rank were tied to its kernels.
type Join uint8

const (
	Unjoined    Join = iota // not at all: one side alone
	ByAlignment             // what fits best, in order (package align)
	ByNVTX                  // NCCL's own ranges in the export: the launch lies in the call's range
	ByNumber                // the dump of NCCL's Inspector is of the call, or numbers it
)

var joinNames = [...]string{"one side alone", "alignment", "NVTX ranges", "Inspector"}

func (j Join) String() string { return joinNames[min(j, ByNumber)] }

// tie is a call of the log and its kernel, as NVTX ranges tell.
type tie struct {
	call, kernel int
	sure         bool
}

// commKey is a communicator as the ranges of one process tell it: by its hash, or, where they have none, by the
// stream that its kernels run on.
type commKey struct {
	hash   uint64
	stream int64
}

// toldUnit is what a communicator launched at once, as ranges tell: indices of CommProcess.Calls.
type toldUnit struct {
	count int64 // launches before it in the recording
	calls []int
}

// told takes what NCCL's own ranges in exports tell of calls. Calls of a log are found among them by their count, and those that
// the log lacks are added to it; a process without a log gets one. What cannot be found with
// certainty is left to alignment.
func (a *assembly) told() {
	a.ties = map[int][]tie{}
	for i := range a.r.Ranks {
		a.r.Ranks[i].Logged = a.r.Ranks[i].Process != None
	}
	a.toldFrom, a.madeFrom = len(a.in.Log.Calls), len(a.in.Log.Communicators)
	if a.o.Scoring == ByName {
		return
	}
	own := *a.in.Log // the caller's stays as it is
	own.Files, own.Processes = slices.Clip(own.Files), slices.Clip(own.Processes)
	own.Communicators, own.Calls = slices.Clone(own.Communicators), slices.Clip(own.Calls)
	a.in.Log = &own
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		if k.Export == None {
			continue
		}
		p := &a.in.Exports[k.Export].Processes[k.Recorded]
		t := telling{a: a, rank: i, k: k, p: p, file: None, units: unitsOf(p), comms: map[commKey]int{}, shift: map[commKey]int64{}}
		switch {
		case !p.Payloads(): // names alone tell no more than the kernels'
		case k.Logged && a.isDump(k.Export):
			t.number()
		case k.Logged:
			t.join()
		default:
			t.adopt()
		}
	}
	a.r.Log = a.in.Log
	a.complete()
	a.level()
}

// unitsOf is the launches of every communicator. A group that launched nothing counts as none; one that launched
// several kernels counts as so many. Where ranges have no hash, the kernels of a stream are counted.
func unitsOf(p *nsight.CommProcess) map[commKey][]toldUnit {
	units := map[commKey][]toldUnit{}
	counts, on := map[commKey]int64{}, ordinals(p)
	for i := 0; i < len(p.Calls); {
		group := p.Calls[i].Group
		of := map[commKey][]int{}
		var order []commKey
		for ; i < len(p.Calls) && p.Calls[i].Group == group; i++ {
			key, ok := keyOf(p, &p.Calls[i])
			if !ok {
				continue
			}
			if of[key] == nil {
				order = append(order, key)
			}
			of[key] = append(of[key], i)
		}
		for _, key := range order {
			if key.hash == 0 {
				counts[key] = on[p.Calls[of[key][0]].Kernel]
			}
			if first := &p.Calls[of[key][0]]; first.Number >= 0 { // among those of its operation
				counts[key] = first.Number<<opBits | int64(first.Op)
			}
			units[key] = append(units[key], toldUnit{counts[key], of[key]})
			kernels := map[int]bool{}
			for _, c := range of[key] {
				if p.Calls[c].Kernel != nsight.None {
					kernels[p.Calls[c].Kernel] = true
				}
			}
			counts[key] += int64(len(kernels))
		}
	}
	return units
}

// opBits is what a count has room for operations in, where every operation is numbered by itself.
const opBits = 5

// ordinals is how many kernels of its stream ran before each.
func ordinals(p *nsight.CommProcess) []int64 {
	on, streams := make([]int64, len(p.Kernels)), map[int64]int64{}
	for i := range p.Kernels {
		if k := &p.Kernels[i]; !k.Replay {
			on[i] = streams[k.Stream]
			streams[k.Stream]++
		}
	}
	return on
}

// keyOf is the communicator of a call; ok is false where nothing tells.
func keyOf(p *nsight.CommProcess, c *nsight.CommCall) (key commKey, ok bool) {
	switch {
	case c.Comm != 0:
		return commKey{hash: c.Comm}, true
	case c.Kernel != nsight.None:
		return commKey{stream: p.Kernels[c.Kernel].Stream}, true
	}
	return commKey{}, false
}

// telling is one rank whose export tells of calls.
type telling struct {
	a     *assembly
	rank  int // index of Ranks
	k     *Rank
	p     *nsight.CommProcess
	file  int // of the export, in Log.Files; None until something is from there
	units map[commKey][]toldUnit
	comms map[commKey]int   // of the log's communicators
	shift map[commKey]int64 // of the log's count
	used  map[int]bool      // calls of the ranges that are calls of the log
}

// keys is the communicators, by their first call.
func (t *telling) keys() []commKey {
	var all []commKey
	for key := range t.units {
		all = append(all, key)
	}
	slices.SortFunc(all, func(x, y commKey) int { return cmp.Compare(t.units[x][0].calls[0], t.units[y][0].calls[0]) })
	return all
}

// init is what the ranges tell of the making of a communicator, nil where it was made before the recording.
func (t *telling) init(key commKey) *nsight.CommInit {
	for i := range t.p.Inits {
		if x := &t.p.Inits[i]; key.hash != 0 && x.Comm == key.hash {
			return x
		}
	}
	return nil
}

// adopt makes a log for a process that left none.
func (t *telling) adopt() {
	log := t.a.in.Log
	t.k.Process, t.k.Join = len(log.Processes), ByNVTX
	if t.a.isDump(t.k.Export) {
		t.k.Join = ByNumber
	}
	log.Processes = append(log.Processes, nccllog.Process{Host: t.k.Host, PID: t.k.PID, Clock: t.clock()})
	var all []lacking
	for _, key := range t.keys() {
		t.newComm(key)
		all = append(all, t.lacking(key)...)
	}
	t.append(all)
}

// lacking is a call that the log has not.
type lacking struct {
	key   commKey
	count int64
	call  int // of CommProcess.Calls
}

func (t *telling) lacking(key commKey) (list []lacking) {
	for _, u := range t.units[key] {
		for _, c := range u.calls {
			list = append(list, lacking{key, u.count + t.shift[key], c})
		}
	}
	return list
}

// append adds calls in the order in which they began.
func (t *telling) append(all []lacking) {
	slices.SortFunc(all, func(x, y lacking) int { return cmp.Compare(x.call, y.call) })
	for _, x := range all {
		t.tie(t.add(x.key, x.count, x.call), x.call)
	}
	t.order()
}

func (t *telling) clock() nccllog.Clock {
	if t.a.in.Exports[t.k.Export].Epoch > 0 && !t.a.r.Timeless {
		return nccllog.Epoch
	}
	return nccllog.NoClock
}

// newComm makes a communicator that no log tells of.
func (t *telling) newComm(key commKey) {
	log := t.a.in.Log
	c := nccllog.Communicator{Process: t.k.Process, Parent: nccllog.None, Inferred: true, File: t.source()}
	c.ID, c.Rank, c.Ranks, c.Split, c.NVMLDev = key.hash, -1, 0, -1, -1
	if x := t.init(key); x != nil && x.Ranks > 0 && x.Rank >= 0 && x.Rank < x.Ranks {
		c.Rank, c.Ranks = int32(x.Rank), int32(x.Ranks)
	} else if t.silent(key) {
		c.Rank, c.Ranks = 0, 1 // nothing is launched where there is one rank
	}
	t.comms[key] = len(log.Communicators)
	log.Communicators = append(log.Communicators, c)
	if t.init(key) == nil {
		t.a.adrift = append(t.a.adrift, len(log.Communicators)-1)
	}
}

// silent says whether no call of a communicator launched anything.
func (t *telling) silent(key commKey) bool {
	for _, u := range t.units[key] {
		for _, c := range u.calls {
			if t.p.Calls[c].Kernel != nsight.None {
				return false
			}
		}
	}
	return true
}

// source is the export among the log's files.
func (t *telling) source() int {
	if t.file != None {
		return t.file
	}
	log, export := t.a.in.Log, t.k.Export
	if at, ok := t.a.sourceOf[export]; ok {
		t.file = at
		return at
	}
	t.file = len(log.Files)
	log.Files = append(log.Files, t.a.in.Exports[export].Path)
	t.a.r.Sources = append(t.a.r.Sources, t.a.in.Names[export])
	t.a.sourceOf[export] = t.file
	return t.file
}

// add appends a call that the log lacks.
func (t *telling) add(key commKey, count int64, call int) int {
	log, x := t.a.in.Log, &t.p.Calls[call]
	comm := t.comms[key]
	c := nccllog.LoggedCall{Process: t.k.Process, Comm: comm, Tuning: nccllog.None, TID: x.Thread, Device: int32(t.k.Device), Time: x.Start,
		Clock: t.clock(), File: t.source(), Line: x.Row}
	c.Op, c.OpCount, c.Datatype, c.Reduction = x.Op, uint64(max(count, 0)), nccl.UnknownType, max(x.Reduction, 0)
	c.Count, c.Size, c.Root = uint64(max(x.Bytes, 0)), max(x.Bytes, 0), max(x.Root, 0)
	c.Call.Comm, c.Ranks = log.Communicators[comm].Pointer, log.Communicators[comm].Ranks
	if x.Kernel != nsight.None {
		k := &t.p.Kernels[x.Kernel]
		c.Stream = uint64(k.Stream)
		if size := k.Datatype.Size(); x.Op == k.Op && x.Op.Reduces() && size > 0 && c.Size%size == 0 {
			c.Datatype, c.Count, c.Size = k.Datatype, c.Count/uint64(size), 0
		}
	}
	log.Communicators[comm].Calls++
	log.Calls = append(log.Calls, c)
	t.k.Calls = append(t.k.Calls, len(log.Calls)-1)
	return len(log.Calls) - 1
}

// tie keeps the kernel of a call.
func (t *telling) tie(call, told int) {
	x := &t.p.Calls[told]
	t.at(call, x.Start)
	if x.Kernel != nsight.None {
		t.a.ties[t.rank] = append(t.a.ties[t.rank], tie{call, x.Kernel, x.Sure})
	}
}

// at keeps when a call of the log began on the export's clock.
func (t *telling) at(call int, start int64) {
	if t.a.began == nil {
		t.a.began = map[int]int64{}
	}
	t.a.began[call] = start
}

// order puts the rank's calls into the order of time, where it is known of all.
func (t *telling) order() {
	for _, c := range t.k.Calls {
		if _, ok := t.a.began[c]; !ok {
			return
		}
	}
	slices.SortStableFunc(t.k.Calls, func(x, y int) int { return cmp.Compare(t.a.began[x], t.a.began[y]) })
}

// complete fills in what no range tells of communicators: how many ranks they have, as many as are seen with the same
// hash, and which rank is whose.
func (a *assembly) complete() {
	log := a.in.Log
	byID := map[uint64][]int{}
	for i := range log.Communicators {
		if c := &log.Communicators[i]; c.ID != 0 {
			byID[c.ID] = append(byID[c.ID], i)
		}
	}
	for _, sides := range byID {
		completeOne(log, sides)
	}
	for i := a.toldFrom; i < len(log.Calls); i++ {
		log.Calls[i].Ranks = log.Communicators[log.Calls[i].Comm].Ranks
	}
}

func completeOne(log *nccllog.Log, sides []int) {
	size, taken := int32(0), map[int32]bool{}
	for _, s := range sides {
		c := &log.Communicators[s]
		size = max(size, c.Ranks)
		if c.Rank >= 0 {
			taken[c.Rank] = true
		}
	}
	size = max(size, int32(len(sides)))
	if size == 1 {
		return
	}
	next := int32(0)
	for _, s := range sides {
		c := &log.Communicators[s]
		if c.Rank >= 0 {
			continue
		}
		for taken[next] {
			next++
		}
		c.Rank, c.Ranks, taken[next] = next, size, true
	}
}
