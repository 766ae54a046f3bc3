package parquetformat

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace"
)

// Kind is the type code of a field or list element in the compact protocol of
// Thrift (Apache Thrift, doc/specs/thrift-compact-protocol.md).
type Kind byte

// The kinds. A boolean field has no value beyond its kind.
const (
	True   Kind = 1
	False  Kind = 2
	Byte   Kind = 3
	I16    Kind = 4
	I32    Kind = 5
	I64    Kind = 6
	Double Kind = 7
	Binary Kind = 8
	List   Kind = 9
	Set    Kind = 10
	Map    Kind = 11
	Struct Kind = 12
	UUID   Kind = 13
)

// Writer appends the fields of a struct to B. Fields are written in ascending
// order of their numbers.
type Writer struct {
	B    []byte
	last int16 // number of the field written before
}

func (w *Writer) field(id int16, kind Kind) {
	if d := id - w.last; d > 0 && d <= 15 {
		w.B = append(w.B, byte(d)<<4|byte(kind))
	} else {
		w.B = binary.AppendVarint(append(w.B, byte(kind)), int64(id))
	}
	w.last = id
}

// I32 writes a field of 32 bits.
func (w *Writer) I32(id int16, v int32) {
	w.field(id, I32)
	w.Int(int64(v))
}

// I64 writes a field of 64 bits.
func (w *Writer) I64(id int16, v int64) {
	w.field(id, I64)
	w.Int(v)
}

// Text writes a field of text or bytes.
func (w *Writer) Text(id int16, s string) {
	w.field(id, Binary)
	w.String(s)
}

// Int writes a number as a list element.
func (w *Writer) Int(v int64) { w.B = binary.AppendVarint(w.B, v) }

// String writes text or bytes as a list element.
func (w *Writer) String(s string) {
	w.B = append(binary.AppendUvarint(w.B, uint64(len(s))), s...)
}

// List begins a field that is a list; n elements follow.
func (w *Writer) List(id int16, elem Kind, n int) {
	w.field(id, List)
	if n < 15 {
		w.B = append(w.B, byte(n)<<4|byte(elem))
	} else {
		w.B = binary.AppendUvarint(append(w.B, 0xf0|byte(elem)), uint64(n))
	}
}

// Object writes a field that is a struct.
func (w *Writer) Object(id int16, fields func()) {
	w.field(id, Struct)
	w.Element(fields)
}

// Element writes a struct as a list element.
func (w *Writer) Element(fields func()) {
	saved := w.last
	w.last = 0
	fields()
	w.B = append(w.B, 0)
	w.last = saved
}

// Reader reads a struct from B, which no input can make it read past. The
// first fault ends it: every later read gives zero, and Err stays.
type Reader struct {
	B   []byte
	At  int // bytes read
	Err error
}

// Fail ends the reading.
func (r *Reader) Fail(what string) {
	if r.Err == nil {
		r.Err = trace.Bad(trace.ErrFormat, "byte %d of a header: %s", r.At, what)
	}
	r.At = len(r.B)
}

// take reads n bytes.
func (r *Reader) take(n uint64) []byte {
	if n > uint64(len(r.B)-r.At) {
		if r.Err == nil {
			r.Err = trace.Bad(trace.ErrTruncated, "a header ends at byte %d", len(r.B))
		}
		r.At = len(r.B)
		return nil
	}
	r.At += int(n)
	return r.B[r.At-int(n) : r.At]
}

func (r *Reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *Reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.B[r.At:])
	switch {
	case n == 0:
		r.take(uint64(len(r.B)-r.At) + 1)
		return 0
	case n < 0:
		r.Fail("a number of more than 64 bits")
		return 0
	}
	r.At += n
	return v
}

// Int reads a number of 16, 32 or 64 bits.
func (r *Reader) Int() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// Text reads text or bytes, which stay part of B.
func (r *Reader) Text() []byte { return r.take(r.uvarint()) }

// list reads the header of a list. The count is at most the bytes that are
// left, as every element takes one.
func (r *Reader) list() (elem Kind, n int) {
	h := r.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.B)-r.At) {
		r.Fail("a list that is longer than the header")
		return 0, 0
	}
	return Kind(h & 15), int(size)
}

// Structs calls fn for every element of a list of structs, with the length of
// the list; fn reads the element.
func (r *Reader) Structs(fn func(i, n int)) {
	elem, n := r.list()
	if n > 0 && elem != Struct {
		r.Fail("a list of something else than structs")
	}
	for i := 0; i < n && r.Err == nil; i++ {
		fn(i, n)
	}
}

// Fields calls fn for every field of a struct; fn reads the value or skips it.
func (r *Reader) Fields(fn func(id int16, kind Kind)) {
	var last int16
	for r.Err == nil {
		h := r.byte()
		if h == 0 {
			return
		}
		if d := int16(h >> 4); d > 0 {
			last += d
		} else {
			last = int16(r.Int())
		}
		fn(last, Kind(h&15))
	}
}

// maxDepth of nested values that are skipped; Parquet's own are at most 6 deep.
const maxDepth = 16

// Skip passes over a value.
func (r *Reader) Skip(kind Kind) { r.skip(kind, 0) }

func (r *Reader) skip(kind Kind, depth int) {
	if depth > maxDepth {
		r.Fail("values nested too deep")
		return
	}
	switch kind {
	case True, False:
	case Byte:
		r.byte()
	case I16, I32, I64:
		r.uvarint()
	case Double:
		r.take(8)
	case UUID:
		r.take(16)
	case Binary:
		r.Text()
	case List, Set:
		elem, n := r.list()
		r.skipElements(n, depth, elem)
	case Map:
		r.skipMap(depth)
	case Struct:
		r.Fields(func(_ int16, kind Kind) { r.skip(kind, depth+1) })
	default:
		r.Fail("an unknown type of value")
	}
}

// skipElements skips n elements of a list, or pairs of a map, in which a
// boolean takes a byte.
func (r *Reader) skipElements(n, depth int, kinds ...Kind) {
	for ; n > 0 && r.Err == nil; n-- {
		for _, k := range kinds {
			if k == True || k == False {
				k = Byte
			}
			r.skip(k, depth+1)
		}
	}
}

func (r *Reader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	kinds := r.byte()
	if n > uint64(len(r.B)-r.At) {
		r.Fail("a map that is longer than the header")
		return
	}
	r.skipElements(int(n), depth, Kind(kinds>>4), Kind(kinds&15))
}
