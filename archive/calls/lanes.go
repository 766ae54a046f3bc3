package calls

// tracks are the groups of tracks of a rank, from the top.
type tracks int

const (
	stepTracks tracks = iota
	phaseTracks
	streamTracks
	kindTracks
)

// track is a place for events: what they are of and what it is called.
type track struct {
	group  tracks
	stream int64 // of streamTracks
	name   string
}

// lane is one line of a track: the ends of the events that are open on it, the outermost first.
type lane struct {
	thread int
	open   []int64
}

// close ends what is over at a time.
func (l *lane) close(at int64) {
	for len(l.open) > 0 && l.open[len(l.open)-1] <= at {
		l.open = l.open[:len(l.open)-1]
	}
}

// lanes spreads the events of one rank over lines on which no two overlap in part: a viewer drops one of such
// two. Events of one track must come by start, of those that start together the longest first.
type lanes struct {
	c    *chrome
	rank int
	of   map[track][]*lane
	next int
}

// freeLine returns a line of the track on which nothing else runs.
func (l *lanes) freeLine(t track, start, end int64) int {
	return l.place(t, start, end, func(x *lane) bool { return len(x.open) == 0 })
}

// nestedLine returns a line of the track on which everything that runs contains the event.
func (l *lanes) nestedLine(t track, start, end int64) int {
	return l.place(t, start, end, func(x *lane) bool { return len(x.open) == 0 || end <= x.open[len(x.open)-1] })
}

func (l *lanes) place(t track, start, end int64, fits func(*lane) bool) int {
	end = max(end, start+1) // as it is drawn
	for _, x := range l.of[t] {
		if x.close(start); fits(x) {
			x.open = append(x.open, end)
			return x.thread
		}
	}
	l.next++
	l.of[t] = append(l.of[t], &lane{thread: l.next, open: []int64{end}})
	l.announce(t, l.next)
	return l.next
}

// announce names a line. Threads are numbered as they are needed; their order is by what they are of.
func (l *lanes) announce(t track, thread int) {
	l.c.event(chromeEvent{Phase: "M", Name: "thread_name", Process: l.rank, Thread: thread, Args: nameArgs{t.name}})
	l.c.event(chromeEvent{Phase: "M", Name: "thread_sort_index", Process: l.rank, Thread: thread, Args: sortArgs{int(t.group)<<20 + thread}})
}
