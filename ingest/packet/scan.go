package packet

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace/input"
)

// scanner is a cursor over the JSON of one line. Its methods return a *fault
// when the line is not what they read; the cursor is then anywhere.
type scanner struct {
	b       []byte
	i       int
	scratch []byte // holds a string that had escapes
}

// fault is what is wrong in a line, and at which byte.
type fault struct {
	at  int // 0-based
	err error
}

func (s *scanner) fail(at int, kind error, format string, args ...any) *fault {
	return &fault{at, input.Bad(kind, format, args...)}
}

// errUnexpected returns the error that names what stands at the cursor where want should.
func (s *scanner) errUnexpected(want string) *fault {
	if s.i >= len(s.b) {
		return s.fail(s.i, input.ErrTruncated, "the line ends early, expected %s", want)
	}
	kind := input.ErrFormat
	switch c := s.b[s.i]; {
	case c == 'N' || c == 'I' || c == '-' && s.i+1 < len(s.b) && s.b[s.i+1] == 'I':
		kind = input.ErrNotFinite
	case c == '"' || c == '[' || c == '{' || c == 't' || c == 'f' || c == 'n' || c == '-' || isDigit(c):
		kind = input.ErrType
	}
	return s.fail(s.i, kind, "found %s, expected %s", s.excerpt(), want)
}

// excerpt quotes the beginning of what stands at the cursor.
func (s *scanner) excerpt() string {
	rest := s.b[s.i:]
	end := min(len(rest), 24)
	for n, c := range rest[:end] {
		if n > 0 && strings.IndexByte(",:]} \t", c) >= 0 {
			end = n
			break
		}
	}
	if end < len(rest) && end == 24 {
		return strconv.QuoteToASCII(string(rest[:end])) + "…"
	}
	return strconv.QuoteToASCII(string(rest[:end]))
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek returns the byte at the cursor, 0 at the end of the line.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// need skips space and then the byte c.
func (s *scanner) need(c byte, want string) *fault {
	s.space()
	if s.peek() != c {
		return s.errUnexpected(want)
	}
	s.i++
	return nil
}

// word skips the literal w if it stands at the cursor.
func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

// cutWord reports whether the line ends inside the literal w.
func (s *scanner) cutWord(w string) bool {
	rest := s.b[s.i:]
	return len(rest) > 0 && len(rest) < len(w) && string(rest) == w[:len(rest)]
}

// literal reads the literal w; a line that ends inside it was cut.
func (s *scanner) literal(w, want string) *fault {
	if s.word(w) {
		return nil
	}
	if s.cutWord(w) {
		s.i = len(s.b)
	}
	return s.errUnexpected(want)
}

// list reads the members of an array; item reads the one at the cursor.
func (s *scanner) list(want string, item func() *fault) *fault {
	if f := s.need('[', want); f != nil {
		return f
	}
	return s.members(']', `"," or "]"`, item)
}

// members reads the members of an array or object up to its end, with commas between them.
func (s *scanner) members(end byte, next string, member func() *fault) *fault {
	if s.space(); s.peek() == end {
		s.i++
		return nil
	}
	for {
		s.space()
		if f := member(); f != nil {
			return f
		}
		if s.space(); s.peek() == end {
			s.i++
			return nil
		}
		if f := s.need(',', next); f != nil {
			return f
		}
	}
}

// object reads the members of an object. member gets the key, valid until the
// next string is read, and the place of the key; it reads the value.
func (s *scanner) object(want string, member func(key []byte, at int) *fault) *fault {
	if f := s.need('{', want); f != nil {
		return f
	}
	return s.members('}', `"," or "}"`, func() *fault {
		at := s.i
		key, f := s.text("a key in quotes")
		if f == nil {
			f = s.need(':', `":" after the key`)
		}
		if f != nil {
			return f
		}
		s.space()
		return member(key, at)
	})
}

// text reads a string; the bytes are valid until the next string is read.
func (s *scanner) text(want string) ([]byte, *fault) {
	if s.peek() != '"' {
		return nil, s.errUnexpected(want)
	}
	start, escapes := s.i+1, false
	out := s.scratch[:0] // what comes before from, where there are escapes
	for i, from := start, start; i < len(s.b); {
		switch c := s.b[i]; {
		case c == '"':
			if s.i = i + 1; !escapes {
				return s.b[start:i], nil
			}
			s.scratch = append(out, s.b[from:i]...)
			return s.scratch, nil
		case c == '\\':
			r, n, f := s.escape(i)
			if f != nil {
				return nil, f
			}
			out, escapes = utf8.AppendRune(append(out, s.b[from:i]...), r), true
			i += n
			from = i
		case c < ' ':
			return nil, s.fail(i, input.ErrFormat, "the control character %#02x inside a string: write it as an escape", c)
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(s.b[i:])
			if i += n; r == utf8.RuneError && n == 1 {
				if utf8.FullRune(s.b[i-1:]) {
					return nil, s.fail(i-1, input.ErrFormat, "the byte %#02x inside a string is not valid UTF-8", c)
				}
				i = len(s.b) // the line ends in it
			}
		}
	}
	s.i = len(s.b)
	return nil, s.errUnexpected("the end of a string")
}

// escape reads the escape at b[i], a backslash: what it stands for, and its
// length.
func (s *scanner) escape(i int) (rune, int, *fault) {
	if i+1 >= len(s.b) {
		s.i = len(s.b)
		return 0, 0, s.errUnexpected("the rest of an escape")
	}
	const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if at := strings.IndexByte(plain, s.b[i+1]); at >= 0 {
		return rune(meant[at]), 2, nil
	}
	if s.b[i+1] != 'u' {
		shown := strconv.QuoteRune(rune(s.b[i+1])) // it may steer a terminal
		return 0, 0, s.fail(i, input.ErrFormat, "the escape \\%s inside a string, which JSON does not have", shown[1:len(shown)-1])
	}
	r, f := s.hex4(i)
	if f != nil || !utf16.IsSurrogate(r) {
		return r, 6, f
	}
	rest := s.b[i+6:]
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		low, f := s.hex4(i + 6)
		if f != nil {
			return 0, 0, f
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12, nil
		}
	}
	if len(rest) < 2 && strings.HasPrefix(`\u`, string(rest)) {
		s.i = len(s.b)
		return 0, 0, s.errUnexpected("the rest of an escape")
	}
	return 0, 0, s.fail(i, input.ErrFormat, "half of a surrogate pair inside a string, which is not valid Unicode")
}

func (s *scanner) hex4(i int) (rune, *fault) {
	var r rune
	for j := i + 2; j < i+6; j++ {
		if j >= len(s.b) {
			s.i = len(s.b)
			return 0, s.errUnexpected("the rest of an escape")
		}
		c := s.b[j]
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, s.fail(i, input.ErrFormat, "an escape \\u without four hexadecimal digits")
		}
		r = r<<4 | rune(c)
	}
	return r, nil
}

// number finds the end of the JSON number at the cursor and whether it is
// written as an integer.
func (s *scanner) number(want string) (text []byte, integer bool, f *fault) {
	i := s.i
	if i < len(s.b) && s.b[i] == '-' {
		i++
	}
	digits := func() int {
		from := i
		for i < len(s.b) && isDigit(s.b[i]) {
			i++
		}
		return i - from
	}
	first := i
	switch n := digits(); {
	case n == 0 && i == len(s.b):
		s.i = i
		return nil, false, s.errUnexpected(want)
	case n == 0:
		return nil, false, s.errUnexpected(want)
	case n > 1 && s.b[first] == '0':
		return nil, false, s.fail(s.i, input.ErrFormat, "the number %s begins with a zero, which JSON does not allow", s.excerpt())
	}
	integer = true
	part := func() *fault {
		integer = false
		if digits() == 0 {
			if i == len(s.b) {
				s.i = i
				return s.errUnexpected("a digit")
			}
			return s.fail(i, input.ErrFormat, "a number that goes on without a digit")
		}
		return nil
	}
	if i < len(s.b) && s.b[i] == '.' {
		i++
		if f := part(); f != nil {
			return nil, false, f
		}
	}
	if i < len(s.b) && s.b[i]|0x20 == 'e' {
		if i++; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		if f := part(); f != nil {
			return nil, false, f
		}
	}
	text = s.b[s.i:i]
	s.i = i
	return text, integer, nil
}

// integer reads one whole number from low to high.
func (s *scanner) integer(want string, low, high int64) (int64, *fault) {
	at := s.i
	text, whole, f := s.number(want)
	if f != nil {
		return 0, f
	}
	if !whole {
		return 0, s.fail(at, input.ErrType, "found %s, expected %s: write it as an integer, without fraction or exponent", text, want)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
		return 0, s.fail(at, input.ErrOverflow, "%s does not fit in 64 bits", shorten(text))
	case n < low && low == 0 || text[0] == '-' && n == 0:
		return 0, s.fail(at, input.ErrNegative, "found %s, expected %s, which is never negative", text, want)
	case n < low || n > high:
		return 0, s.fail(at, input.ErrTooLarge, "found %s, expected %s from %d to %d", text, want, low, high)
	}
	return n, nil
}

// float reads one finite number.
func (s *scanner) float(want string) (float64, *fault) {
	at := s.i
	text, _, f := s.number(want)
	if f != nil {
		return 0, f
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, s.fail(at, input.ErrNotFinite, "%s does not fit in a 64-bit float", shorten(text))
	}
	return v, nil
}

func shorten(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + "…"
	}
	return string(text)
}

// boolean reads true or false.
func (s *scanner) boolean() (bool, *fault) {
	switch s.peek() {
	case 't':
		return true, s.literal("true", "true or false")
	case 'f':
		return false, s.literal("false", "true or false")
	}
	return false, s.errUnexpected("true or false")
}

// null skips a null, if one is at the cursor.
func (s *scanner) null() (bool, *fault) {
	if s.peek() != 'n' {
		return false, nil
	}
	return true, s.literal("null", "null")
}

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 200

// skip reads any value and forgets it. Inside it, the NaN and Infinity that
// Python writes are tolerated.
func (s *scanner) skip(depth int) *fault {
	if depth > maxDepth {
		return s.fail(s.i, input.ErrTooLarge, "values nested more than %d deep", maxDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object("an object", func([]byte, int) *fault { return s.skip(depth + 1) })
	case '[':
		return s.list("an array", func() *fault { return s.skip(depth + 1) })
	case '"':
		_, f := s.text("a string")
		return f
	case 't', 'f':
		_, f := s.boolean()
		return f
	case 'n':
		return s.literal("null", "a value")
	case 'N':
		return s.literal("NaN", "a value")
	case 'I':
		return s.literal("Infinity", "a value")
	case '-':
		if s.i+1 < len(s.b) && s.b[s.i+1] == 'I' {
			return s.literal("-Infinity", "a value")
		}
	}
	_, _, f := s.number("a value")
	return f
}
