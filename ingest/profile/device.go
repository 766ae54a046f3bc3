package profile

import (
	"cmp"
	"slices"
)

// deviceSteps accounts for the device time of all steps.
func (b *Builder) deviceSteps(r *Rank, h host) {
	byStep := make([][]work, len(r.Steps))
	for _, w := range b.works.all {
		if s := h.stepAt(w.launch); s >= 0 {
			byStep[s] = append(byStep[s], w)
		}
	}
	drained := int64(0) // when the work of earlier steps had ended
	for s := range r.Steps {
		step := &r.Steps[s]
		works := byStep[s]
		from := max(step.Start, drained)
		for _, w := range works {
			drained = max(drained, w.end)
		}
		next := step.End
		if s+1 < len(r.Steps) {
			next = r.Steps[s+1].Start
		}
		step.Time = &Categories{Start: from, End: max(next, drained, from)}
		if len(works) == 0 {
			continue
		}
		slices.SortFunc(works, func(x, y work) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end)) })
		a := account{h: h, step: s, device: &Device{Start: from, End: step.Time.End,
			Own: make([]int64, step.microsteps()*len(r.Stages)), Busy: make([]int64, step.microsteps()*len(r.Stages))}}
		a.run(works)
		a.busy(works)
		step.Device = a.device
	}
	b.occupied.categories(r.Steps)
}

// account divides the time of one step on the device.
type account struct {
	h      host
	step   int
	device *Device
	now    int64
	active []running
}

// running is work that has begun and not ended.
type running struct {
	work
	slot int
}

// maxActive is how much work is followed at one time; a device runs far less.
const maxActive = 256

// run goes through the work by start.
func (a *account) run(works []work) {
	a.now = a.device.Start
	for _, w := range works {
		a.advance(w.start)
		if w.start > a.now { // nothing ran until w
			a.idle(w)
		}
		if len(a.active) >= maxActive {
			a.active = a.active[1:]
		}
		a.active = append(a.active, running{w, a.h.slot(a.step, w.launch)})
	}
	a.advance(a.device.End)
	a.hostUntil(a.device.End)
}

// advance accounts for running work up to a moment, or until all has ended.
func (a *account) advance(to int64) {
	for {
		a.active = slices.DeleteFunc(a.active, func(r running) bool { return r.end <= a.now })
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
		a.own(a.active[first].slot, to-a.now)
		return
	}
	r := &a.active[exposed]
	d := a.device
	stage, micro := a.h.staged(r.slot)
	if n := len(d.Exposed); n > 0 && d.Exposed[n-1].End == a.now && d.Exposed[n-1].Collective == int(r.collective) && d.Exposed[n-1].Stage == stage && d.Exposed[n-1].Microstep == micro {
		d.Exposed[n-1].End = to
		return
	}
	e := Exposure{Stage: stage, Microstep: micro, Collective: int(r.collective), Start: a.now, End: to}
	if r.slot >= 0 {
		e.Before = d.Own[r.slot]
	}
	d.Exposed = append(d.Exposed, e)
}

// idle accounts for the time until w, in which nothing runs.
func (a *account) idle(w work) {
	a.hostUntil(min(w.start, w.launch))
	if a.now < w.start {
		a.own(a.h.slot(a.step, w.launch), w.start-a.now)
		a.now = w.start
	}
}

// hostUntil gives idle time to the stages that the host is in.
func (a *account) hostUntil(to int64) {
	s := &a.h.steps[a.step]
	for _, span := range s.Spans {
		if from, end := max(span.Start, a.now), min(span.End, to); from < end {
			a.own(s.microstep(span.Start)*a.h.stages+span.Stage, end-from)
		}
	}
	a.now = max(a.now, to)
}

func (a *account) own(slot int, ns int64) {
	if slot >= 0 {
		a.device.Own[slot] += ns
	}
}

// busy is the time in which work of each stage ran, communication apart.
func (a *account) busy(works []work) {
	until := make([]int64, len(a.device.Busy))
	for _, w := range works {
		slot := a.h.slot(a.step, w.launch)
		if slot < 0 || w.kind == Communication {
			continue
		}
		if from := max(w.start, until[slot]); from < w.end {
			a.device.Busy[slot] += min(w.end-from, w.busy)
			until[slot] = w.end
		}
	}
}
