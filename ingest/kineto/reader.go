package kineto

import (
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
	d := &reader{s: newScanner(r, name), b: profile.NewBuilder(m), begun: make(map[int64][]begin)}
	if err := d.document(); err != nil {
		return nil, trace.At(trace.Pos{File: name}, err)
	}
	d.tell()
	rank := d.b.Finish()
	rank.Source = name
	d.info.apply(rank)
	if len(rank.Steps) == 0 {
		return nil, trace.At(trace.Pos{File: name}, d.nothing())
	}
	return rank, nil
}

// nothing says why a trace has no steps.
func (d *reader) nothing() error {
	const without = "a profiler trace without timed events"
	switch {
	case d.damaged.n > 0:
		return trace.Bad(trace.ErrEmpty, "%s: %d could not be read, the first at byte %d", without, d.damaged.n, d.damaged.first.Offset)
	case d.untimed.n > 0:
		return trace.Bad(trace.ErrEmpty, "%s: %d have no time that can be read, the first at byte %d", without, d.untimed.n, d.untimed.first.Offset)
	case d.cut:
		return trace.Bad(trace.ErrEmpty, "%s: it ends in the middle, as when a job is killed while it writes", without)
	}
	return trace.Bad(trace.ErrEmpty, "%s: was anything run while the profiler was on?", without)
}

// reader takes one trace apart.
type reader struct {
	s    *scanner
	b    *profile.Builder
	e    event
	info info

	shapes []shape // by name: is it a launch?
	words  words
	groups groups
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
