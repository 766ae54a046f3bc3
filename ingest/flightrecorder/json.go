package flightrecorder

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace/input"
)

// scanner reads a dump in JSON into the same values as a pickle.
type scanner struct {
	*document
	at    int
	stack []value
}

// deepest is how far lists and objects of a dump may be within one another.
const deepest = 32

// scanned reads one JSON value. What ends too early is kept as far as it goes,
// and truncated is true.
func (s *scanner) scanned() (root value, truncated bool, err error) {
	s.at, s.stack = 0, s.stack[:0]
	root, err = s.value(0)
	if err == errShort {
		return root, true, nil
	}
	return root, false, err
}

func (s *scanner) space() byte {
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

func (s *scanner) value(depth int) (value, error) {
	switch c := s.space(); {
	case s.at >= len(s.data):
		return value{}, errShort
	case depth > deepest:
		return value{}, s.bad(input.ErrTooLarge, s.at, "lists and objects within one another, more than %d deep", deepest)
	case c == '{' || c == '[':
		return s.container(c, depth)
	case c == '"':
		return s.text()
	default:
		return s.scalar()
	}
}

// container reads a list or an object. Its items wait on the stack until all
// are there.
func (s *scanner) container(open byte, depth int) (value, error) {
	k, closing := list, byte(']')
	if open == '{' {
		k, closing = dict, '}'
	}
	made, from := s.document.container(k), len(s.stack)
	s.at++
	err := s.fill(k, closing, depth)
	items := s.stack[from:]
	if k == dict {
		items = items[:len(items)&^1]
	}
	s.add(made, items...)
	s.stack = s.stack[:from]
	return made, err
}

func (s *scanner) fill(k kind, closing byte, depth int) error {
	for first := true; ; first = false {
		c := s.space()
		if s.at >= len(s.data) {
			return errShort
		}
		if c == closing {
			s.at++
			return nil
		}
		if !first {
			if c != ',' {
				return s.unexpected("a comma or the end")
			}
			s.at++
		}
		if k == dict {
			if s.space() != '"' && s.at < len(s.data) {
				return s.unexpected("a key in quotes")
			}
			key, err := s.value(depth + 1)
			if err != nil {
				return err
			}
			if s.stack = append(s.stack, key); s.space() != ':' {
				if s.at >= len(s.data) {
					return errShort
				}
				return s.unexpected("a colon")
			}
			s.at++
		}
		v, err := s.value(depth + 1)
		if err != nil && (err != errShort || v.kind != list && v.kind != dict) {
			return err
		}
		if s.stack = append(s.stack, v); err != nil {
			return err
		}
	}
}

func (s *scanner) unexpected(want string) error {
	return s.bad(input.ErrFormat, s.at, "found %q, expected %s", s.data[s.at], want)
}

func (s *scanner) text() (value, error) {
	s.at++
	from := s.at
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '"':
			s.at++
			return s.placed(from, s.at-1-from), nil
		case '\\':
			return s.escaped(from)
		}
	}
	return value{}, errShort
}

// escaped reads on a text that has a backslash.
func (s *scanner) escaped(from int) (value, error) {
	out := bytes.Clone(s.data[from:s.at])
	for ; s.at < len(s.data); s.at++ {
		c := s.data[s.at]
		if c == '"' {
			s.at++
			return s.written(out), nil
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		if s.at++; s.at >= len(s.data) {
			break
		}
		switch c = s.data[s.at]; c {
		case 'u':
			r, ok := s.unicode()
			if !ok {
				return value{}, s.bad(input.ErrFormat, s.at, "\\u without four hexadecimal digits")
			}
			out = utf8.AppendRune(out, r)
		default:
			if i := bytes.IndexByte([]byte("bfnrt"), c); i >= 0 {
				c = "\b\f\n\r\t"[i]
			}
			out = append(out, c)
		}
	}
	return value{}, errShort
}

// unicode reads the four digits after \u, and the second half of a pair.
func (s *scanner) unicode() (rune, bool) {
	r, ok := s.hex(s.at + 1)
	if !ok {
		return 0, false
	}
	s.at += 4
	if utf16.IsSurrogate(r) && s.at+2 < len(s.data) && s.data[s.at+1] == '\\' && s.data[s.at+2] == 'u' {
		if low, ok := s.hex(s.at + 3); ok {
			s.at += 6
			return utf16.DecodeRune(r, low), true
		}
	}
	return r, true
}

func (s *scanner) hex(at int) (rune, bool) {
	if at+4 > len(s.data) {
		return 0, false
	}
	x, err := strconv.ParseUint(string(s.data[at:at+4]), 16, 32)
	return rune(x), err == nil
}

func (s *scanner) scalar() (value, error) {
	from := s.at
	for s.at < len(s.data) && bytes.IndexByte([]byte(",]} \n\r\t:"), s.data[s.at]) < 0 {
		s.at++
	}
	word := s.data[from:s.at]
	if s.at == len(s.data) {
		return value{}, errShort
	}
	switch string(word) {
	case "null":
		return value{}, nil
	case "true", "false":
		return value{kind: boolean, x: int64(5 - len(word))}, nil
	}
	if x, err := strconv.ParseInt(string(word), 10, 64); err == nil {
		return value{kind: integer, x: x}, nil
	}
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil || len(word) > 40 {
		return value{}, s.bad(input.ErrFormat, from, "%.20q, expected a value", word)
	}
	return value{kind: float, x: int64(math.Float64bits(x))}, nil
}
