package profiler

import (
	"slices"
	"sort"
	"strings"

	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/stagename"
)

// SynchronisesBy reports whether a call of a runtime or driver with this name waits for the device: "cudaStreamSynchronize_v3020",
// and copies that are not asynchronous.
func SynchronisesBy(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "synchronize") || strings.Contains(name, "memcpy") && !strings.Contains(name, "async")
}

// Synchronises reports whether a call of the host with this name waits for the device.
func (b *Builder) Synchronises(id NameID) bool { return b.means[id].synchronises }

// AddSynchronisation adds time, ns, in which a thread of the host waited for the device.
func (b *Builder) AddSynchronisation(start, end int64) {
	if len(b.synced) < maxPieces {
		b.synced = append(b.synced, interval{start, end})
	}
}

// idleTime divides the time in which nothing ran on the device by what the work behind it waited for. Until it was launched, the device waited
// for the host: in a stage that waits for data; behind a synchronisation, where the host had waited until nothing ran; or else because the host
// launches more slowly than the device works. From the launch on the work had to begin.
type idleTime struct {
	steps  []profile.Step
	data   []bool     // by stage: it waits for data
	synced []interval // by start, apart from each other
	step   int        // the first that a later gap may lie in
	end    int64      // of what ran so far
}

// newIdling begins before the first step of a rank, whose times on the device are known.
func (b *Builder) newIdling(r *profile.Rank) *idleTime {
	o := &idleTime{steps: r.Steps, end: r.Steps[0].Time.Start}
	for _, name := range r.Stages {
		o.data = append(o.data, strings.HasPrefix(name, stagename.DataStem))
	}
	slices.SortFunc(b.synced, func(x, y interval) int { return int(min(1, max(-1, x.start-y.start))) })
	for _, s := range b.synced {
		if n := len(o.synced); n > 0 && s.start <= o.synced[n-1].end {
			o.synced[n-1].end = max(o.synced[n-1].end, s.end)
			continue
		}
		o.synced = append(o.synced, s)
	}
	return o
}

// add takes a piece of work, by start.
func (o *idleTime) add(w *work) {
	if w.start > o.end {
		switch launched := min(max(w.launch, o.end), w.start); {
		case w.thread == noThread:
			o.charge(interval{o.end, w.start}, func(t *profile.IdleTimes, ns int64) { t.Unknown += ns })
		default:
			o.hostLate(interval{o.end, launched})
			o.charge(interval{launched, w.start}, func(t *profile.IdleTimes, ns int64) { t.Launched += ns })
		}
	}
	o.end = max(o.end, w.end)
}

// finish takes the time behind the last work.
func (o *idleTime) finish() {
	if last := o.steps[len(o.steps)-1].Time.End; last > o.end {
		o.hostLate(interval{o.end, last})
	}
}

// drained is by how much clocks of host and device may differ for the end of a synchronisation to be that of the work, ns.
const drained = 20_000

// hostLate charges time in which the device waited for the host to launch.
func (o *idleTime) hostLate(gap interval) {
	if gap.start >= gap.end {
		return
	}
	i := sort.Search(len(o.synced), func(i int) bool { return o.synced[i].start > gap.start }) - 1
	rest := func(t *profile.IdleTimes, ns int64) { t.Host += ns }
	if i >= 0 && o.synced[i].end >= gap.start-drained {
		rest = func(t *profile.IdleTimes, ns int64) { t.Synchronised += ns }
	}
	at := gap.start
	for s := max(0, o.hostStep(gap.start)); s < len(o.steps) && o.steps[s].Start < gap.end; s++ {
		for _, span := range o.steps[s].Spans {
			part := interval{max(span.Start, at), min(span.End, gap.end)}
			if !o.data[span.Stage] || part.start >= part.end {
				continue
			}
			o.charge(interval{at, part.start}, rest)
			o.charge(part, func(t *profile.IdleTimes, ns int64) { t.Data += ns })
			at = part.end
		}
	}
	o.charge(interval{at, gap.end}, rest)
}

// hostStep returns the step that the host was in at a moment, −1: before the first.
func (o *idleTime) hostStep(t int64) int {
	return sort.Search(len(o.steps), func(i int) bool { return o.steps[i].Start > t }) - 1
}

// charge adds a piece of time to the steps that it lies in on the device, for a reason.
func (o *idleTime) charge(gap interval, to func(t *profile.IdleTimes, ns int64)) {
	for o.step < len(o.steps) && o.steps[o.step].Time.End <= gap.start {
		o.step++
	}
	for s := o.step; s < len(o.steps) && o.steps[s].Time.Start < gap.end; s++ {
		c := o.steps[s].Time
		if part := (interval{max(gap.start, c.Start), min(gap.end, c.End)}); part.start < part.end {
			to(&o.steps[s].Idling, part.length())
		}
	}
}
