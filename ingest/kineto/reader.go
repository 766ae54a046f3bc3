package kineto

import (
	"bytes"
	"hash/fnv"
	"io"
	"strings"

	"github.com/sfstat/sfstat/ingest/profile"
	"github.com/sfstat/sfstat/ingest/profile/stagemap"
	"github.com/sfstat/sfstat/trace"
)

// Read reads one trace; name stands in errors and notes, and Map leads
// annotations to stages, nil: as is built in. The rank is what the file itself
// tells; profile.Identify looks further. An input that ends too early gives
// what it has, with a note. O(size) time.
func Read(r io.Reader, name string, m *stagemap.Map) (*profile.Rank, error) {
	d := &reader{s: newScanner(r, name), b: profile.NewBuilder(m), groups: make(map[string][]int), begun: make(map[int64][]begin)}
	if err := d.document(); err != nil {
		return nil, trace.At(trace.Pos{File: name}, err)
	}
	d.tell()
	rank := d.b.Finish()
	rank.Source = name
	d.info.apply(rank)
	if len(rank.Steps) == 0 {
		return nil, trace.At(trace.Pos{File: name}, trace.Bad(trace.ErrEmpty, "a profiler trace without timed events"))
	}
	return rank, nil
}

// reader takes one trace apart.
type reader struct {
	s    *scanner
	b    *profile.Builder
	e    event
	info info

	shapes []shape          // by name: is it a launch?
	groups map[string][]int // members, by the text that lists them
	begun  map[int64][]begin
	open   int // begins that wait for their end

	cut      bool
	events   int64
	damaged  counted
	untimed  counted
	negative counted
}

// counted is how many events had something, and where the first was.
type counted struct {
	n     int64
	first trace.Pos
}

func (c *counted) add(at trace.Pos) {
	if c.n++; c.n == 1 {
		c.first = at
	}
}

// document reads the input: an object with the events in it, or an array of
// events.
func (d *reader) document() error {
	switch d.s.peek() {
	case '[':
		d.s.i++
		return d.list()
	case '{':
		d.s.i++
		return d.object()
	case 0:
		if _, err := d.s.ended(); err != nil {
			return err
		}
		return d.s.fail(trace.ErrEmpty, "empty: the job may not have written anything yet")
	}
	return d.s.fail(trace.ErrFormat, "%q, expected a profiler trace: an object with traceEvents, or an array of events", d.s.buf[d.s.i])
}

// object reads the members of the document up to its end.
func (d *reader) object() error {
	const maxKey = 1 << 16
	for {
		switch d.s.peek() {
		case ',':
			d.s.i++
			continue
		case '}':
			return nil
		case 0:
			return d.ended()
		case '"':
		default:
			return d.broken("expected a key")
		}
		text, ok := d.s.str(maxKey)
		if !ok {
			return d.ended()
		}
		key := string(text)
		if c := d.s.peek(); c != ':' {
			if c == 0 {
				return d.ended()
			}
			return d.broken("expected a colon behind the key " + key)
		}
		d.s.i++
		if err := d.member(key); err != nil {
			return err
		}
		if d.cut {
			return nil
		}
	}
}

// member reads the value of a member of the document.
func (d *reader) member(key string) error {
	c := d.s.peek()
	if c == 0 {
		return d.ended()
	}
	switch {
	case key == "traceEvents" && c == '[':
		d.s.i++
		return d.list()
	case metadata[key]:
		v, err := d.s.capture()
		if err == nil && v == nil {
			return d.ended()
		}
		if err == nil {
			d.info.take(key, v)
		}
		return err
	}
	complete, err := d.s.skip()
	if err == nil && !complete {
		return d.ended()
	}
	return err
}

// ended notes that the input ended too early, unless something else ended it.
func (d *reader) ended() error {
	cut, err := d.s.ended()
	d.cut = d.cut || cut
	return err
}

// broken ends the reading where the document is no JSON: with an error when
// there were no events yet.
func (d *reader) broken(expected string) error {
	if d.events == 0 {
		return d.s.fail(trace.ErrFormat, "%q, %s", d.s.buf[d.s.i], expected)
	}
	d.damaged.add(d.s.pos())
	d.cut = true
	return nil
}

// list reads events up to the end of their array.
func (d *reader) list() error {
	for {
		switch d.s.peek() {
		case ',':
			d.s.i++
		case ']':
			d.s.i++
			return nil
		case 0:
			return d.ended()
		case '{':
			if done, err := d.next(); done || err != nil {
				return err
			}
		default:
			if done, err := d.resume(); done || err != nil {
				return err
			}
		}
	}
}

// lenientReach is how far the end of an event is looked for whose strings are
// not what they seem, and lenientTries how often that may be in vain: the cost
// of it must not grow with hostile input. maxDamaged is how many events may be
// beyond reading.
const (
	lenientReach = 16 << 10
	lenientTries = 10_000
	maxDamaged   = 1_000_000
)

// next reads one event. done: the input has ended.
func (d *reader) next() (done bool, err error) {
	for {
		d.e.lenient = false
		n, st := d.e.read(d.s.buf[d.s.i:])
		if st == damaged && d.damaged.n < lenientTries {
			d.e.lenient = true
			near := d.s.buf[d.s.i:min(len(d.s.buf), d.s.i+lenientReach)]
			if n, st = d.e.read(near); st == short && len(near) == lenientReach {
				st = damaged
			}
		}
		switch st {
		case whole:
			d.events++
			d.handle()
			d.s.i += n
			return false, nil
		case damaged:
			return d.resume()
		}
		if !d.s.double() {
			return true, d.ended()
		}
	}
}

// resume counts what cannot be read and looks for the next event behind it.
func (d *reader) resume() (done bool, err error) {
	if d.damaged.add(d.s.pos()); d.damaged.n > maxDamaged {
		return true, d.s.fail(trace.ErrFormat, "more than %d events that cannot be read, the first at byte %d: is the file a profiler trace?", maxDamaged, d.damaged.first.Offset)
	}
	for from := d.s.i + 1; ; {
		if at := nextEvent(d.s.buf[d.s.i:], from-d.s.i); at >= 0 {
			d.s.i += at
			return false, nil
		}
		d.s.i = max(d.s.i, len(d.s.buf)-2) // the comma and space before a brace
		if !d.s.more() {
			return true, d.ended()
		}
		from = d.s.i
	}
}

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
		if e.dur < 0 {
			d.negative.add(d.s.pos())
			e.dur = 0
		}
		if e.ts < earliest || e.ts+e.dur > latest {
			d.untimed.add(d.s.pos())
			return
		}
		d.complete(e)
	case 'B', 'E':
		d.half(e)
	}
}

// complete takes an event with a beginning and an end.
func (d *reader) complete(e *event) {
	switch string(e.cat) {
	case "cpu_op", "user_annotation", "Operator", "":
		d.host(e)
	case "kernel", "Kernel", "hpu_op", "mtia_ccp_events":
		d.work(e, profile.Compute)
	case "gpu_memcpy", "gpu_memset", "Memcpy", "Memset":
		d.work(e, profile.Memory)
	case "cuda_runtime", "cuda_driver", "Runtime":
		d.launch(e)
	default:
		if bytes.HasSuffix(e.cat, []byte("_runtime")) || bytes.HasSuffix(e.cat, []byte("_driver")) {
			d.launch(e)
		}
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
	matters := d.b.Matters
	if string(e.cat) == "cpu_op" {
		matters = d.b.MattersAsOperator
	}
	if matters(id) {
		d.b.Range(id, number(e.tid), e.ts, e.ts+e.dur)
	}
}

// shape is what a call of the runtime launches.
type shape uint8

const (
	unseen shape = iota
	nothing
	one
	graph
)

// launch takes a call of the runtime or the driver, if it puts work on the
// device.
func (d *reader) launch(e *event) {
	id := d.b.Name(e.name)
	for int(id) >= len(d.shapes) {
		d.shapes = append(d.shapes, unseen)
	}
	if d.shapes[id] == unseen {
		d.shapes[id] = shapeOf(string(e.name))
	}
	switch d.shapes[id] {
	case one:
		d.b.Launch(correlation(e.args), e.ts, profile.LaunchesOne)
	case graph:
		d.b.Launch(correlation(e.args), e.ts, profile.LaunchesGraph)
	}
}

func shapeOf(name string) shape {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "graphlaunch"):
		return graph
	case strings.Contains(name, "launch"), strings.Contains(name, "memcpy"), strings.Contains(name, "memset"),
		strings.Contains(name, "enqueue"), strings.Contains(name, "submit"):
		return one
	}
	return nothing
}

// work takes something that ran on the device.
func (d *reader) work(e *event, kind profile.Kind) {
	id := d.b.Name(e.name)
	w := profile.Work{Name: id, Queue: number(e.pid)<<32 ^ number(e.tid), Start: e.ts, End: e.ts + e.dur, Correlation: correlation(e.args), Kind: kind}
	if kind == profile.Compute {
		told := bytes.Contains(e.args, []byte(`"Collective name"`))
		if w.Kind = d.b.KindOf(id); told {
			w.Kind = profile.Communication
		}
		if told {
			c := d.call(e)
			w.Call = &c
		}
	}
	d.b.Work(w)
}

// correlation is the number that ties work to its launch, 0: none.
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

// number is a process, thread or stream: its number, or one made of its name.
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

// half takes the beginning or the end of a range on the host.
func (d *reader) half(e *event) {
	if !e.hasTime {
		d.untimed.add(d.s.pos())
		return
	}
	thread := number(e.tid)
	stack := d.begun[thread]
	if e.phase == 'B' {
		if d.open < maxBegun {
			d.open++
			d.begun[thread] = append(stack, begin{string(e.cat), string(e.name), e.ts})
		}
		return
	}
	if len(stack) == 0 {
		return
	}
	b := stack[len(stack)-1]
	d.begun[thread] = stack[:len(stack)-1]
	d.open--
	full := *e
	full.cat, full.name, full.ts, full.dur = []byte(b.cat), []byte(b.name), b.ts, max(0, e.ts-b.ts)
	d.complete(&full)
}

// tell turns what was counted into notes.
func (d *reader) tell() {
	if d.cut {
		d.b.Note(trace.NoteTruncated, "the trace ends in the middle, after %d events: what came before is used", d.events)
	}
	for _, c := range []struct {
		counted
		what string
	}{
		{d.damaged, "could not be read and were left out"},
		{d.untimed, "have no time that can be read and were left out"},
		{d.negative, "end before they begin and count as having no length"},
	} {
		if c.n > 0 {
			c.first.File = ""
			where := strings.TrimPrefix(c.first.String(), "input")
			d.b.Note(trace.NoteRecorder, "%d events %s, the first%s", c.n, c.what, where)
		}
	}
}
