package kineto

import (
	"bytes"
	"encoding/binary"
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

// member is which member of an event a key is.
type member uint8

const (
	otherMember member = iota
	memberPh
	memberTs
	memberPid
	memberTid
	memberCat
	memberDur
	memberName
	memberArgs
)

// keyAt tells the key whose text begins at i and what it takes with its
// closing quote; taken 0: it must be looked for.
func keyAt(b []byte, i int) (m member, taken int) {
	if i+8 > len(b) {
		return otherMember, 0
	}
	k := binary.LittleEndian.Uint64(b[i:])
	switch k & 0xFFFFFF {
	case keyPh:
		return memberPh, 3
	case keyTs:
		return memberTs, 3
	}
	switch k & 0xFFFFFFFF {
	case keyPid:
		return memberPid, 4
	case keyTid:
		return memberTid, 4
	case keyCat:
		return memberCat, 4
	case keyDur:
		return memberDur, 4
	}
	switch k & 0xFFFFFFFFFF {
	case keyName:
		return memberName, 5
	case keyArgs:
		return memberArgs, 5
	}
	return otherMember, 0
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
		which, n := keyAt(b, i+1)
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
		n, st := e.value(which, b[i:])
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
func (e *event) value(which member, b []byte) (int, state) {
	if which == memberTs || which == memberDur {
		if ns, n := nanos(b); n > 0 && n < len(b) {
			if which == memberTs {
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
	switch which {
	case memberPh:
		if p := text(v); len(p) > 0 {
			e.phase = p[0]
		}
	case memberCat:
		e.cat = text(v)
	case memberName:
		e.name = text(v)
	case memberPid:
		e.pid = v
	case memberTid:
		e.tid = v
	case memberArgs:
		if len(v) > 0 && v[0] == '{' {
			e.args = v
		}
	case memberTs, memberDur:
		e.badTime = true
	}
	return n, whole
}

// valueEnd is the length of a value. A string in a damaged event ends where
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

// nextEvent is the position of what looks like the beginning of an event, at
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
