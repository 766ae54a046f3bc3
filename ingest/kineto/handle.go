package kineto

import (
	"bytes"
	"hash/fnv"
	"slices"

	"github.com/sfstat/sfstat/ingest/profiler"
)

// earliest and latest bound the times that are taken, in ns, so that no
// difference of two overflows, also when they are shifted.
const (
	earliest = -1 << 61
	latest   = 1 << 62
)

// handle gives the event to the builder.
func (d *reader) handle() {
	e := &d.e
	switch e.phase {
	case 'X', 0:
		if !e.hasTime || e.phase == 0 && !e.hasDur {
			if e.phase == 'X' || e.badTime {
				d.untimed.add(d.s.pos())
			}
			return
		}
		if !e.hasDur {
			d.endless.add(d.s.pos())
		}
		if e.dur < 0 {
			d.negative.add(d.s.pos())
			e.dur = 0
		}
		d.complete(e)
	case 'B', 'E':
		d.halfRange(e)
	}
}

// complete takes an event with a beginning and an end.
func (d *reader) complete(e *event) {
	if e.ts < earliest || e.ts+e.dur > latest {
		d.untimed.add(d.s.pos())
		return
	}
	d.timed++
	switch string(e.cat) {
	case "cpu_op", "user_annotation", "Operator", "":
		d.host(e)
	case "kernel", "Kernel", "hpu_op", "mtia_ccp_events":
		d.work(e, profiler.Compute)
	case "gpu_memcpy", "gpu_memset", "Memcpy", "Memset":
		d.work(e, profiler.Memory)
	case "cuda_runtime", "cuda_driver", "Runtime":
		d.launch(e)
	case "python_function":
		d.function(e)
	default:
		d.foreign(e)
	}
}

// foreign takes an event of a category that is named after an accelerator:
// "xpu_runtime", "mlu_memcpy".
func (d *reader) foreign(e *event) {
	ends := func(ending string) bool {
		n := len(e.cat) - len(ending)
		return n > 0 && bytes.EqualFold(e.cat[n:], []byte(ending))
	}
	switch {
	case ends("_runtime"), ends("_driver"):
		d.launch(e)
	case ends("_memcpy"), ends("_memset"):
		d.work(e, profiler.Memory)
	default:
		d.unknown.meet(e.cat)
	}
}

const paramComms = "record_param_comms"

// host takes a range on the host, if its name means anything.
func (d *reader) host(e *event) {
	if bytes.HasPrefix(e.name, []byte("aten::")) {
		return
	}
	if string(e.name) == paramComms {
		c := d.call(e)
		c.Thread, c.Start, c.End = number(e.tid), e.ts, e.ts+e.dur
		d.b.Call(c)
		return
	}
	id := d.b.Name(e.name)
	if d.b.IsDispatch(id) {
		d.b.Dispatch(id, number(e.tid), e.ts, e.ts+e.dur)
	}
	matters := d.b.Matters
	if string(e.cat) == "cpu_op" {
		matters = d.b.MattersAsOperator
	}
	if matters(id) {
		if d.b.MarksStep(id) {
			d.stepping.add(e.pid)
		}
		d.b.Range(id, number(e.tid), e.ts, e.ts+e.dur)
	}
}

// launch takes a call of the runtime or the driver, if it puts work on the
// device or waits for it.
func (d *reader) launch(e *event) {
	id := d.b.Name(e.name)
	if shape := d.b.LaunchShape(id); shape != profiler.LaunchesNothing {
		d.b.Launch(number(e.tid), correlation(e.args), e.ts, shape)
	}
	if d.b.Synchronises(id) {
		d.b.AddSynchronisation(e.ts, e.ts+e.dur)
	}
}

// work takes something that ran on the device.
func (d *reader) work(e *event, kind profiler.Kind) {
	id := d.b.Name(e.name)
	w := profiler.Work{Name: id, Queue: number(e.pid)<<32 ^ number(e.tid), Start: e.ts, End: e.ts + e.dur, Correlation: correlation(e.args), Kind: kind}
	if kind == profiler.Compute {
		told := bytes.Contains(e.args, []byte(`"Collective name"`))
		if w.Kind = d.b.KindOf(id); told {
			w.Kind = profiler.Communication
		}
		if told {
			c := d.call(e)
			w.Call = &c
		}
	}
	d.b.Work(w)
}

// correlation returns the number that ties work to its launch, 0: none.
func correlation(args []byte) int64 {
	for _, key := range [...]string{`correlation":`, `Correlation ID":`, `correlation" :`} {
		at := bytes.Index(args, []byte(key))
		if at < 0 {
			continue
		}
		i := skipSpace(args, at+len(key))
		n, st := valueEnd(args[i:])
		if st != whole {
			return 0
		}
		c, _ := integer(args[i : i+n])
		return c
	}
	return 0
}

// number returns a process, thread or stream: its number, or one made of its name.
func number(v []byte) int64 {
	if n, ok := integer(v); ok {
		return n
	}
	h := fnv.New64a()
	h.Write(v)
	return int64(h.Sum64() >> 1)
}

// begin is the first half of an event in two.
type begin struct {
	cat, name string
	ts        int64
}

// maxBegun bounds the halves that wait.
const maxBegun = 1 << 16

// matchingBegin returns which of the ranges that have begun an end belongs to: the last one,
// or the last of its name where it has one, of those that began last.
func matchingBegin(stack []begin, name []byte) int {
	const reach = 64
	for i := len(stack) - 1; len(name) > 0 && i >= max(0, len(stack)-reach); i-- {
		if stack[i].name == string(name) {
			return i
		}
	}
	return len(stack) - 1
}

// halfRange takes the beginning or the end of a range on the host.
func (d *reader) halfRange(e *event) {
	if !e.hasTime {
		d.untimed.add(d.s.pos())
		return
	}
	thread := number(e.tid)
	stack := d.begun[thread]
	if e.phase == 'B' {
		if d.open < maxBegun {
			d.open++
			d.begun[thread] = append(stack, begin{d.word(e.cat), d.word(e.name), e.ts})
		}
		return
	}
	if len(stack) == 0 {
		return
	}
	at := matchingBegin(stack, e.name)
	b := stack[at]
	d.begun[thread] = slices.Delete(stack, at, at+1)
	d.open--
	full := *e
	full.cat, full.name, full.ts, full.dur = []byte(b.cat), []byte(b.name), b.ts, max(0, e.ts-b.ts)
	d.complete(&full)
}
