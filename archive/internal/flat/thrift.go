package flat

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace"
)

// The compact protocol of Thrift, as far as Parquet's footers and page headers
// use it: type codes of fields and list elements.
const (
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
	tUUID   = 13
)

// thriftWriter appends structs of the compact protocol to b.
type thriftWriter struct {
	b    []byte
	last int16 // number of the field written before
}

func (w *thriftWriter) field(id int16, typ byte) {
	if d := id - w.last; d > 0 && d <= 15 {
		w.b = append(w.b, byte(d)<<4|typ)
	} else {
		w.b = binary.AppendVarint(append(w.b, typ), int64(id))
	}
	w.last = id
}

func (w *thriftWriter) i32(id int16, v int32) {
	w.field(id, tI32)
	w.b = binary.AppendVarint(w.b, int64(v))
}

func (w *thriftWriter) i64(id int16, v int64) {
	w.field(id, tI64)
	w.b = binary.AppendVarint(w.b, v)
}

func (w *thriftWriter) text(id int16, s string) {
	w.field(id, tBinary)
	w.bytes(s)
}

// bytes writes a string as a list element.
func (w *thriftWriter) bytes(s string) {
	w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...)
}

func (w *thriftWriter) list(id int16, elem byte, n int) {
	w.field(id, tList)
	if n < 15 {
		w.b = append(w.b, byte(n)<<4|elem)
	} else {
		w.b = binary.AppendUvarint(append(w.b, 0xf0|elem), uint64(n))
	}
}

// object writes a struct as a field; element writes one as a list element.
func (w *thriftWriter) object(id int16, fields func()) {
	w.field(id, tStruct)
	w.element(fields)
}

func (w *thriftWriter) element(fields func()) {
	saved := w.last
	w.last = 0
	fields()
	w.b = append(w.b, 0)
	w.last = saved
}

// thriftReader reads structs of the compact protocol. The first fault ends it:
// every later read gives zero and err stays.
type thriftReader struct {
	b   []byte
	at  int
	err error
}

func (r *thriftReader) fail(what string) {
	if r.err == nil {
		r.err = trace.Bad(trace.ErrFormat, "byte %d of the header: %s", r.at, what)
	}
	r.at = len(r.b)
}

func (r *thriftReader) byte() byte {
	if r.at >= len(r.b) {
		if r.err == nil {
			r.err = trace.Bad(trace.ErrTruncated, "the header ends at byte %d", r.at)
		}
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	switch {
	case n > 0:
		r.at += n
		return v
	case n == 0:
		r.at = len(r.b)
		r.byte()
	default:
		r.fail("a number of more than 64 bits")
	}
	return 0
}

func (r *thriftReader) int() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *thriftReader) text() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)-r.at) {
		r.at = len(r.b)
		r.byte()
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at]
}

// list reads a list header. The count is at most what the bytes that are left
// can hold.
func (r *thriftReader) list() (elem byte, n int) {
	h := r.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.b)-r.at) {
		r.fail("a list that is longer than the header")
		return 0, 0
	}
	return h & 15, int(size)
}

// fields calls fn for every field of a struct; fn reads the value, or leaves
// it by calling skip.
func (r *thriftReader) fields(fn func(id int16, typ byte)) {
	var last int16
	for r.err == nil {
		h := r.byte()
		if h == 0 {
			return
		}
		if d := int16(h >> 4); d > 0 {
			last += d
		} else {
			last = int16(r.int())
		}
		fn(last, h&15)
	}
}

// maxDepth of nested values that are skipped; Parquet's own are at most 6 deep.
const maxDepth = 16

func (r *thriftReader) skip(typ byte) { r.skipAt(typ, 0) }

func (r *thriftReader) skipAt(typ byte, depth int) {
	if depth > maxDepth {
		r.fail("values nested too deep")
		return
	}
	switch typ {
	case tTrue, tFalse:
	case tByte:
		r.byte()
	case tI16, tI32, tI64:
		r.uvarint()
	case tDouble:
		r.advance(8)
	case tUUID:
		r.advance(16)
	case tBinary:
		r.text()
	case tList, tSet:
		elem, n := r.list()
		for ; n > 0 && r.err == nil; n-- {
			r.skipElement(elem, depth)
		}
	case tMap:
		r.skipMap(depth)
	case tStruct:
		r.fields(func(_ int16, t byte) { r.skipAt(t, depth+1) })
	default:
		r.fail("an unknown type of value")
	}
}

// skipElement skips a value in a list or map, where a boolean takes a byte.
func (r *thriftReader) skipElement(elem byte, depth int) {
	if elem == tTrue || elem == tFalse {
		elem = tByte
	}
	r.skipAt(elem, depth+1)
}

func (r *thriftReader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	kv := r.byte()
	if n > uint64(len(r.b)-r.at) {
		r.fail("a map that is longer than the header")
		return
	}
	for ; n > 0 && r.err == nil; n-- {
		r.skipElement(kv>>4, depth)
		r.skipElement(kv&15, depth)
	}
}

func (r *thriftReader) advance(n int) {
	if n > len(r.b)-r.at {
		r.at = len(r.b)
		r.byte()
		return
	}
	r.at += n
}
