package flightrecorder

import (
	"iter"

	"github.com/sfstat/sfstat/trace/input"
)

// kind is what a value of a dump is.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	float // of which nothing is read
	text
	list // or tuple
	dict
	other // a number too long for 64 bits
)

// value is a scalar, or refers to text or to a container of its document.
type value struct {
	kind kind
	key  field  // of a text that names a field
	n    uint32 // bytes of a text
	x    int64  // integer, boolean, first byte of a text, or index of a container
}

// document is a dump as values, whichever form it was written in. Texts stay
// where they stand in the input. Containers hold their items in chunks, as a
// pickle may add to any of them at any time; a dict's items are keys and values
// in turn.
type document struct {
	name       string
	data       []byte
	extra      []byte // texts that do not stand in data as they read
	containers []container
	chunks     []chunk
	items      []value
	work       int64 // values that may still be looked at: references must not multiply them
}

type container struct {
	first, last int32  // of chunks, −1: none
	n           uint32 // items
	taken       bool
}

type chunk struct {
	from, n uint32
	next    int32
}

// reset makes a document of data, which keeps the memory of the one before.
func (d *document) reset(name string, data []byte) {
	d.name, d.data, d.work = name, data, 64*int64(len(data))+1024
	d.extra, d.containers, d.chunks, d.items = d.extra[:0], d.containers[:0], d.chunks[:0], d.items[:0]
}

// container makes an empty list or dict.
func (d *document) container(k kind) value {
	d.containers = append(d.containers, container{first: -1, last: -1})
	return value{kind: k, x: int64(len(d.containers) - 1)}
}

// add puts items at the end of a container.
func (d *document) add(to value, items ...value) {
	if len(items) == 0 {
		return
	}
	c := &d.containers[to.x]
	from := uint32(len(d.items))
	d.items = append(d.items, items...)
	c.n += uint32(len(items))
	if c.last >= 0 {
		if last := &d.chunks[c.last]; last.from+last.n == from {
			last.n += uint32(len(items))
			return
		}
	}
	d.chunks = append(d.chunks, chunk{from: from, n: uint32(len(items)), next: -1})
	at := int32(len(d.chunks) - 1)
	if c.last >= 0 {
		d.chunks[c.last].next = at
	} else {
		c.first = at
	}
	c.last = at
}

// length returns how many items a container has, 0 for what is none.
func (d *document) length(v value) int {
	if v.kind != list && v.kind != dict {
		return 0
	}
	return int(d.containers[v.x].n)
}

// parts yields a container's items, a chunk at a time; none of what is no container.
func (d *document) parts(v value) iter.Seq[[]value] {
	return func(yield func([]value) bool) {
		at := int32(-1)
		if v.kind == list || v.kind == dict {
			at = d.containers[v.x].first
		}
		for at >= 0 {
			c := d.chunks[at]
			if d.work -= int64(c.n); d.work < 0 || !yield(d.items[c.from:c.from+c.n]) {
				return
			}
			at = c.next
		}
	}
}

// itemsOf yields a container's items.
func (d *document) itemsOf(v value) iter.Seq[value] {
	return func(yield func(value) bool) {
		for items := range d.parts(v) {
			for _, item := range items {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// pairs yields the keys and values of a dict.
func (d *document) pairs(v value) iter.Seq2[value, value] {
	return func(yield func(key, item value) bool) {
		for items := range d.parts(v) {
			for i := 0; i+1 < len(items); i += 2 {
				if !yield(items[i], items[i+1]) {
					return
				}
			}
		}
	}
}

// errExhausted returns the error of a document that refers to its parts so often that
// it is far larger than its input.
func (d *document) errExhausted() error {
	if d.work >= 0 {
		return nil
	}
	return d.bad(input.ErrTooLarge, 0, "its parts refer to one another more often than those of a Flight Recorder dump: it is none, or it was made to exhaust memory")
}

// text returns the bytes of a text, nil of anything else.
func (d *document) text(v value) []byte {
	if v.kind != text {
		return nil
	}
	if at := v.x - int64(len(d.data)); at >= 0 {
		return d.extra[at : at+int64(v.n)]
	}
	return d.data[v.x : v.x+int64(v.n)]
}

// textAt makes the text of n bytes at an offset of data.
func (d *document) textAt(at, n int) value {
	return value{kind: text, key: fieldOf(d.data[at : at+n]), n: uint32(n), x: int64(at)}
}

// newText makes a text that does not stand in data.
func (d *document) newText(s string) value {
	v := value{kind: text, key: fieldOf([]byte(s)), n: uint32(len(s)), x: int64(len(d.data) + len(d.extra))}
	d.extra = append(d.extra, s...)
	return v
}

// bad returns an error at a byte of the input.
func (d *document) bad(kind error, at int, format string, args ...any) error {
	return input.At(input.Pos{File: d.name, Offset: int64(at)}, input.Bad(kind, format, args...))
}

// field is a key that a dump has.
type field uint8

const (
	noField field = iota
	fEntries
	fVersion
	fConfig
	fStatus
	fName
	fDesc
	fRanks
	fEnqueued
	fCompleted
	fFrames
	fFile
	fLine
	fRecord
	fGroupID
	fGroup
	fSeq
	fCollectiveSeq
	fP2PSeq
	fIsP2P
	fProfiling
	fCreated
	fInSizes
	fInTypes
	fOutSizes
	fOutTypes
	fState
	fRetired
	numFields
)

var fieldNames = [numFields]string{
	fEntries: "entries", fVersion: "version", fConfig: "pg_config", fStatus: "pg_status",
	fName: "name", fDesc: "desc", fRanks: "ranks",
	fEnqueued: "last_enqueued_collective", fCompleted: "last_completed_collective",
	fFrames: "frames", fFile: "filename", fLine: "line",
	fRecord: "record_id", fGroupID: "pg_id", fGroup: "process_group", fSeq: "seq_id", fCollectiveSeq: "collective_seq_id",
	fP2PSeq: "p2p_seq_id", fIsP2P: "is_p2p", fProfiling: "profiling_name", fCreated: "time_created_ns",
	fInSizes: "input_sizes", fInTypes: "input_dtypes", fOutSizes: "output_sizes", fOutTypes: "output_dtypes", fState: "state", fRetired: "retired",
}

// fields are the names by their values; nothing writes to it.
var fields = func() map[string]field {
	m := make(map[string]field, numFields)
	for f, name := range fieldNames {
		if name != "" {
			m[name] = field(f)
		}
	}
	return m
}()

// longestField is the length of the longest name of a field.
const longestField = 28

func fieldOf(s []byte) field {
	if len(s) > longestField {
		return noField
	}
	return fields[string(s)]
}

// record is the values of a dict by the fields that a dump has.
type record [numFields]value

// read takes the fields of a dict; of a key that comes twice, the last.
func (d *document) read(v value, into *record) {
	*into = record{}
	for key, item := range d.pairs(v) {
		if key.key != noField {
			into[key.key] = item
		}
	}
}
