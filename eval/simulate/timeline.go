package simulate

import (
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace"
)

// timeline is where every rank is, in absolute nanoseconds of true time.
type timeline struct {
	now     []int64 // [rank] the host
	device  []int64 // [rank] when the device is done with what was launched
	reading []int64 // [rank] last reading of the rank's own clock
	clocks  []Dial  // [rank] that clock, which began at true time

	begin []int64 // [rank] reading at the beginning of the step

	events []event // [group] scratch of a synchronisation point
}

func newTimeline(ranks int) *timeline {
	return &timeline{now: make([]int64, ranks), device: make([]int64, ranks), reading: make([]int64, ranks), begin: make([]int64, ranks),
		clocks: make([]Dial, ranks), events: make([]event, ranks)}
}

// mark reads every clock and writes what has passed since the last mark.
func (t *timeline) mark(dst []int64) {
	for r, last := range t.reading {
		t.reading[r] = t.clocks[r].Read(t.now[r])
		if dst != nil {
			dst[r] = t.reading[r] - last
		}
	}
}

// runOp takes every rank through one op: its work, then its synchronisation points.
func (g *Generator) runOp(at int, step int64) {
	o, t := &g.program.ops[at], g.time
	if o.loader != nil {
		o.loader.take(t.now, o.loadNs)
	}
	for r, d := range o.deviceNs {
		t.device[r] = max(t.device[r], t.now[r]) + d
	}
	for r, w := range o.workNs {
		start := t.now[r]
		if o.await {
			start = max(start, t.device[r])
		}
		t.now[r] = start + w
	}
	for i := range o.points {
		g.sync(at, i, step)
	}
}

// take moves every rank to the time at which its next batch is there. The
// loader works on one batch at a time and begins it when a place in the queue
// is free, that is when the batch before the last depth ones is taken:
//
//	ready[n] = max(ready[n−1], taken[n−depth]) + load
func (l *loader) take(now, load []int64) {
	taken := l.taken[l.n%l.depth]
	for r, length := range load {
		l.ready[r] = max(l.ready[r], taken[r]) + length
		now[r] = max(now[r], l.ready[r])
		taken[r] = now[r]
	}
	l.n++
}

// sync holds the ranks of each group until the last has come and the transfer
// of M is done. The share φ of it (Overlap) is launched by each rank with φ of
// its work still ahead; the rest follows on the same channel once all ranks
// are there:
//
//	done = max(max(end), max(end − φ·work) + φ·M) + (1−φ)·M
//
// A group of one rank does not communicate.
func (g *Generator) sync(at, number int, step int64) {
	o, t := &g.program.ops[at], g.time
	m := &o.points[number]
	g.arrive(at, number)
	events := t.events[:len(m.groups.sizes)]
	clear(events)
	for r, end := range t.now {
		e := &events[m.groups.of[r]]
		e.arrived = max(e.arrived, end)
		e.launched = max(e.launched, end-int64(m.overlap*float64(o.workNs[r])))
	}
	for i := range events {
		rng := g.rng.Restart(g.spec.Seed, forGroup, uint64((at*maxSyncPoints+number)*trace.MaxRanks+i), step)
		length := int64(m.transfer.Draw(rng.Rand))
		if number == len(o.points)-1 {
			length += g.commDelay(at, m.groups, i)
		}
		e := &events[i]
		early := int64(m.overlap * float64(length))
		e.done = max(e.arrived, e.launched+early) + length - early
		e.hang(m, m.groups.sizes[i], rng)
	}
	for r := range t.now {
		i, place := m.groups.of[r], m.groups.place[r]
		if m.groups.sizes[i] > 1 {
			t.now[r] = events[i].leave(place) + m.exitNs[r]
		}
	}
}

// event is one group's synchronisation point: the last arrival, the last launch of the part
// of the transfer that runs ahead, the end of the transfer, and which members
// hang on to it for how long.
type event struct {
	arrived, launched, done int64
	stall                   int64
	from, count, size       int // members from … from+count−1 of the ring of size
}

// hang draws whether a hop of the ring stalls, and for whom.
func (e *event) hang(m *collective, size int, rng *streams.Stream) {
	if m.hangs > 0 && size > 1 && rng.Float64() < m.hangs {
		e.stall = int64(m.stall.Draw(rng.Rand))
		e.from, e.count, e.size = rng.IntN(size), 1+rng.IntN(size-1), size
	}
}

// leave returns when the member at a place of the group may go on.
func (e *event) leave(place int) int64 {
	if e.stall > 0 && (place-e.from+e.size)%e.size < e.count {
		return e.done + e.stall
	}
	return e.done
}

// commDelay returns the time that striking faults add to the transfer of a group: once per fault, however many of its hidden
// ranks are in the group.
func (g *Generator) commDelay(op int, groups *groups, group int) (delay int64) {
	for i := range g.spec.Faults {
		f := &g.spec.Faults[i]
		if f.Family != BackwardComm || !g.striking[i] ||
			!slices.ContainsFunc(f.Ranks, func(r int) bool { return groups.of[r] == group }) {
			continue
		}
		for _, h := range g.hits[i] {
			if h.op == op {
				delay += h.delay
			}
		}
	}
	return delay
}
