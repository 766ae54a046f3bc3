package profiler

import "github.com/sfstat/sfstat/trace/profile"

// interval is time from its first moment to its last, without that.
type interval struct{ start, end int64 }

// union is the time in any of many intervals, which come by start, as it lies
// in the steps, whose times touch and ascend. O(1) for each on average.
type union struct {
	now  interval // that the next one may touch
	step int      // the first that may go on
	any  bool
}

// add takes an interval. Those that do not touch it are complete, and done is
// called with what of them lies in each step.
func (u *union) add(i interval, steps []profile.Step, done func(c *profile.Categories, part interval)) {
	if u.any && i.start <= u.now.end {
		u.now.end = max(u.now.end, i.end)
		return
	}
	u.flush(steps, done)
	u.now, u.any = i, true
}

// flush completes the last interval.
func (u *union) flush(steps []profile.Step, done func(c *profile.Categories, part interval)) {
	if !u.any {
		return
	}
	for u.step < len(steps) && steps[u.step].Time.End <= u.now.start {
		u.step++
	}
	for s := u.step; s < len(steps) && steps[s].Time.Start < u.now.end; s++ {
		c := steps[s].Time
		if part := (interval{max(u.now.start, c.Start), min(u.now.end, c.End)}); part.start < part.end {
			done(c, part)
		}
	}
}

// busyTime is when work of each kind ran.
type busyTime struct {
	of          [kinds]union
	busy        union // any kind
	computeComm union // compute or communication
}

// add takes a piece of work, by start.
func (o *busyTime) add(w *work, steps []profile.Step) {
	i := interval{w.start, w.end}
	o.of[w.kind].add(i, steps, counts[w.kind])
	o.busy.add(i, steps, countBusy)
	if w.kind != Memory {
		o.computeComm.add(i, steps, countComputeComm)
	}
}

// counts adds what ran of each kind to a step's account.
var counts = [kinds]func(c *profile.Categories, part interval){
	Compute:       func(c *profile.Categories, part interval) { c.Compute += part.length() },
	Communication: func(c *profile.Categories, part interval) { c.Communication += part.length() },
	Memory:        func(c *profile.Categories, part interval) { c.Memory += part.length() },
}

func countBusy(c *profile.Categories, part interval) {
	if c.First == c.Last {
		c.First = part.start
	}
	c.Last = part.end
	c.Idle -= part.length()
}

// countComputeComm adds what compute and communication take together: communication that no compute covers is what both together
// take beyond compute.
func countComputeComm(c *profile.Categories, part interval) { c.ExposedComm += part.length() }

func (i interval) length() int64 { return i.end - i.start }

// finish completes the accounts.
func (o *busyTime) finish(steps []profile.Step) {
	for kind := range o.of {
		o.of[kind].flush(steps, counts[kind])
	}
	o.busy.flush(steps, countBusy)
	o.computeComm.flush(steps, countComputeComm)
	for i := range steps {
		c := steps[i].Time
		c.Idle += c.End - c.Start
		c.ExposedComm -= c.Compute
	}
}
