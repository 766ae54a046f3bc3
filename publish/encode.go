package publish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Write writes the JSON of a value.
func Write(w io.Writer, v any) error {
	p := pieces{layout: layout{to: w}, known: map[reflect.Type]shape{}}
	p.encoder = json.NewEncoder(&p.compact)
	p.encoder.SetEscapeHTML(false)
	if err := p.encode(reflect.ValueOf(v)); err != nil {
		return err
	}
	p.out = append(p.out, '\n')
	p.flush(0)
	return p.err
}

// compactJSON returns the JSON of a value in one line, characters of HTML as they are.
func compactJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// layout writes compact JSON as people and programs read it: two spaces a level, but an array of
// numbers and short strings on one line, so that a list of ranks is not a page; and what steers a
// terminal as an escape.
type layout struct {
	in    []byte
	at    int // in in
	out   []byte
	depth int
	to    io.Writer
	err   error // of to
}

// piece is how much is written at a time, bytes.
const piece = 64 << 10

// flush writes what is laid out but for so many bytes at its end.
func (l *layout) flush(kept int) {
	n := len(l.out) - kept
	if l.err == nil {
		_, l.err = l.to.Write(l.out[:n])
	}
	l.out = append(l.out[:0], l.out[n:]...)
}

// value writes the value that begins here.
func (l *layout) value() {
	switch l.in[l.at] {
	case '{':
		l.items('}', false)
	case '[':
		l.items(']', l.inline())
	case '"':
		l.text()
	default:
		n := bytes.IndexAny(l.in[l.at:], ",]}")
		if n < 0 {
			n = len(l.in) - l.at
		}
		l.out = append(l.out, l.in[l.at:l.at+n]...)
		l.at += n
	}
}

// items writes an object or an array up to its end.
func (l *layout) items(end byte, inline bool) {
	l.out = append(l.out, l.in[l.at])
	l.at++
	l.depth++
	for first := true; l.in[l.at] != end; first = false {
		if !first {
			l.out = append(l.out, ',')
			l.at++
		}
		switch {
		case !inline:
			l.line()
		case !first:
			l.out = append(l.out, ' ')
		}
		if end == '}' {
			l.text()
			l.out = append(l.out, ": "...)
			l.at++
		}
		l.value()
		if len(l.out) > piece {
			l.flush(1)
		}
	}
	l.depth--
	if c := l.out[len(l.out)-1]; !inline && c != '{' && c != '[' {
		l.line()
	}
	l.out = append(l.out, end)
	l.at++
}

func (l *layout) line() {
	l.out = append(append(l.out, '\n'), strings.Repeat("  ", l.depth)...)
}

// mostInline is how long a string may be, bytes, in an array on one line.
const mostInline = 48

// inline reports whether the array that begins here has only numbers, names and short strings.
func (l *layout) inline() bool {
	for i := l.at + 1; ; i++ {
		switch l.in[i] {
		case ']':
			return true
		case '[', '{':
			return false
		case '"':
			n := stringEnd(l.in[i:])
			if n-2 > mostInline && decodedLength(l.in[i:i+n]) > mostInline {
				return false
			}
			i += n - 1
		}
	}
}

// stringEnd returns the length of the string that text begins with, with its quotes.
func stringEnd(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// decodedLength returns the length of a string in JSON without quotes and escapes, bytes.
func decodedLength(quoted []byte) int {
	var s string
	_ = json.Unmarshal(quoted, &s) // that Marshal wrote
	return len(s)
}

// text writes the string that begins here.
func (l *layout) text() {
	n := stringEnd(l.in[l.at:])
	for s := l.in[l.at : l.at+n]; len(s) > 0; {
		r, size := utf8.DecodeRune(s)
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			l.out = append(l.out, s[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			l.out = fmt.Appendf(l.out, `\u%04x\u%04x`, high, low)
		default:
			l.out = fmt.Appendf(l.out, `\u%04x`, r)
		}
		s = s[size:]
	}
	l.at += n
}
