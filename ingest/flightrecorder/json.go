package flightrecorder

import (
	"bytes"
	"encoding/json"
	"strconv"

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

// scan reads one JSON value. What ends too early is kept as far as it goes,
// and truncated is true.
func (s *scanner) scan() (root value, truncated bool, err error) {
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
				return s.errUnexpected("a comma or the end")
			}
			s.at++
		}
		if k == dict {
			if s.space() != '"' && s.at < len(s.data) {
				return s.errUnexpected("a key in quotes")
			}
			key, err := s.value(depth + 1)
			if err != nil {
				return err
			}
			if s.stack = append(s.stack, key); s.space() != ':' {
				if s.at >= len(s.data) {
					return errShort
				}
				return s.errUnexpected("a colon")
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

func (s *scanner) errUnexpected(want string) error {
	return s.bad(input.ErrFormat, s.at, "found %q, expected %s", s.data[s.at], want)
}

func (s *scanner) text() (value, error) {
	s.at++
	from, escaped := s.at, false
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
			escaped = true
		case '"':
			s.at++
			if !escaped {
				return s.textAt(from, s.at-1-from), nil
			}
			var out string
			if err := json.Unmarshal(s.data[from-1:s.at], &out); err != nil {
				return value{}, s.bad(input.ErrFormat, from, "a text that is no JSON (%v)", err)
			}
			return s.newText(out), nil
		}
	}
	return value{}, errShort
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
	if _, err := strconv.ParseFloat(string(word), 64); err != nil || len(word) > 40 {
		return value{}, s.bad(input.ErrFormat, from, "%.20q, expected a value", word)
	}
	return value{kind: float}, nil
}
