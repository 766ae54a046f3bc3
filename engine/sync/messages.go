package sync

// way is the messages of one rank to another.
type way struct {
	group    int32
	from, to int32
}

// leastHeld is how many messages, received after they were sent, show whether their sender waited for that.
const leastHeld = 10

// learnKinds finds which kinds of call block, in a job with messages: no rank continues before the last entry of a
// blocking call. A send gives and does not wait by nature; one over Gloo, or of more than a buffer holds, waits for its
// receiver. One whose rank recorded that it asked for it after its next call does not.
func (t *Waits) learnKinds() {
	count, early := make([]int, len(t.Kinds)), make([]int, len(t.Kinds))
	type held struct {
		count       int
		wait, early int64 // from send to receipt; of that, after the sender's next call
		asked       int   // how many the sender asked for after its next call
	}
	sends := make(map[way]*held)
	messages := false
	for r := range t.Ranks {
		for i := 1; i < len(t.Ranks[r].Calls); i++ {
			before := Nth(r, i-1)
			at, p := t.Time(Nth(r, i)), t.Of[r][i-1]
			k := t.Call(before).Kind
			messages = messages || t.IsMessage(t.Call(before))
			if len(t.Points[p].Entries) < 2 {
				continue
			}
			if t.Points[p].Message && t.isSend(before) {
				if wait := t.Release[p] - t.Time(before); wait > 0 {
					w := t.wayOf(before)
					if sends[w] == nil {
						sends[w] = new(held)
					}
					sends[w].count++
					sends[w].wait += wait
					free := t.free(r, i)
					sends[w].early += max(0, t.Release[p]-max(free, t.Time(before)))
					if t.Time(before)+t.Call(before).Held > free {
						sends[w].asked++
					}
				}
				continue
			}
			if count[k]++; at < t.ReleaseFor(before) {
				early[k]++
			}
		}
	}
	if !messages {
		return
	}
	t.Blocks = make([]bool, len(t.Kinds))
	for k := range t.Blocks {
		t.Blocks[k] = count[k] > 0 && early[k]*100 <= count[k]
	}
	t.heldSenders = make(map[way]bool)
	for w, n := range sends {
		t.heldSenders[w] = n.count >= leastHeld && n.early*20 <= n.wait && 2*n.asked <= n.count
	}
}

// free returns when a rank enters call i, or the first after it that is no receive: until then it waits.
func (t *Waits) free(r, i int) int64 {
	for ; i+1 < len(t.Ranks[r].Calls) && t.IsReceive(Nth(r, i)); i++ {
	}
	return t.Time(Nth(r, i))
}

// IsReceive reports whether an entry is that of a receive.
func (t *Waits) IsReceive(e Entry) bool { return t.IsMessage(t.Call(e)) && !t.isSend(e) }

// wayOf returns the way of a message.
func (t *Waits) wayOf(e Entry) way {
	from, to := t.messageEnds(int(e.Process), *t.Call(e))
	return way{t.Call(e).Group, from, to}
}
