package profiler

import (
	"cmp"
	"slices"
)

// Work is something that ran on the device.
type Work struct {
	Name        NameID
	Queue       int64 // device and stream
	Start, End  int64
	Correlation int64 // with the launch that made it; 0 and less: not known
	Kind        Kind
	// Call is what the profiler tells of the collective that it is part of;
	// nil: nothing. Its times and thread do not matter.
	Call *Call
}

// maxHeld is how many pieces of device work are held as they are, 2.6 MB, and
// maxRunBytes how much of the others is kept in memory, packed.
const (
	maxHeld     = 1 << 16
	maxRunBytes = 1 << 20
)

// work is a piece of device work.
type work struct {
	start, end int64
	launch     int64 // when the host launched it; its correlation until that is known
	name       int32
	collective int32  // position in Builder.collectives, −1
	order      uint32 // in which it came, of those that are held
	lane       uint16
	thread     uint16 // that launched it, noThread: not known
	kind       Kind
	unresolved bool // launch is a correlation
}

// works keeps device work until it is known which step and stage launched it,
// which may be told at the very end: the latest as it came, what came before
// in runs by start, packed, of which the first are in memory and the rest in a
// temporary file. So memory does not grow with the work.
type works struct {
	n       int64
	held    []work
	waiting map[int64]int32 // correlation → position in held, of work whose launch did not come yet
	runs    []run
	store   spill
	packed  []byte // the run that is being written
	lanes   map[int64]uint16
}

func newWorks() works {
	return works{waiting: make(map[int64]int32), lanes: make(map[int64]uint16), store: spill{memory: maxRunBytes}}
}

func (l *works) hasWork() bool { return l.n > 0 }

// maxLanes bounds the queues that are told apart.
const maxLanes = 1 << 12

func (l *works) lane(queue int64) uint16 {
	if lane, ok := l.lanes[queue]; ok {
		return lane
	}
	if len(l.lanes) >= maxLanes {
		return maxLanes - 1
	}
	lane := uint16(len(l.lanes))
	l.lanes[queue] = lane
	return lane
}

// Work adds device work.
func (b *Builder) Work(w Work) {
	if w.End < w.Start {
		w.End = w.Start
	}
	b.saw(w.Start, w.End)
	one := work{start: w.Start, end: w.End, name: int32(w.Name), collective: -1, lane: b.works.lane(w.Queue), thread: noThread, kind: w.Kind}
	if made, ok := b.launches.take(w.Correlation); ok {
		one.launch, one.thread = made.at, made.thread
	} else {
		one.launch, one.unresolved = w.Correlation, true
	}
	if w.Kind == Communication {
		one.collective = b.deviceCollective(w)
	}
	b.works.add(one, &b.launches)
}

// add holds a piece of work. O(log n) on average.
func (l *works) add(w work, from *launches) {
	if l.held == nil {
		l.held = make([]work, 0, maxHeld)
	}
	if len(l.held) == maxHeld {
		l.write(from)
	}
	l.n++
	l.hold(w)
}

func (l *works) hold(w work) {
	w.order = uint32(len(l.held))
	if w.unresolved && w.launch > 0 {
		if _, taken := l.waiting[w.launch]; !taken {
			l.waiting[w.launch] = int32(len(l.held))
		}
	}
	l.held = append(l.held, w)
}

// resolveLaunch completes work that came before its launch, and reports
// whether there is some.
func (l *works) resolveLaunch(correlation int64, made launch) bool {
	i, ok := l.waiting[correlation]
	if ok {
		l.held[i].launch, l.held[i].thread, l.held[i].unresolved = made.at, made.thread, false
		delete(l.waiting, correlation)
	}
	return ok
}

// resolve gives work that is held its launch, where that came meanwhile.
func (l *works) resolve(from *launches) {
	for i := range l.held {
		w := &l.held[i]
		if !w.unresolved {
			continue
		}
		if made, ok := from.take(w.launch); ok {
			w.launch, w.thread, w.unresolved = made.at, made.thread, false
		}
	}
}

// maxLate is how much work stays held because its launch may still come.
const maxLate = maxHeld / 4

// write writes what is held as a run, but for the latest that waits for its
// launch: that stays.
func (l *works) write(from *launches) {
	l.resolve(from)
	late := l.late()
	l.flush()
	for _, w := range late {
		l.hold(w)
	}
}

// late takes the latest work that waits for its launch from what is held.
func (l *works) late() []work {
	const taken = ^uint32(0)
	var late []work
	for i := len(l.held) - 1; i >= 0 && len(late) < maxLate; i-- {
		if w := l.held[i]; w.unresolved && w.launch > 0 {
			late = append(late, w)
			l.held[i].order = taken
		}
	}
	l.held = slices.DeleteFunc(l.held, func(w work) bool { return w.order == taken })
	slices.Reverse(late)
	return late
}

// flush writes what is held as a run.
func (l *works) flush() {
	if len(l.held) == 0 {
		return
	}
	slices.SortFunc(l.held, func(a, b work) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order)) })
	l.packed = l.packed[:0]
	at := int64(0)
	for i := range l.held {
		l.packed = l.held[i].pack(l.packed, at)
		at = l.held[i].start
	}
	l.runs = append(l.runs, run{first: l.held[0].start, order: len(l.runs), at: l.store.put(l.packed)})
	l.held = l.held[:0]
	clear(l.waiting)
}

// end writes what is still held: no more work comes, and no more launches.
func (l *works) end(from *launches) {
	l.resolve(from)
	l.flush()
	l.held, l.waiting, l.packed = nil, nil, nil
	slices.SortStableFunc(l.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
}
