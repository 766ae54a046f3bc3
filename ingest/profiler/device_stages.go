package profiler

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/profile"
)

// deviceSteps accounts for the device time of all steps, in two passes over
// the work by start: the first finds until when the work of each step ran. An
// error is of the temporary file.
func (b *Builder) deviceSteps(r *profile.Rank, h host, o *operators) error {
	ends := slices.Repeat([]int64{math.MinInt64}, len(r.Steps))
	ranges := b.communicationRanges()
	err := b.works.eachByStart(&b.launches, func(w *work) {
		if w.collective >= 0 {
			b.collectives[w.collective].launch = w.launch
		}
		if w.kind == Communication {
			ranges.markNamed(w)
		}
		if s := h.stepAt(w.launch); s >= 0 {
			ends[s] = max(ends[s], w.end)
		}
	})
	if err != nil {
		return err
	}
	if len(r.Steps) == 0 {
		return nil
	}
	timeSteps(r.Steps, ends)
	var ran busyTime
	idle := b.newIdling(r)
	accounts := make([]*account, len(r.Steps))
	err = b.works.eachByStart(&b.launches, func(w *work) {
		if w.kind == Compute && ranges.communicatesByRange(w) {
			b.communicates(w)
		}
		ran.add(w, r.Steps)
		idle.add(w)
		s := h.stepAt(w.launch)
		if s < 0 {
			return
		}
		slot := h.slot(s, w.launch)
		if accounts[s] == nil {
			accounts[s] = newAccount(r, h, s)
		}
		accounts[s].add(w, slot)
		stage, _ := h.stageAndMicrostep(slot)
		o.add(w, s, stage)
	})
	if err != nil {
		return err
	}
	ran.finish(r.Steps)
	idle.finish()
	for _, a := range accounts {
		if a != nil {
			a.finish()
		}
	}
	return nil
}

// timeSteps sets when each step begins and ends on the device, by when the work
// that it launched had ended.
func timeSteps(steps []profile.Step, ends []int64) {
	drained := int64(math.MinInt64) // when the work of earlier steps had ended
	for s := range steps {
		step := &steps[s]
		from := max(step.Start, drained)
		drained = max(drained, ends[s])
		next := step.End
		if s+1 < len(steps) {
			next = steps[s+1].Start
		}
		step.Time = &profile.Categories{Start: from, End: max(next, drained, from)}
	}
}

// account divides the time of one step on the device.
type account struct {
	h       host
	step    *profile.Step
	device  *profile.Device
	now     int64
	active  []runningWork
	until   []int64          // by slot: the end of the work that it launched
	exposed profile.Exposure // that may go on
	loose   int64            // time of no stage since a stage exposed communication
}

// runningWork is work that has begun and not ended.
type runningWork struct {
	work
	slot int
}

// maxActive is how much work is followed at one time; a device runs far less.
const maxActive = 256

// newAccount begins the account of a step.
func newAccount(r *profile.Rank, h host, step int) *account {
	s := &r.Steps[step]
	n := s.MicrostepCount() * len(r.Stages)
	s.Device = &profile.Device{Start: s.Time.Start, End: s.Time.End, Own: make([]int64, n), Busy: make([]int64, n)}
	return &account{h: h, step: s, device: s.Device, now: s.Time.Start, until: slices.Repeat([]int64{math.MinInt64}, n)}
}

// add takes work that the step launched in a slot, by start.
func (a *account) add(w *work, slot int) {
	a.advance(w.start)
	if w.start > a.now { // nothing ran until w
		a.idle(w, slot)
	}
	if len(a.active) >= maxActive {
		a.active = slices.Delete(a.active, 0, 1)
	}
	a.active = append(a.active, runningWork{*w, slot})
	if slot >= 0 && w.kind != Communication {
		if from := max(w.start, a.until[slot]); from < w.end {
			a.device.Busy[slot] += w.end - from
			a.until[slot] = w.end
		}
	}
}

// finish accounts for the rest of the step.
func (a *account) finish() {
	a.advance(a.device.End)
	a.hostUntil(a.device.End)
	a.endExposure()
}

// advance accounts for running work up to a moment, or until all has ended.
func (a *account) advance(to int64) {
	for {
		a.active = slices.DeleteFunc(a.active, func(r runningWork) bool { return r.end <= a.now })
		if len(a.active) == 0 || a.now >= to {
			return
		}
		next := to
		for _, r := range a.active {
			next = min(next, r.end)
		}
		a.charge(next)
		a.now = next
	}
}

// charge gives now … to, in which the active set stands, to a stage: that of
// the work launched first among what does not communicate, else it is exposed
// communication.
func (a *account) charge(to int64) {
	first, exposed := -1, -1
	for i := range a.active {
		at := &first
		if a.active[i].kind == Communication {
			at = &exposed
		}
		if *at < 0 || a.active[i].launch < a.active[*at].launch {
			*at = i
		}
	}
	if first >= 0 {
		a.addOwn(a.active[first].slot, to-a.now)
		return
	}
	a.expose(&a.active[exposed], to)
}

// expose gives now … to to exposed communication.
func (a *account) expose(r *runningWork, to int64) {
	stage, micro := a.h.stageAndMicrostep(r.slot)
	if stage < 0 {
		a.loose += to - a.now
	} else {
		a.device.Unmapped += a.loose
		a.loose = 0
	}
	e := profile.Exposure{Stage: stage, Microstep: micro, Call: int(r.collective), Start: a.now, End: to}
	if last := &a.exposed; last.End == e.Start && last.Call == e.Call && last.Stage == e.Stage && last.Microstep == e.Microstep && last.Start < last.End {
		last.End = to
		return
	}
	if r.slot >= 0 {
		e.Before = a.device.Own[r.slot]
	}
	a.endExposure()
	a.exposed = e
}

// endExposure notes that the exposure that may have gone on did not.
func (a *account) endExposure() {
	if a.exposed.Start < a.exposed.End {
		a.device.Exposed.Add(a.exposed)
	}
}

// idle accounts for the time until work of a slot began, in which nothing ran.
func (a *account) idle(w *work, slot int) {
	a.hostUntil(min(w.start, w.launch))
	if a.now < w.start {
		a.addOwn(slot, w.start-a.now)
		a.now = w.start
	}
}

// hostUntil gives idle time to the stages that the host is in.
func (a *account) hostUntil(to int64) {
	a.loose += max(0, to-a.now)
	for _, span := range a.step.Spans {
		if from, end := max(span.Start, a.now), min(span.End, to); from < end {
			a.addOwn(a.step.MicrostepAt(span.Start)*a.h.stages+span.Stage, end-from)
			a.loose -= end - from
		}
	}
	a.now = max(a.now, to)
}

// addOwn adds time in which a slot's own work ran; where slot is negative, of no stage.
func (a *account) addOwn(slot int, ns int64) {
	if slot < 0 {
		a.loose += ns
		return
	}
	a.device.Own[slot] += ns
}
