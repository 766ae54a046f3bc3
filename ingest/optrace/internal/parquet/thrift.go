package parquet

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace"
)

// The compact protocol of Thrift: type codes of fields and list elements.
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

// scanner reads structs of the compact protocol. The first fault ends it:
// every later read gives zero, and err stays.
type scanner struct {
	b   []byte
	at  int
	err error
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = trace.Bad(trace.ErrFormat, "byte %d of a header: %s", s.at, what)
	}
	s.at = len(s.b)
}

// take reads n bytes.
func (s *scanner) take(n uint64) []byte {
	if n > uint64(len(s.b)-s.at) {
		if s.err == nil {
			s.err = trace.Bad(trace.ErrTruncated, "a header ends at byte %d", len(s.b))
		}
		s.at = len(s.b)
		return nil
	}
	s.at += int(n)
	return s.b[s.at-int(n) : s.at]
}

func (s *scanner) byte() byte {
	if b := s.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (s *scanner) uvarint() uint64 {
	v, n := binary.Uvarint(s.b[s.at:])
	switch {
	case n == 0:
		s.take(uint64(len(s.b)-s.at) + 1)
		return 0
	case n < 0:
		s.fail("a number of more than 64 bits")
		return 0
	}
	s.at += n
	return v
}

func (s *scanner) int() int64 {
	u := s.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (s *scanner) text() []byte { return s.take(s.uvarint()) }

// list reads the header of a list. The count is at most the bytes that are
// left, as every element takes one.
func (s *scanner) list() (elem byte, n int) {
	h := s.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = s.uvarint()
	}
	if size > uint64(len(s.b)-s.at) {
		s.fail("a list that is longer than the header")
		return 0, 0
	}
	return h & 15, int(size)
}

// fields calls fn for every field of a struct; fn reads the value or skips it.
func (s *scanner) fields(fn func(id int16, typ byte)) {
	var last int16
	for s.err == nil {
		h := s.byte()
		if h == 0 {
			return
		}
		if d := int16(h >> 4); d > 0 {
			last += d
		} else {
			last = int16(s.int())
		}
		fn(last, h&15)
	}
}

// each calls fn for every element of a list of structs.
func (s *scanner) each(fn func()) {
	elem, n := s.list()
	if n > 0 && elem != tStruct {
		s.fail("a list of something else than structs")
	}
	for ; n > 0 && s.err == nil; n-- {
		fn()
	}
}

// maxDepth of nested values that are skipped; Parquet's own are at most 6 deep.
const maxDepth = 16

func (s *scanner) skip(typ byte) { s.skipAt(typ, 0) }

func (s *scanner) skipAt(typ byte, depth int) {
	if depth > maxDepth {
		s.fail("values nested too deep")
		return
	}
	switch typ {
	case tTrue, tFalse:
	case tByte:
		s.byte()
	case tI16, tI32, tI64:
		s.uvarint()
	case tDouble:
		s.take(8)
	case tUUID:
		s.take(16)
	case tBinary:
		s.text()
	case tList, tSet:
		elem, n := s.list()
		s.skipElements(n, depth, elem)
	case tMap:
		s.skipMap(depth)
	case tStruct:
		s.fields(func(_ int16, t byte) { s.skipAt(t, depth+1) })
	default:
		s.fail("an unknown type of value")
	}
}

// skipElements skips n elements of a list, or pairs of a map, in which a
// boolean takes a byte.
func (s *scanner) skipElements(n, depth int, types ...byte) {
	for ; n > 0 && s.err == nil; n-- {
		for _, t := range types {
			if t == tTrue || t == tFalse {
				t = tByte
			}
			s.skipAt(t, depth+1)
		}
	}
}

func (s *scanner) skipMap(depth int) {
	n := s.uvarint()
	if n == 0 {
		return
	}
	kv := s.byte()
	if n > uint64(len(s.b)-s.at) {
		s.fail("a map that is longer than the header")
		return
	}
	s.skipElements(int(n), depth, kv>>4, kv&15)
}
