package kineto

import (
	"fmt"
	"io"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Options of Read. The zero value is usable.
type Options struct {
	Stages *stagemap.Map // leads annotations to stages, nil: as is built in
	Detail profiler.Detail
}

// Read reads one trace; name stands in errors and notes. The rank is what the
// file itself tells; profiler.Identify looks further. An input that ends too
// early gives what it has, with a note. O(size) time.
func Read(r io.Reader, name string, o Options) (*profile.Rank, error) {
	d := &reader{s: newScanner(r, name), b: profiler.NewBuilder(o.Stages, o.Detail), begun: make(map[int64][]begin)}
	defer d.b.Discard()
	if err := d.document(); err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	d.checkTrailingBytes()
	d.tell()
	rank, err := d.b.Finish()
	if err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	rank.Source = name
	d.info.apply(rank)
	if len(rank.Steps) == 0 {
		return nil, input.At(input.Pos{File: name}, d.errNoSteps())
	}
	return rank, nil
}

// errNoSteps returns the error that names why a trace has no steps.
func (d *reader) errNoSteps() error {
	const without = "a profiler trace without timed events"
	switch {
	case d.timed > 0:
		return input.Bad(input.ErrEmpty, "no step, stage, collective or device work in its %d timed events: is it a trace of torch.profiler? A stage map gives names of your own a meaning", d.timed)
	case d.large.n > 0:
		return input.Bad(input.ErrEmpty, "%s: %d larger than %d MiB, the first at byte %d", without, d.large.n, maxEvent>>20, d.large.first.Offset)
	case d.damaged.n > 0:
		return input.Bad(input.ErrEmpty, "%s: %d could not be read, the first at byte %d", without, d.damaged.n, d.damaged.first.Offset)
	case d.untimed.n > 0:
		return input.Bad(input.ErrEmpty, "%s: %d without a time that can be read, the first at byte %d", without, d.untimed.n, d.untimed.first.Offset)
	case d.cut:
		return input.Bad(input.ErrEmpty, "%s: it ends in the middle, as when a job is killed while it writes", without)
	}
	return input.Bad(input.ErrEmpty, "%s: was anything run while the profiler was on?", without)
}

// reader takes one trace apart.
type reader struct {
	s    *scanner
	b    *profiler.Builder
	e    event
	info info

	called []byte // name of the function that was read last
	groups groups
	begun  map[int64][]begin
	open   int // begins that wait for their end

	cut      bool
	events   int64
	timed    int64 // of them
	damaged  eventCount
	untimed  eventCount
	negative eventCount
	endless  eventCount // without a duration
	large    eventCount // beyond maxEvent
	unknown  strangers
	stepping processes
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
		if _, err := d.s.endCause(); err != nil {
			return err
		}
		return d.s.fail(input.ErrEmpty, "empty: the job may not have written anything yet")
	}
	return d.s.fail(input.ErrFormat, "%q, expected a profiler trace: an object with traceEvents, or an array of events", d.s.buf[d.s.i])
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
			d.s.i++
			return nil
		case 0:
			return d.noteEarlyEnd()
		case '"':
		default:
			return d.stopAtInvalidJSON("expected a key")
		}
		text, _ := d.s.capture(maxKey) // a string nests no deeper
		if text == nil {               // too large to be held, or cut short
			if complete, err := d.s.skip(); err != nil || !complete {
				return d.stopMidValue(err)
			}
			continue
		}
		key := string(text[1 : len(text)-1])
		if c := d.s.peek(); c != ':' {
			if c == 0 {
				return d.noteEarlyEnd()
			}
			return d.stopAtInvalidJSON(fmt.Sprintf("expected a colon behind the key %.40q", key))
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
		return d.noteEarlyEnd()
	}
	switch {
	case key == "traceEvents" && c == '[':
		d.s.i++
		return d.list()
	case metadata[key]:
		v, err := d.s.capture(maxEvent)
		switch {
		case err != nil:
			return d.stopMidValue(err)
		case v != nil:
			d.info.take(key, v)
			return nil
		case !d.s.full:
			return d.noteEarlyEnd()
		}
		d.note(input.NoteRecorder, "metadata larger than %d MiB, and left out: %s, at byte %d", maxEvent>>20, key, d.s.pos().Offset)
	}
	if complete, err := d.s.skip(); err != nil || !complete {
		return d.stopMidValue(err)
	}
	return nil
}

// stopMidValue ends the reading in the middle of a value: at the end of the input, or
// where err says that it nests too deep, which is an error when there were no
// events yet.
func (d *reader) stopMidValue(err error) error {
	if err == nil {
		return d.noteEarlyEnd()
	}
	if d.events == 0 {
		return err
	}
	d.damaged.add(d.s.pos())
	d.cut = true
	return nil
}

// noteEarlyEnd notes that the input ended too early, unless something else ended it.
func (d *reader) noteEarlyEnd() error {
	cut, err := d.s.endCause()
	d.cut = d.cut || cut
	return err
}

// stopAtInvalidJSON ends the reading where the document is no JSON: with an error when
// there were no events yet.
func (d *reader) stopAtInvalidJSON(expected string) error {
	if d.events == 0 {
		return d.s.fail(input.ErrFormat, "%q, %s", d.s.buf[d.s.i], expected)
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
			return d.noteEarlyEnd()
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
		n, st, wrong := d.attempt()
		switch {
		case st == whole:
			d.events++
			d.handle()
			d.s.i += n
			return false, nil
		case st == damaged:
			return d.resume()
		case d.s.double():
		case d.s.full:
			return d.pass()
		case wrong:
			return d.resume()
		default:
			return true, d.noteEarlyEnd()
		}
	}
}

// attempt reads what is there of the next event, and where that cannot be, or
// goes on for very long, reads it once more with other ends of its strings.
// wrong: it can only be read so, if at all.
func (d *reader) attempt() (n int, st state, wrong bool) {
	unread := d.s.buf[d.s.i:]
	d.e.lenient = false
	n, st = d.e.read(unread)
	wrong = st == damaged
	if !wrong && (st == whole || len(unread) < bufferSize) || d.damaged.n >= lenientTries {
		return n, st, wrong
	}
	d.e.lenient = true
	near := unread[:min(len(unread), lenientReach)]
	n, again := d.e.read(near)
	switch {
	case again == whole:
		return n, whole, wrong
	case !wrong: // long, but well so far
		return 0, short, false
	case again == short && len(near) == lenientReach:
		return 0, damaged, true
	}
	return 0, again, true
}

// pass leaves out an event that is too large to be held, and is behind it then.
func (d *reader) pass() (done bool, err error) {
	d.large.add(d.s.pos())
	complete, err := d.s.skip()
	switch {
	case err != nil: // too deep
		return d.resume()
	case !complete:
		return true, d.noteEarlyEnd()
	}
	return false, nil
}

// resume counts what cannot be read and looks for the next event behind it.
func (d *reader) resume() (done bool, err error) {
	if d.damaged.add(d.s.pos()); d.damaged.n > maxDamaged {
		return true, d.s.fail(input.ErrFormat, "more than %d events that cannot be read, the first at byte %d: is the file a profiler trace?", maxDamaged, d.damaged.first.Offset)
	}
	for from := d.s.i + 1; ; {
		if at := nextEvent(d.s.buf[d.s.i:], from-d.s.i); at >= 0 {
			d.s.i += at
			return false, nil
		}
		d.s.i = max(d.s.i, len(d.s.buf)-2) // the comma and space before a brace
		if !d.s.fill() {
			return true, d.noteEarlyEnd()
		}
		from = d.s.i
	}
}
