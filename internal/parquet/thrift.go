package parquet

import (
	"encoding/binary"
	"slices"

	"github.com/sfstat/sfstat/trace/input"
)

// thriftKind is the type code of a field or list element in the compact protocol of
// Thrift (Apache Thrift, doc/specs/thrift-compact-protocol.md).
type thriftKind byte

// The kinds. A boolean field has no value beyond its kind.
const (
	thriftTrue   thriftKind = 1
	thriftFalse  thriftKind = 2
	thriftByte   thriftKind = 3
	thriftI16    thriftKind = 4
	thriftI32    thriftKind = 5
	thriftI64    thriftKind = 6
	thriftDouble thriftKind = 7
	thriftBinary thriftKind = 8
	thriftList   thriftKind = 9
	thriftSet    thriftKind = 10
	thriftMap    thriftKind = 11
	thriftStruct thriftKind = 12
	thriftUUID   thriftKind = 13
)

// thriftReader reads a struct from B, which no input can make it read past. The
// first fault ends it: every later read gives zero, and Err stays.
type thriftReader struct {
	B   []byte
	At  int // bytes read
	Err error
}

// Fail ends the reading.
func (r *thriftReader) Fail(what string) {
	if r.Err == nil {
		r.Err = input.Bad(input.ErrFormat, "byte %d of a header: %s", r.At, what)
	}
	r.At = len(r.B)
}

// take reads n bytes.
func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.B)-r.At) {
		if r.Err == nil {
			r.Err = input.Bad(input.ErrTruncated, "a header ends at byte %d", len(r.B))
		}
		r.At = len(r.B)
		return nil
	}
	r.At += int(n)
	return r.B[r.At-int(n) : r.At]
}

func (r *thriftReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *thriftReader) uvarint() uint64 {
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
func (r *thriftReader) Int() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// Text reads text or bytes, which stay part of B.
func (r *thriftReader) Text() []byte { return r.take(r.uvarint()) }

// list reads the header of a list. The count is at most the bytes that are
// left, as every element takes one.
func (r *thriftReader) list() (elem thriftKind, n int) {
	h := r.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.B)-r.At) {
		r.Fail("a list that is longer than the header")
		return 0, 0
	}
	return thriftKind(h & 15), int(size)
}

// Structs calls fn for every element of a list of structs, with the length of
// the list; fn reads the element.
func (r *thriftReader) Structs(fn func(i, n int)) {
	elem, n := r.list()
	if n > 0 && elem != thriftStruct {
		r.Fail("a list of something else than structs")
	}
	for i := 0; i < n && r.Err == nil; i++ {
		fn(i, n)
	}
}

// Fields calls fn for every field of a struct; fn reads the value or skips it.
func (r *thriftReader) Fields(fn func(id int16, kind thriftKind)) {
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
		fn(last, thriftKind(h&15))
	}
}

// field is where a field of a struct goes: to a number, a text, a flag; to who reads the struct
// that it is, or each element of the list of structs that it is.
type field struct {
	id int16
	to any // *int64, *string, *bool, func(), elements
}

// elements reads an element of a list of structs.
type elements func()

// Struct reads a struct, and passes over fields that are not asked for, or are of another kind.
func (r *thriftReader) Struct(fields ...field) {
	r.Fields(func(id int16, kind thriftKind) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.id == id })
		if i < 0 || !r.value(fields[i].to, kind) {
			r.Skip(kind)
		}
	})
}

// value reads a value to where it goes; false: it is of another kind.
func (r *thriftReader) value(to any, kind thriftKind) bool {
	switch to := to.(type) {
	case *int64:
		if kind != thriftI32 && kind != thriftI64 {
			return false
		}
		*to = r.Int()
	case *string:
		if kind != thriftBinary {
			return false
		}
		*to = string(r.Text())
	case *bool:
		if kind != thriftTrue && kind != thriftFalse {
			return false
		}
		*to = kind == thriftTrue
	case func():
		if kind != thriftStruct {
			return false
		}
		to()
	case elements:
		if kind != thriftList {
			return false
		}
		r.Structs(func(_, _ int) { to() })
	}
	return true
}

// maxDepth of nested values that are skipped; Parquet's own are at most 6 deep.
const maxDepth = 16

// Skip passes over a value.
func (r *thriftReader) Skip(kind thriftKind) { r.skip(kind, 0) }

func (r *thriftReader) skip(kind thriftKind, depth int) {
	if depth > maxDepth {
		r.Fail("values nested too deep")
		return
	}
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.take(8)
	case thriftUUID:
		r.take(16)
	case thriftBinary:
		r.Text()
	case thriftList, thriftSet:
		elem, n := r.list()
		r.skipElements(n, depth, elem)
	case thriftMap:
		r.skipMap(depth)
	case thriftStruct:
		r.Fields(func(_ int16, kind thriftKind) { r.skip(kind, depth+1) })
	default:
		r.Fail("an unknown type of value")
	}
}

// skipElements skips n elements of a list, or pairs of a map, in which a
// boolean takes a byte.
func (r *thriftReader) skipElements(n, depth int, kinds ...thriftKind) {
	for ; n > 0 && r.Err == nil; n-- {
		for _, k := range kinds {
			if k == thriftTrue || k == thriftFalse {
				k = thriftByte
			}
			r.skip(k, depth+1)
		}
	}
}

func (r *thriftReader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	kinds := r.byte()
	if n > uint64(len(r.B)-r.At) {
		r.Fail("a map that is longer than the header")
		return
	}
	r.skipElements(int(n), depth, thriftKind(kinds>>4), thriftKind(kinds&15))
}
