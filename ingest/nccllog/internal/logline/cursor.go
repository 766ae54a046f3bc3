package logline

import (
	"strconv"

	"github.com/sfstat/sfstat/trace/nccl"
)

// isDecimal reports whether a character may be part of a field.
func isDecimal(b byte) bool     { return b-'0' < 10 }
func isHexadecimal(b byte) bool { return isDecimal(b) || b|0x20-'a' < 6 }
func isNumberByte(b byte) bool  { return isDecimal(b) || b == '.' }
func isNameByte(b byte) bool    { return isDecimal(b) || b|0x20-'a' < 26 || b == '_' }

// cursor reads fields off the front of a message. The first that does not
// fit sets bad, after which nothing is read any more.
type cursor struct {
	b   []byte
	bad bool
}

// word reads exactly w.
func (c *cursor) word(w string) { c.bad = !c.try(w) }

// try reads w if it is next.
func (c *cursor) try(w string) bool {
	if c.bad || len(c.b) < len(w) || string(c.b[:len(w)]) != w {
		return false
	}
	c.b = c.b[len(w):]
	return true
}

// run reads the characters that are next, as long as they are of one kind.
func (c *cursor) run(is func(byte) bool) []byte {
	n := 0
	for !c.bad && n < len(c.b) && is(c.b[n]) {
		n++
	}
	text := c.b[:n]
	c.b = c.b[n:]
	return text
}

// dec reads decimal digits.
func (c *cursor) dec() int64 {
	n, err := strconv.ParseInt(string(c.run(isDecimal)), 10, 64)
	c.bad = c.bad || err != nil
	return n
}

// int reads a decimal with a sign.
func (c *cursor) int() int64 {
	if c.try("-") {
		return -c.dec()
	}
	return c.dec()
}

// small reads a decimal of up to 31 bits.
func (c *cursor) small() int32 {
	n := c.int()
	c.bad = c.bad || n != int64(int32(n))
	return int32(n)
}

// hex reads hexadecimal digits of either case.
func (c *cursor) hex() uint64 {
	n, err := strconv.ParseUint(string(c.run(isHexadecimal)), 16, 64)
	c.bad = c.bad || err != nil
	return n
}

// pointer reads what %p prints.
func (c *cursor) pointer() uint64 {
	if c.try("(nil)") {
		return 0
	}
	c.word("0x")
	return c.hex()
}

// name reads letters and digits.
func (c *cursor) name() []byte {
	n := c.run(isNameByte)
	c.bad = c.bad || len(n) == 0
	return n
}

// number reads digits with at most one point.
func (c *cursor) number() float64 {
	v, err := strconv.ParseFloat(string(c.run(isNumberByte)), 64)
	c.bad = c.bad || err != nil
	return v
}

// datatype reads a number of ncclDataType_t.
func (c *cursor) datatype() nccl.Datatype {
	n := c.int()
	if n < 0 || n > int64(nccl.Float8E5M2) {
		return nccl.UnknownType
	}
	return nccl.Datatype(n)
}
