package profile

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

// maxWork is how many pieces of device work are held, 12 MB.
const maxWork = 1 << 18

// work is a piece of device work, or several that were merged.
type work struct {
	start, end int64
	launch     int64 // when the host launched it; its correlation until that is known
	busy       int64 // of start … end, more than 0
	name       int32
	collective int32 // position in Builder.collectives, −1
	lane       uint16
	kind       Kind
	unresolved bool
}

// workList holds device work in bounded memory.
type workList struct {
	all   []work
	lanes map[int64]uint16
	gap   int64 // over which neighbours were merged so far, 0: none were
}

func newWorkList() workList { return workList{lanes: make(map[int64]uint16)} }

func (l *workList) any() bool { return len(l.all) > 0 }

func (l *workList) extent() (first, last int64) {
	first, last = l.all[0].start, l.all[0].end
	for i := range l.all {
		first, last = min(first, l.all[i].start), max(last, l.all[i].end)
	}
	return first, last
}

// maxLanes bounds the queues that are told apart.
const maxLanes = 1 << 12

func (l *workList) lane(queue int64) uint16 {
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
	if len(b.works.all) >= maxWork {
		b.works.resolve(&b.launches)
		b.works.compact()
	}
	b.occupied.add(w.Kind, w.Start, w.End)
	one := work{start: w.Start, end: w.End, busy: w.End - w.Start, name: int32(w.Name), collective: -1,
		lane: b.works.lane(w.Queue), kind: w.Kind}
	if at, ok := b.launches.take(w.Correlation); ok {
		one.launch = at
	} else {
		one.launch, one.unresolved = w.Correlation, true
	}
	if w.Kind == Communication {
		one.collective = b.deviceCollective(w, one.lane)
	}
	b.works.all = append(b.works.all, one)
}

// compact merges neighbours on a queue until the list is half as long as it
// may be. Communication that is known as a collective stays apart.
func (l *workList) compact() {
	slices.SortFunc(l.all, func(a, b work) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start))
	})
	for gap := max(500, 2*l.gap); len(l.all) > maxWork/2; gap *= 2 {
		l.gap = gap
		kept := l.all[:1]
		for _, w := range l.all[1:] {
			last := &kept[len(kept)-1]
			if last.lane == w.lane && last.kind == w.kind && last.collective < 0 && w.collective < 0 && w.start <= last.end+gap {
				last.end = max(last.end, w.end)
				last.busy += w.busy
				continue
			}
			kept = append(kept, w)
		}
		l.all = kept
		if gap > 1e18 {
			return
		}
	}
}

// resolve gives work its launch. What has none that is known was launched, on
// its queue, when its neighbour was, at the latest when it began.
func (l *workList) resolve(from *launches) {
	missing := false
	for i := range l.all {
		w := &l.all[i]
		if !w.unresolved {
			continue
		}
		if at, ok := from.take(w.launch); ok {
			w.launch, w.unresolved = at, false
		} else {
			missing = true
		}
	}
	if !missing {
		return
	}
	slices.SortStableFunc(l.all, func(a, b work) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start))
	})
	for i := range l.all {
		w := &l.all[i]
		if !w.unresolved {
			continue
		}
		w.unresolved = false
		w.launch = w.start
		if i > 0 && l.all[i-1].lane == w.lane {
			w.launch = min(w.start, max(l.all[i-1].launch, w.start-longestQueue))
		}
	}
}

// longestQueue is how long before it begins work is believed to be launched
// when nothing but its neighbour tells.
const longestQueue = 1_000_000

// launches are the launches whose work has not come yet, by correlation. Two
// generations bound them: when the young one is full the old one is forgotten.
type launches struct {
	young, old map[int64]launch
}

type launch struct {
	at   int64
	many bool // it may make more than one piece of work
}

const maxLaunches = 1 << 17

// Launch is a call of the host that puts work on the device. Correlations of
// 0 and less are not known.
func (b *Builder) Launch(correlation, at int64, shape LaunchShape) {
	if correlation > 0 {
		b.launches.put(correlation, launch{at, shape == LaunchesGraph})
	}
}

// LaunchShape is how much work a launch makes.
type LaunchShape uint8

const (
	LaunchesOne   LaunchShape = iota
	LaunchesGraph             // of any number of pieces
)

func (l *launches) put(correlation int64, made launch) {
	if l.young == nil {
		l.young = make(map[int64]launch)
	}
	if len(l.young) >= maxLaunches {
		l.young, l.old = make(map[int64]launch), l.young
	}
	l.young[correlation] = made
}

func (l *launches) take(correlation int64) (at int64, ok bool) {
	if correlation <= 0 {
		return 0, false
	}
	for _, m := range [...]map[int64]launch{l.young, l.old} {
		if made, ok := m[correlation]; ok {
			if !made.many {
				delete(m, correlation)
			}
			return made.at, true
		}
	}
	return 0, false
}
