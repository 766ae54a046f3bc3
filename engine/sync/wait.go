package sync

import "math"

// Waits is a matched job on one clock: the places of its program, and the calls that its ranks wait for.
type Waits struct {
	*Matching
	Places  []Place
	Offset  []int64   // [rank] added to its clock
	times   [][]int64 // [rank][call] of entries on the common clock: looked up more than anything else
	Release []int64   // [point] its last entry
	Domain  []int     // [rank] whose clock it reads
	Clocks  []Clock
	Agree   bool // the clocks suit the waits as they are
	// Blocks marks the kinds that the next call waits for; nil: the job has no messages, and places have lags.
	Blocks      []bool
	heldSenders map[way]bool // ways whose senders wait for the receiver
	// transfers is how long the messages of a way take, ns; known where ranks wait for each other in messages alone
	transfers map[way]int64
	roots     map[rootedKind]rootWait // how members of rooted operations wait that do not wait for all
	// lastReleased is which call of a rank up to a call is released last, [rank][call]; nil: there is one group.
	lastReleased [][]int32
	ofAny        []int32 // [kind] the first kind that is like it in another micro-batch
	// Busy returns how long a rank surely worked between two times without an entry, by its stages or operators, ns: an
	// asynchronous call is awaited later. nil: only entries are known.
	Busy       func(rank int, from, to int64) int64
	maxCohorts int // cohorts of the place that has most
	// lagAfter is the lag of members that come to one call from different calls, by site; nil: no members do.
	lagAfter   map[site]int8
	exitPlaces []Place  // of those the entries that follow the same call, as cohorts
	waits      [][]int8 // as lags has it, where members of points come to them from different calls; else nil
}

// Enough is the number of cohorts that a place needs to be looked at.
const Enough = 3

// LeastDelay is the own delay, ns, that no clock resolves.
const LeastDelay = 1000

// Time returns when an entry was made, on the common clock.
func (t *Waits) Time(e Entry) int64 { return t.times[e.Process][e.Call] }

// shift sets the offset of a rank.
func (t *Waits) shift(rank int, offset int64) {
	t.Offset[rank] = offset
	for i := range t.times[rank] {
		t.times[rank][i] = t.Ranks[rank].Calls[i].Enter + offset
	}
}

// Work returns the time of a rank since its previous call, ns, without its wait for the call lag back.
func (t *Waits) Work(e Entry, lag int8) int64 {
	from := t.Time(Previous(e, 1))
	end := t.Time(e)
	if w, ok := t.Awaited(e, lag); ok {
		if l := min(t.ReleaseFor(w), end); l > from {
			worked := int64(0)
			if t.Busy != nil {
				worked = t.Busy(int(e.Process), from, l)
			}
			from = l - worked
		}
	}
	if t.Blocks == nil || t.IsReceive(e) {
		return end - from
	}
	// A batch of sends and receives is waited for as a whole.
	before := Previous(e, 1)
	for before.Call > 0 && t.IsReceive(before) {
		before.Call--
	}
	if t.IsMessage(t.Call(before)) {
		from = max(from, min(t.ReleaseFor(before), end))
	}
	return end - from
}

// WorkSince returns the work of a rank since the collective before an entry, ns. Messages in between divide it differently
// on every rank of a chain.
func (t *Waits) WorkSince(e Entry, lag int8) int64 {
	sum := t.Work(e, t.LagOf(e, lag))
	if t.Blocks == nil || t.IsMessage(t.Call(e)) {
		return sum
	}
	for e.Call--; e.Call > 0 && t.IsMessage(t.Call(e)); e.Call-- {
		sum += t.Work(e, t.LagOf(e, 0))
	}
	return sum
}

// LagOf returns the lag of an entry, where its place has lag; 0: the rank does not wait.
func (t *Waits) LagOf(e Entry, lag int8) int8 {
	if t.lagAfter != nil && lag != allBefore && e.Call > 0 {
		if of, known := t.lagAfter[t.siteAt(e)]; known {
			return of
		}
	}
	if t.Blocks == nil || e.Call == 0 {
		return lag
	}
	before := t.Call(Previous(e, 1))
	switch {
	case t.Blocks[before.Kind], t.isSend(Previous(e, 1)) && t.heldSenders[t.wayOf(Previous(e, 1))]:
		return 1
	case t.IsMessage(before):
		return 0
	}
	return lag
}

// ReleaseFor returns when the host of a blocking entry may continue: when the last member has entered. For a message
// this is when it was sent, unless its sender is held; for a rooted operation, when the awaited members have entered.
func (t *Waits) ReleaseFor(e Entry) int64 {
	p := t.Of[e.Process][e.Call]
	if t.Points[p].Message && t.isSend(e) && !t.heldSenders[t.wayOf(e)] {
		return t.Time(e)
	}
	if w, ok := t.rootWaitAt(p); ok {
		return t.releaseOf(w, p, e.Process)
	}
	return t.Release[p]
}

// computeReleases computes the last entry of every point.
func (t *Waits) computeReleases() {
	t.Release = t.Release[:0]
	for i := range t.Points {
		t.Release = append(t.Release, t.lastOf(t.Points[i].Entries))
	}
}

// lastOf returns when the last of some entries was made.
func (t *Waits) lastOf(entries []Entry) int64 {
	last := int64(math.MinInt64)
	for _, e := range entries {
		last = max(last, t.Time(e))
	}
	return last
}
