package logline

import "github.com/sfstat/sfstat/trace/nccl"

// cursor reads fields off the front of a message. The first that does not
// fit sets bad, after which nothing is read any more.
type cursor struct {
	b   []byte
	bad bool
}

// word reads exactly w.
func (c *cursor) word(w string) {
	if c.bad || len(c.b) < len(w) || string(c.b[:len(w)]) != w {
		c.bad = true
		return
	}
	c.b = c.b[len(w):]
}

// try reads w if it is next.
func (c *cursor) try(w string) bool {
	if c.bad || len(c.b) < len(w) || string(c.b[:len(w)]) != w {
		return false
	}
	c.b = c.b[len(w):]
	return true
}

// dec reads decimal digits, at most those of an int64.
func (c *cursor) dec() int64 {
	var n uint64
	i := 0
	for ; i < len(c.b) && c.b[i]-'0' < 10; i++ {
		if n > (1<<63-1-9)/10 {
			c.bad = true
			return 0
		}
		n = n*10 + uint64(c.b[i]-'0')
	}
	if c.bad || i == 0 {
		c.bad = true
		return 0
	}
	c.b = c.b[i:]
	return int64(n)
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
	if n != int64(int32(n)) {
		c.bad = true
		return 0
	}
	return int32(n)
}

// hex reads hexadecimal digits of either case, at most 16.
func (c *cursor) hex() uint64 {
	var n uint64
	i := 0
	for ; i < len(c.b); i++ {
		d := hexDigit(c.b[i])
		if d > 15 {
			break
		}
		if i == 16 {
			c.bad = true
			return 0
		}
		n = n<<4 | uint64(d)
	}
	if c.bad || i == 0 {
		c.bad = true
		return 0
	}
	c.b = c.b[i:]
	return n
}

func hexDigit(b byte) byte {
	switch {
	case b-'0' < 10:
		return b - '0'
	case b-'a' < 6:
		return b - 'a' + 10
	case b-'A' < 6:
		return b - 'A' + 10
	}
	return 255
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
	i := 0
	for i < len(c.b) && (c.b[i]-'0' < 10 || c.b[i]|0x20-'a' < 26 || c.b[i] == '_') {
		i++
	}
	n := c.b[:i]
	c.b = c.b[i:]
	if i == 0 {
		c.bad = true
	}
	return n
}

// number reads digits with at most one point.
func (c *cursor) number() float64 {
	whole := c.dec()
	v := float64(whole)
	if c.try(".") {
		scale := 1.0
		for len(c.b) > 0 && c.b[0]-'0' < 10 {
			scale /= 10
			v += float64(c.b[0]-'0') * scale
			c.b = c.b[1:]
		}
	}
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
