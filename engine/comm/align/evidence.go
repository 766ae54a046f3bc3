package align

import (
	"math"
	"sort"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// What agreement and disagreement are worth, in tenths of a nat: how much more likely the pair is, by that, if it is true. A pair
// whose operations cannot be the same is Never.
const (
	maybe         = 10  // every pair that may be
	typeAgrees    = 6   // element types; where they disagree it is less wrong
	algoAgrees    = 8   // the tuning line's, where it is one that kernels name
	gridAgrees    = 12  // grid and the tuning line's channels
	wrong         = 40  // a pair that cannot be by one of them
	mostLearned   = 40  // most that a shape is worth which calls of this kind had elsewhere
	onTime        = 40  // launch right when it was due
	mostLate      = 110 // most that is taken off for another time
	mostHeld      = 20  // … where it is before the thread's next call: the host was held up
	ghost         = 5   // a launch that the log lost, with any kernel
	certainMargin = 50  // 5 nats: without the pair an alignment is 148 times less likely
	alone         = 25  // taken off for a call, or a kernel, without partner
	rounds        = 3   // of learning
)

// Options say what is looked at. The zero value looks at all that both sides know.
type Options struct {
	Clockless bool // neither stamps nor launches are
}

// clocks is what links the stamp of a call to the launch of its kernel.
type clocks struct {
	use    bool
	offset int64 // launch less stamp of a true pair, usually
	spread int64 // of that: the scale of a Laplace distribution

	threads bool // both sides number threads alike

	queued  bool  // starts stand in for launches, which were not recorded
	longest int64 // … that a kernel was queued, as far as known; 0: not known yet
}

// reach is how far from the usual a launch may be, when nothing else bounds it.
const reach = 3_000_000 // 3 ms

// maxTable bounds the entries of the table of classes and shapes: there are some dozens of
// each.
const maxTable = 1 << 24

// evidence scores launches against kernels of one stream.
type evidence struct {
	calls    []*comms.Call
	launches []*Launch
	kernels  []*comms.Kernel
	clock    clocks

	kinds    []int // of each kernel
	shapes   []shape
	rowKinds []int // of each launch
	classes  []class
	table    [][]int32 // by class of launch and kind of kernel
	best     []int32   // by class of launch
	stamps   []int64   // of each launch: of its last call
	due      []int64   // the latest that its kernel may be launched
	next     []int64   // the stamp of the thread's next call, on this stream; its own where one between is lost
	first    []int64   // of each kernel: the least launch of it and later ones
	last     []int64   // … the greatest of it and earlier ones

	starts   []float64     // of each kernel, nanoseconds from the first, where they count
	expected []expectation // of each launch; nil: starts do not count
}

// shape is all by which kernels of one stream differ.
type shape struct {
	name  nccl.KernelName
	grid  int32
	block int32
}

// class is all by which launches differ; they are expected to run in kernels of one shape.
type class struct {
	op       nccl.Op
	datatype nccl.Datatype
	comm     int
	bytes    int64
	calls    int
	mixed    bool
	algo     nccl.Algo
	channels int32
	ghost    bool
}

func newEvidence(calls []*comms.Call, launches []*Launch, kernels []*comms.Kernel) *evidence {
	e := &evidence{calls: calls, launches: launches, kernels: kernels}
	e.classes, e.rowKinds = number(launches, e.classOf)
	e.shapes, e.kinds = number(kernels, func(k *comms.Kernel) shape { return shape{k.KernelName, k.Grid, k.Block} })
	if len(e.shapes)*len(e.classes) > maxTable { // no program does that: names alone will do
		e.shapes, e.kinds = number(kernels, func(k *comms.Kernel) shape { return shape{name: k.KernelName} })
	}
	e.table = make([][]int32, len(e.classes))
	for c := range e.classes {
		e.table[c] = make([]int32, len(e.shapes))
	}
	e.forget()
	e.times()
	e.bounds()
	return e
}

// forget sets the table to what names and tuning lines say.
func (e *evidence) forget() {
	for c, row := range e.table {
		for k := range row {
			row[k] = e.prior(&e.classes[c], &e.shapes[k])
		}
	}
}

// number gives equal keys equal numbers.
func number[T any, K comparable](list []T, key func(T) K) (keys []K, of []int) {
	at := ordered.Numbers[K]{}
	of = make([]int, len(list))
	for i, v := range list {
		k := key(v)
		n, first := at.Of(k)
		if first {
			keys = append(keys, k)
		}
		of[i] = n
	}
	return keys, of
}

func (e *evidence) classOf(l *Launch) class {
	c := class{op: l.Op, comm: l.Comm, calls: len(l.Calls), mixed: l.Mixed, ghost: l.Lead < 0, datatype: nccl.UnknownType}
	if c.ghost {
		return c
	}
	lead := e.calls[l.Lead]
	for _, i := range l.Calls {
		c.bytes += size(e.calls[i])
	}
	if l.Op.Reduces() {
		c.datatype = lead.Datatype
	}
	u := tuningOf(lead)
	c.algo, c.channels = u.Algo, u.Channels
	return c
}

// prior returns the score that a kind of launch and a kind of kernel say of one another by
// themselves.
func (e *evidence) prior(c *class, k *shape) int32 {
	if c.ghost {
		return ghost
	}
	if k.name.Op == nccl.Generic {
		return maybe
	}
	if c.op != k.name.Op && !(c.mixed && k.name.Op != nccl.SendRecv) {
		return needleman.Never
	}
	score := int32(maybe)
	if c.datatype != nccl.UnknownType && k.name.Datatype != nccl.UnknownType {
		switch {
		case c.datatype.Signless() == k.name.Datatype.Signless():
			score += typeAgrees
		case !c.mixed:
			score -= wrong
		}
	}
	if k.name.Algo != nccl.UnknownAlgo && (c.algo == nccl.Tree || c.algo == nccl.Ring) {
		score += agree(c.algo == k.name.Algo, algoAgrees)
	}
	if c.channels > 0 && c.calls == 1 && k.grid > 0 {
		score += agree(c.channels == k.grid, gridAgrees)
	}
	return score
}

func agree(same bool, gain int32) int32 {
	if same {
		return gain
	}
	return -wrong
}

// bounds makes best from the table.
func (e *evidence) bounds() {
	e.best = make([]int32, len(e.classes))
	for c, row := range e.table {
		for _, s := range row {
			e.best[c] = max(e.best[c], s)
		}
		if e.clock.use && !e.clock.queued {
			e.best[c] += onTime
		}
		if e.expected != nil {
			e.best[c] += punctual
		}
	}
}

// times collects stamps.
func (e *evidence) times() {
	e.stamps = make([]int64, len(e.launches))
	e.due = make([]int64, len(e.launches))
	before := int64(math.MinInt64)
	for i, l := range e.launches {
		e.stamps[i] = math.MinInt64
		for _, c := range l.Calls {
			if e.calls[c].HasEnter {
				e.stamps[i] = max(e.stamps[i], e.calls[c].Enter)
			}
		}
		if l.Lead >= 0 {
			before = e.stamps[i]
		} else { // a lost one was called after the one before it
			e.stamps[i] = before
		}
	}
}

// order fills in, for every kernel, the first time from it on and the last before it.
func (e *evidence) order() {
	e.first = make([]int64, len(e.kernels)+1)
	e.last = make([]int64, len(e.kernels)+1)
	e.first[len(e.kernels)], e.last[0] = math.MaxInt64, math.MinInt64
	for j := len(e.kernels) - 1; j >= 0; j-- {
		e.first[j] = min(e.first[j+1], e.clock.time(e.kernels[j]))
	}
	for j, k := range e.kernels {
		e.last[j+1] = max(e.last[j], e.clock.time(k))
	}
}

// time returns the time of a kernel that stamps are compared with, ns.
func (c *clocks) time(k *comms.Kernel) int64 {
	if c.queued {
		return k.Start
	}
	return k.Launch
}

// setClock makes time count. A launch is due before the thread's next call.
func (e *evidence) setClock(c clocks) {
	e.clock = c
	if c.use {
		e.order()
		e.dues()
	}
	e.bounds()
}

func (e *evidence) dues() {
	e.next = make([]int64, len(e.launches))
	next := map[int64]int64{} // by thread: the stamp of its next call
	later, lost := int64(math.MaxInt64), false
	for i := len(e.launches) - 1; i >= 0; i-- {
		l := e.launches[i]
		if l.Lead < 0 { // before the next one that is known
			e.due[i], lost = later, true
			continue
		}
		thread := e.calls[l.Lead].Thread
		e.due[i], e.next[i] = e.stamps[i]+reach, e.stamps[i]
		if t, ok := next[thread]; ok && t < math.MaxInt64-reach {
			e.due[i] = max(e.due[i], t+reach)
			if !lost {
				e.next[i] = t
			}
		}
		next[thread] = e.stamps[i]
		later, lost = e.stamps[i]+reach, false
	}
}

func (e *evidence) Size() (int, int) { return len(e.launches), len(e.kernels) }

// Window returns the kernels that were launched between the stamp and when it was due.
func (e *evidence) Window(i int) (from, to int) {
	m := len(e.kernels)
	if !e.clock.use || e.stamps[i] == math.MinInt64 {
		return 0, m
	}
	least := e.stamps[i] + e.clock.offset - reach
	most := e.due[i]
	if most < math.MaxInt64/2 {
		most += e.clock.offset
	}
	if e.clock.queued {
		least, most = e.queuedWindow(i)
	}
	from = sort.Search(m, func(j int) bool { return e.last[j+1] >= least })
	to = sort.Search(m, func(j int) bool { return e.first[j] > most })
	return from, max(from, to)
}

func (e *evidence) Best(i int) int32 { return e.best[e.rowKinds[i]] }

func (e *evidence) Row(dst []int32, i, from int) {
	table := e.table[e.rowKinds[i]]
	kinds := e.kinds[from : from+len(dst)]
	for k, kind := range kinds {
		if dst[k] = table[kind]; e.expected != nil && dst[k] > needleman.Never {
			dst[k] += e.punctuality(i, from+k)
		}
	}
	if !e.clock.use || e.stamps[i] == math.MinInt64 {
		return
	}
	lo, hi := e.Window(i)
	for k := range dst {
		j := from + k
		switch {
		case j < lo || j >= hi:
			dst[k] = needleman.Never
		case dst[k] > needleman.Never:
			dst[k] += e.timely(i, e.kernels[j])
		}
	}
}

// timely returns the score of the time of a launch: Time where it is as usual, less as it is off. Before the thread's next call there
// is no other call that it could be of.
func (e *evidence) timely(i int, k *comms.Kernel) int32 {
	l := e.launches[i]
	if e.clock.queued {
		return int32(10 * e.queuePenalty(i, k))
	}
	if l.Lead < 0 || !k.HasLaunch {
		return 0
	}
	if e.clock.threads && k.Thread != 0 && e.calls[l.Lead].Thread != 0 && k.Thread != e.calls[l.Lead].Thread {
		return -wrong
	}
	off, most := k.Launch-e.stamps[i]-e.clock.offset, int64(mostLate)
	if off < 0 {
		off = -off
	} else if k.Launch-e.clock.offset < e.next[i] {
		most = mostHeld
	}
	lost := 10 * off / max(e.clock.spread, 1) // off/spread nats
	return onTime - int32(min(lost, onTime+most))
}
