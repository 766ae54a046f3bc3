package sqlite

import (
	"encoding/binary"
	"math"
)

// Kind is what a value is, whatever its column was declared as.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// Value is one value. Bytes, of a text or blob, are valid until the next row.
type Value struct {
	Kind  Kind
	Int   int64
	Real  float64
	Bytes []byte
}

// record is a row as it is stored: the types of its values, and the values one after another.
type record struct {
	types []uint64
	at    []int // where each begins
	body  []byte
	long  []byte // of a row that does not fit in a cell, reused
}

// parse reads the types and finds the values.
func (c *record) parse(b []byte) error {
	head, n := varint(b)
	if n == 0 || head > uint64(len(b)) || int(head) < n {
		return damaged("the head of a row is cut short")
	}
	c.types, c.at, c.body = c.types[:0], c.at[:0], b
	for at := int(head); n < int(head); {
		kind, k := varint(b[n:head])
		if k == 0 || kind == 10 || kind == 11 {
			return damaged("a row has a value of type %d", kind)
		}
		size := sizeOf(kind)
		if size > uint64(len(b)-at) {
			return damaged("a row has a value that is longer than it")
		}
		c.types, c.at = append(c.types, kind), append(c.at, at)
		n, at = n+k, at+int(size)
	}
	return nil
}

// sizeOf is how many bytes a value of a type has.
func sizeOf(kind uint64) uint64 {
	if kind >= 12 {
		return (kind - 12) / 2
	}
	return [...]uint64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[kind]
}

// value is the i-th value; a row that was written before its table had so many columns has none.
func (c *record) value(i int) Value {
	if i >= len(c.types) {
		return Value{}
	}
	kind, b := c.types[i], c.body[c.at[i]:]
	switch {
	case kind >= 12:
		v := Value{Kind: Blob, Bytes: b[:sizeOf(kind)]}
		if kind%2 == 1 {
			v.Kind = Text
		}
		return v
	case kind == 0:
		return Value{}
	case kind == 7:
		return Value{Kind: Real, Real: math.Float64frombits(binary.BigEndian.Uint64(b))}
	case kind >= 8:
		return Value{Kind: Integer, Int: int64(kind - 8)}
	}
	x := int64(int8(b[0])) // the sign is in the first byte
	for _, c := range b[1:sizeOf(kind)] {
		x = x<<8 | int64(c)
	}
	return Value{Kind: Integer, Int: x}
}
