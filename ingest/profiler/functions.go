package profiler

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/profile"
)

// ShortestFunction is the length, in ns, below which a call of a function counts as
// its caller's: nearly all are shorter, and none of them holds anybody up.
const ShortestFunction = 10_000

// maxFunctions is how many calls are kept, 32 bytes each.
const maxFunctions = 1 << 20

// function is a call of a function of the training script or its libraries.
type function struct {
	start, end int64
	thread     int64
	name       NameID
}

// Function adds a call of a function of the program, by its name and its line. Their
// own times stand for operators where the rank recorded no work on a device.
func (b *Builder) Function(id NameID, thread, start, end int64) {
	if len(b.functions) >= maxFunctions {
		b.lostFunctions++
		return
	}
	b.functions = append(b.functions, function{start, end, thread, id})
}

// sumFunctions adds up by step and stage what the functions on the thread that marks
// steps took themselves, without those that they called. Where some were too many to
// keep, none is: a part would mislead. O(n log n).
func (o *operators) sumFunctions(h host) {
	if o.b.lostFunctions > 0 {
		o.r.TalliesLost = true
		return
	}
	calls := slices.DeleteFunc(o.b.functions, func(f function) bool { return f.thread != h.thread })
	slices.SortStableFunc(calls, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var stack []function // those under way, the innermost last
	at := int64(0)       // up to where time is given out
	give := func(until int64) {
		if n := len(stack); n > 0 && until > at {
			o.addSelfTime(stack[n-1].name, h, at, until)
		}
		at = max(at, until)
	}
	leave := func(until int64) {
		for n := len(stack); n > 0 && stack[n-1].end <= until; n = len(stack) {
			give(stack[n-1].end)
			stack = stack[:n-1]
		}
		give(until)
	}
	for _, f := range calls {
		leave(f.start)
		stack = append(stack, f)
		if t := o.tallyOf(f.name, h, f.start); t != nil {
			t.Count++
		}
	}
	if len(stack) > 0 {
		leave(stack[0].end)
	}
	o.r.Functions = len(o.r.Tallies) > 0
}

// tallyOf returns the tally of a function where the host is at a moment; nil outside of
// the steps.
func (o *operators) tallyOf(id NameID, h host, at int64) *profile.Tally {
	step := h.stepAt(at)
	if step < 0 {
		return nil
	}
	return o.tallyAt(place{int32(id), int32(step), int32(h.stageAt(step, at))})
}

// addSelfTime adds time that a function took itself to the stages that it lies in.
func (o *operators) addSelfTime(id NameID, h host, from, to int64) {
	for from < to {
		until := min(to, h.changes(from))
		if t := o.tallyOf(id, h, from); t != nil {
			t.Count, t.Dur = max(1, t.Count), t.Dur+until-from
		}
		from = until
	}
}
