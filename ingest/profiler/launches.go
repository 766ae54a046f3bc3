package profiler

import "strings"

// launches are the launches whose work has not come yet, by correlation. Two
// generations bound them: when the young one is full the old one is forgotten.
type launches struct {
	young, old map[int64]launch
}

type launch struct {
	at     int64
	thread uint16
	many   bool // it may make more than one piece of work
}

const maxLaunches = 1 << 17

// LaunchShape is how much work a launch makes.
type LaunchShape uint8

const (
	LaunchesNothing LaunchShape = iota
	LaunchesOne
	LaunchesGraph // of any number of pieces
)

// LaunchShapeOf finds by its name what a call of a runtime or driver launches:
// "cudaLaunchKernel_v7000".
func LaunchShapeOf(name string) LaunchShape {
	name = strings.ToLower(name)
	if strings.Contains(name, "graphlaunch") {
		return LaunchesGraph
	}
	for _, word := range [...]string{"launch", "memcpy", "memset", "enqueue", "submit"} {
		if strings.Contains(name, word) {
			return LaunchesOne
		}
	}
	return LaunchesNothing
}

// LaunchShape returns what a call with this name launches.
func (b *Builder) LaunchShape(id NameID) LaunchShape { return b.means[id].launches }

// Launch takes a call by which a thread of the host puts work on the device. Correlations of
// 0 and less are not known.
func (b *Builder) Launch(thread, correlation, at int64, shape LaunchShape) {
	if correlation <= 0 || shape == LaunchesNothing {
		return
	}
	made := launch{at, b.thread(thread), shape == LaunchesGraph}
	if b.works.resolveLaunch(correlation, made) && shape == LaunchesOne {
		return
	}
	b.launches.put(correlation, made)
}

// noThread stands for a thread that is not known, or of which there are too many.
const noThread = 1<<16 - 1

// thread returns the number that the builder has for a thread of the host.
func (b *Builder) thread(id int64) uint16 {
	n, known := b.threads[id]
	if !known {
		if n = noThread; len(b.threads) < noThread {
			n = uint16(len(b.threads))
			b.threads[id] = n
		}
	}
	return n
}

func (l *launches) put(correlation int64, made launch) {
	if l.young == nil {
		l.young = make(map[int64]launch)
	}
	if len(l.young) >= maxLaunches {
		l.young, l.old = make(map[int64]launch), l.young
	}
	l.young[correlation] = made
}

// take returns the launch of work with this correlation. A launch of one piece
// is forgotten with it.
func (l *launches) take(correlation int64) (launch, bool) {
	made, from := l.find(correlation)
	if from != nil && !made.many {
		delete(from, correlation)
	}
	return made, from != nil
}

// find returns a launch and where it is kept, nil: it is not known.
func (l *launches) find(correlation int64) (launch, map[int64]launch) {
	for _, m := range [...]map[int64]launch{l.young, l.old} {
		if made, ok := m[correlation]; ok && correlation > 0 {
			return made, m
		}
	}
	return launch{}, nil
}
