package kineto

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// event is what is taken of one trace event. Its slices point into the buffer.
type event struct {
	phase     byte // 0: none
	cat, name []byte
	pid, tid  []byte // as they stand
	args      []byte // the object, nil: none
	ts, dur   int64  // ns
	hasTime   bool
	hasDur    bool
	badTime   bool
	lenient   bool // strings are looked at twice for where they end
}

// The keys of interest with their closing quotes, as little-endian numbers.
const (
	keyPh   = 'p' | 'h'<<8 | '"'<<16
	keyTs   = 't' | 's'<<8 | '"'<<16
	keyPid  = 'p' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyTid  = 't' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyCat  = 'c' | 'a'<<8 | 't'<<16 | '"'<<24
	keyDur  = 'd' | 'u'<<8 | 'r'<<16 | '"'<<24
	keyName = 'n' | 'a'<<8 | 'm'<<16 | 'e'<<24 | '"'<<32
	keyArgs = 'a' | 'r'<<8 | 'g'<<16 | 's'<<24 | '"'<<32
)

// keyAt returns the key whose text begins at i, as a number like those above, and what it takes with its
// closing quote; taken 0: it is longer than eight bytes, or has an escape.
func keyAt(b []byte, i int) (key uint64, taken int) {
	if i+8 > len(b) {
		return 0, 0
	}
	const ones = 0x0101010101010101
	k := binary.LittleEndian.Uint64(b[i:])
	other := k ^ '"'*ones // a byte of zero is a quote
	n := bits.TrailingZeros64((other-ones)&^other&(0x80*ones))>>3 + 1
	if n > 8 || n > 1 && byte(k>>(8*n-16)) == '\\' {
		return 0, 0
	}
	return k & (1<<(8*n) - 1), n
}

// read reads the event that b begins with, an opening brace first. It returns
// the length of the event.
func (e *event) read(b []byte) (int, state) {
	*e = event{lenient: e.lenient}
	i := 1
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			return 0, short
		}
		switch b[i] {
		case ',':
			i++
			continue
		case '}':
			return i + 1, whole
		case '"':
		default:
			return 0, damaged
		}
		key, n := keyAt(b, i+1)
		if n == 0 {
			end, st := stringEnd(b, i)
			if st != whole {
				return 0, st
			}
			n = end - i - 1
		}
		i = skipSpace(b, i+1+n)
		if i >= len(b) {
			return 0, short
		}
		if b[i] != ':' {
			return 0, damaged
		}
		i = skipSpace(b, i+1)
		if i >= len(b) {
			return 0, short
		}
		n, st := e.value(key, b[i:])
		if st != whole {
			return 0, st
		}
		i = skipSpace(b, i+n)
		if i >= len(b) {
			return 0, short
		}
		if b[i] != ',' && b[i] != '}' {
			return 0, damaged
		}
	}
}

// value reads the value of a member, which b begins with.
func (e *event) value(key uint64, b []byte) (int, state) {
	if key == keyTs || key == keyDur {
		if ns, n := nanos(b); n > 0 && n < len(b) {
			if key == keyTs {
				e.ts, e.hasTime = ns, true
			} else {
				e.dur, e.hasDur = ns, true
			}
			return n, whole
		}
	}
	n, st := e.valueEnd(b)
	if st != whole {
		return n, st
	}
	v := b[:n]
	switch key {
	case keyPh:
		if p := text(v); len(p) > 0 {
			e.phase = p[0]
		}
	case keyCat:
		e.cat = text(v)
	case keyName:
		e.name = text(v)
	case keyPid:
		e.pid = v
	case keyTid:
		e.tid = v
	case keyArgs:
		if len(v) > 0 && v[0] == '{' {
			e.args = v
		}
	case keyTs, keyDur:
		e.badTime = true
	}
	return n, whole
}

// valueEnd returns the length of a value. A string in a damaged event ends where
// what follows is what follows a string.
func (e *event) valueEnd(b []byte) (int, state) {
	switch {
	case !e.lenient && b[0] == '{':
		if n := flatEnd(b); n > 0 {
			return n, whole
		}
		return nestedEnd(b, wellFormed)
	case !e.lenient || b[0] != '"':
		return valueEnd(b)
	}
	for i := 1; i < len(b); i++ {
		at := bytes.IndexByte(b[i:], '"')
		if at < 0 {
			break
		}
		if i += at; endsValue(b, i+1) {
			return i + 1, whole
		}
	}
	return 0, short
}

// endsValue reports whether at i, behind a quote, an object goes on after a
// value: with the next key, or with its end.
func endsValue(b []byte, i int) bool {
	i = skipSpace(b, i)
	if i >= len(b) {
		return true
	}
	if b[i] == '}' {
		i = skipSpace(b, i+1)
		return i >= len(b) || b[i] == ',' || b[i] == '}' || b[i] == ']'
	}
	if b[i] != ',' {
		return false
	}
	i = skipSpace(b, i+1)
	if i >= len(b) || b[i] != '"' {
		return i >= len(b)
	}
	end, st := stringEnd(b, i)
	if st != whole {
		return false
	}
	end = skipSpace(b, end)
	return end >= len(b) || b[end] == ':'
}

// nextEvent returns the position of what looks like the beginning of an event, at
// from or behind it; −1: there is none in b.
func nextEvent(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		at := bytes.IndexByte(b[i:], '{')
		if at < 0 {
			return -1
		}
		i += at
		before := i - 1
		for before >= 0 && b[before] <= ' ' {
			before--
		}
		key := skipSpace(b, i+1)
		if key < len(b) && b[key] == '"' && before >= 0 && (b[before] == ',' || b[before] == '}') {
			return i
		}
	}
	return -1
}
