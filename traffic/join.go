package traffic

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/nccl"
)

// loggedUnit is the calls of a side that share their count.
type loggedUnit struct {
	count uint64
	calls []int // indices of Log.Calls
}

// join finds the calls of a log among the ranges, communicator by communicator. One that is found
// bounds when the others' calls may have been, so that the rest is tried again.
func (t *telling) join() {
	logged := t.loggedUnits()
	open := sortedKeys(logged)
	for found := true; found; {
		found = false
		for i := 0; i < len(open); i++ {
			key, d, ok := t.find(open[i], logged[open[i]])
			if !ok {
				continue
			}
			t.accept(open[i], key, d, logged[open[i]])
			open = slices.Delete(open, i, i+1)
			found = true
			i--
		}
	}
	if len(open) > 0 && len(t.comms) == 0 {
		return
	}
	t.k.Join = ByNVTX
	t.rest(len(open) > 0)
}

func sortedKeys[V any](m map[int]V) (keys []int) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// loggedUnits is the units of each communicator of the process, by count.
func (t *telling) loggedUnits() map[int][]loggedUnit {
	log := t.a.in.Log
	at := map[[2]uint64]int{}
	units := map[int][]loggedUnit{}
	for _, i := range t.k.Calls {
		c := &log.Calls[i]
		if c.Ranks == 1 {
			continue
		}
		key := [2]uint64{uint64(c.Comm), c.OpCount}
		n, ok := at[key]
		if !ok {
			n = len(units[c.Comm])
			at[key] = n
			units[c.Comm] = append(units[c.Comm], loggedUnit{count: c.OpCount})
		}
		units[c.Comm][n].calls = append(units[c.Comm][n].calls, i)
	}
	for _, list := range units {
		slices.SortStableFunc(list, func(x, y loggedUnit) int { return cmp.Compare(x.count, y.count) })
	}
	return units
}

// find looks for the communicator of the ranges that is one of the log, and by how much their counts differ.
func (t *telling) find(comm int, units []loggedUnit) (key commKey, d int64, ok bool) {
	id := t.a.in.Log.Communicators[comm].ID
	found := 0
	for _, k := range t.keys() {
		if _, taken := t.comms[k]; taken || id != 0 && k.hash != 0 && id != k.hash {
			continue
		}
		by, fits := t.fit(k, units)
		if !fits {
			continue
		}
		key, d = k, by
		if found++; id != 0 && k.hash == id {
			return key, d, true
		}
	}
	return key, d, found == 1
}

// fit compares one communicator of the log with one of the ranges. If the ranges tell of its making, both count from 0.
func (t *telling) fit(key commKey, units []loggedUnit) (d int64, ok bool) {
	of, in := t.ofLog(units), t.ofRanges(key)
	if len(in) == 0 || len(of) == 0 {
		return 0, false
	}
	if t.init(key) != nil {
		return 0, align.Possible(of, in, 0)
	}
	return align.Shift(of, in, t.offset())
}

// ofRanges is the units of the ranges as the engine takes them, without those that launched nothing.
func (t *telling) ofRanges(key commKey) (out []align.Unit) {
	for _, u := range t.units[key] {
		x := align.Unit{Count: u.count, Time: t.p.Calls[u.calls[0]].Start, HasTime: true}
		for _, c := range u.calls {
			if call := &t.p.Calls[c]; call.Kernel != nsight.None || call.Bytes == 0 {
				x.Vague = x.Vague || t.vague(c)
				x.Calls = append(x.Calls, align.Sign{Op: call.Op, Bytes: call.Bytes, Root: call.Root})
			}
		}
		if len(x.Calls) > 0 {
			out = append(out, x)
		}
	}
	return out
}

// ofLog is the units of the log as the engine takes them.
func (t *telling) ofLog(units []loggedUnit) (out []align.Unit) {
	log := t.a.in.Log
	for _, u := range units {
		first := &log.Calls[u.calls[0]]
		x := align.Unit{Count: int64(min(u.count, math.MaxInt64)), Time: first.Time, HasTime: first.Clock != nccllog.NoClock}
		x.After, x.Before = t.bounds(u.calls[0])
		for _, i := range u.calls {
			x.Calls = append(x.Calls, signOf(&log.Calls[i]))
		}
		out = append(out, x)
	}
	return out
}

// vague says whether it is open which stream, and so which communicator, a call is of.
func (t *telling) vague(told int) bool { return t.p.Calls[told].Comm == 0 && !t.p.Calls[told].Sure }

func signOf(c *nccllog.LoggedCall) align.Sign {
	s := align.Sign{Op: c.Op, Bytes: c.Bytes(), Root: -1}
	switch c.Op {
	case nccl.Broadcast, nccl.Reduce, nccl.Send, nccl.Recv, nccl.Gather, nccl.Scatter:
		s.Root = c.Root
	}
	return s
}

// slack is by how much calls of two threads may stand in the log in another order than they began.
const slack = 1_000_000 // nanoseconds

// bounds is when a call may have begun, by those before and after it in its file that are found: a process writes its
// lines one after another.
func (t *telling) bounds(call int) (after, before int64) {
	log := t.a.in.Log
	n, _ := slices.BinarySearch(t.k.Calls, call)
	for i := n - 1; i >= 0 && i > n-maxBounds; i-- {
		if at, ok := t.a.began[t.k.Calls[i]]; ok && log.Calls[t.k.Calls[i]].File == log.Calls[call].File {
			after = at - slackOf(log, t.k.Calls[i], call)
			break
		}
	}
	for i := n + 1; i < len(t.k.Calls) && i < n+maxBounds; i++ {
		if at, ok := t.a.began[t.k.Calls[i]]; ok && log.Calls[t.k.Calls[i]].File == log.Calls[call].File {
			before = at + slackOf(log, t.k.Calls[i], call)
			break
		}
	}
	return after, before
}

// maxBounds is how far away a call is looked for that bounds another.
const maxBounds = 256

// slackOf is none between calls of one thread.
func slackOf(log *nccllog.Log, x, y int) int64 {
	if log.Calls[x].TID == log.Calls[y].TID {
		return 0
	}
	return slack
}

// offset is how far the log's stamps are from the ranges, the median of what was found; nil without stamps.
func (t *telling) offset() *int64 {
	var apart []int64
	for _, i := range t.k.Calls {
		if c := &t.a.in.Log.Calls[i]; c.Clock != nccllog.NoClock {
			if at, ok := t.a.began[i]; ok {
				apart = append(apart, c.Time-at)
			}
		}
	}
	if len(apart) < 3 {
		return nil
	}
	usual := robust.Upper(apart)
	return &usual
}

// accept ties the calls of a communicator: within a unit those that are alike in their order.
func (t *telling) accept(comm int, key commKey, d int64, units []loggedUnit) {
	t.comms[key], t.shift[key] = comm, d
	at := map[int64]*toldUnit{}
	for i := range t.units[key] {
		u := &t.units[key][i]
		if at[u.count] == nil || !t.launches(at[u.count]) {
			at[u.count] = u
		}
	}
	for _, l := range units {
		u := at[int64(min(l.count, math.MaxInt64))-d]
		if u == nil {
			continue
		}
		left := slices.Clone(u.calls)
		for _, i := range l.calls {
			s := signOf(&t.a.in.Log.Calls[i])
			n := slices.IndexFunc(left, func(c int) bool { return like(s, &t.p.Calls[c]) && !t.vague(c) })
			if n < 0 {
				t.tieVague(i, u)
				continue
			}
			t.tie(i, left[n])
			t.taken(left[n])
			left = slices.Delete(left, n, n+1)
		}
	}
}

// tieVague ties a call whose range is one of several in its group: its communicator is known by now, and so the stream of
// its kernel.
func (t *telling) tieVague(call int, u *toldUnit) {
	for _, c := range u.calls {
		if x := &t.p.Calls[c]; t.vague(c) && x.Kernel != nsight.None && x.Op == t.a.in.Log.Calls[call].Op {
			t.at(call, x.Start)
			t.a.ties[t.rank] = append(t.a.ties[t.rank], tie{call, x.Kernel, true})
			return
		}
	}
}

func (t *telling) launches(u *toldUnit) bool {
	return slices.ContainsFunc(u.calls, func(c int) bool { return t.p.Calls[c].Kernel != nsight.None })
}

func (t *telling) taken(told int) {
	if t.used == nil {
		t.used = map[int]bool{}
	}
	t.used[told] = true
}

func like(s align.Sign, c *nsight.CommCall) bool {
	return s.Op == c.Op && (c.Bytes < 0 || s.Bytes == c.Bytes) && (c.Root < 0 || s.Root < 0 || s.Root == c.Root)
}

// rest adds the calls that the log lacks. Where communicators of the log were not found, those of the ranges that
// nothing is known of may be theirs, and are left out.
func (t *telling) rest(unfound bool) {
	var all []lacking
	for _, key := range t.keys() {
		comm, known := t.comms[key]
		switch {
		case !known && (unfound || key.hash == 0):
			continue
		case !known && (t.silent(key) || t.logHas(key)):
			continue
		case !known:
			t.newComm(key)
			comm = t.comms[key]
		}
		if t.a.in.Log.Communicators[comm].Ranks == 1 && known {
			continue
		}
		all = append(all, slices.DeleteFunc(t.lacking(key), func(x lacking) bool { return t.used[x.call] || t.vague(x.call) })...)
	}
	t.append(all)
}

// logHas says whether the log tells of a communicator by its id: its calls are there, of one rank or before the recording.
func (t *telling) logHas(key commKey) bool {
	log := t.a.in.Log
	for i := range log.Communicators {
		if c := &log.Communicators[i]; c.Process == t.k.Process && c.ID == key.hash && c.Calls > 0 {
			return true
		}
	}
	return false
}
