package sync

import (
	"cmp"
	"math"
	"slices"
)

// Where ranks wait for each other in messages alone, a rank enters a call after its own work since the call before, and
// since all messages are done that it has waited for by then. A message is done for a receiver, and for a sender that is
// held, when both of its ends have entered and it is transferred; for other senders at once.

// OwnWork returns the work of a rank before each of its calls, without waits for messages, ns; 0 before the first. Time
// is O(calls · ranks that it exchanges messages with).
func (t *Waits) OwnWork(rank int) []int64 {
	out, open := make([]int64, len(t.Ranks[rank].Calls)), pending{}
	for i := range out {
		e := Nth(rank, i)
		if i > 0 {
			from := t.Time(Previous(e, 1))
			t.takeDone(open, t.Time(e), func(m Entry) { from = max(from, t.completion(m, t.Time)) })
			out[i] = t.Time(e) - from
		}
		t.addMessage(open, e)
	}
	return out
}

// pending are the messages of a rank, by way, that it has not waited for yet.
type pending map[way][]Entry

func (t *Waits) addMessage(open pending, e Entry) {
	if t.IsMessage(t.Call(e)) {
		open[t.wayOf(e)] = append(open[t.wayOf(e)], e)
	}
}

// takeDone removes the messages that are done by a time, those of a way in their order, and calls f with each.
func (t *Waits) takeDone(open pending, by int64, f func(m Entry)) {
	for w, list := range open {
		n := 0
		for ; n < len(list) && t.completion(list[n], t.Time) <= by; n++ {
			f(list[n])
		}
		open[w] = list[n:]
	}
}

// Replay returns when the last rank enters its last call, as recorded and with the work before some entries shorter, ns;
// shorter returns by how much. Time is O(calls · (log calls + ranks that exchange messages)).
func (t *Waits) Replay(shorter func(e Entry) int64) (recorded, replayed int64) {
	var order []Entry
	own, now, open := make([][]int64, len(t.Ranks)), make([][]int64, len(t.Ranks)), make([]pending, len(t.Ranks))
	for r := range t.Ranks {
		own[r], now[r], open[r] = t.OwnWork(r), slices.Clone(t.times[r]), pending{} // now is when calls are entered, as replayed
		for i := range own[r] {
			order = append(order, Nth(r, i))
		}
	}
	slices.SortStableFunc(order, func(a, b Entry) int { return cmp.Compare(t.Time(a), t.Time(b)) })
	at := func(e Entry) int64 { return now[e.Process][e.Call] }
	recorded, replayed = math.MinInt64, math.MinInt64
	for _, e := range order {
		r := e.Process
		if e.Call > 0 {
			from := at(Previous(e, 1))
			t.takeDone(open[r], t.Time(e), func(m Entry) { from = max(from, t.completion(m, at)) })
			now[r][e.Call] = from + max(0, own[r][e.Call]-shorter(e))
		}
		t.addMessage(open[r], e)
		recorded, replayed = max(recorded, t.Time(e)), max(replayed, at(e))
	}
	return recorded, replayed
}

// completion returns when a message is done for one end, by when ends enter it.
func (t *Waits) completion(m Entry, at func(Entry) int64) int64 {
	if t.isSend(m) && !t.heldSenders[t.wayOf(m)] {
		return at(m)
	}
	last := at(m)
	for _, e := range t.Points[t.Of[m.Process][m.Call]].Entries {
		last = max(last, at(e))
	}
	return last + min(t.transferTime(m), t.transfers[t.wayOf(m)])
}

// transferTime returns how long a message took after both ends had entered, as recorded by one end, ns; 0: not known. It
// includes the time after completion until that end asks for it.
func (t *Waits) transferTime(m Entry) int64 {
	if t.Call(m).Held == 0 {
		return 0
	}
	last := t.Time(m)
	for _, e := range t.Points[t.Of[m.Process][m.Call]].Entries {
		last = max(last, t.Time(e))
	}
	return max(0, t.Time(m)+t.Call(m).Held-last)
}

// learnTransfers finds how long the messages of each way take at most: a quarter of them are asked for no later than
// they are done.
func (t *Waits) learnTransfers() {
	took := map[way][]int64{}
	for r := range t.Ranks {
		for i := range t.Ranks[r].Calls {
			if m := Nth(r, i); t.IsReceive(m) {
				took[t.wayOf(m)] = append(took[t.wayOf(m)], t.transferTime(m))
			}
		}
	}
	t.transfers = map[way]int64{}
	for w, x := range took {
		t.transfers[w] = quantile(x, 1, 4)
	}
}
