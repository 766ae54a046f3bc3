package report

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// each is what of makes of every item, never nil.
func each[In, T any](items []In, of func(In) T) []T {
	out := make([]T, len(items))
	for i, x := range items {
		out[i] = of(x)
	}
	return out
}

// strs are the names of values that name themselves; never nil.
func strs[T fmt.Stringer](v []T) []string { return each(v, T.String) }

// optionalString is nil for "".
func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// JSON writes v as people and programs read it: indented, and nothing in it that
// steers a terminal, as Visible has it.
func (o Output) JSON(v any) error {
	compact, err := appendJSON(nil, reflect.ValueOf(v))
	if err == nil {
		_, err = o.W.Write(indent(compact))
	}
	return err
}

// indent lays compact JSON out for reading: two spaces a level, but an array of
// plain values stays on one line, so that a list of ranks is not a page.
func indent(compact []byte) []byte {
	var out bytes.Buffer
	depth, inline, quoted := 0, false, false
	newline := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		if quoted {
			i += writeQuoted(&out, compact[i:]) - 1
			quoted = c != '"'
			continue
		}
		switch c {
		case '{', '[':
			out.WriteByte(c)
			if n := compact[i+1]; n == '}' || n == ']' {
				i++
				out.WriteByte(n)
				continue
			}
			if inline = c == '[' && plainArray(compact[i+1:]); !inline {
				depth++
				newline()
			}
		case '}', ']':
			if !inline {
				depth--
				newline()
			}
			inline = false
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			if inline {
				out.WriteByte(' ')
			} else {
				newline()
			}
		case ':':
			out.WriteString(": ")
		default:
			quoted = c == '"'
			out.WriteByte(c)
		}
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// writeQuoted writes the next character of a string, what steers a terminal as an
// escape, and returns how many bytes it took.
func writeQuoted(out *bytes.Buffer, rest []byte) int {
	if r, n := utf8.DecodeRune(rest); rest[0] >= 0x7f && !unicode.IsPrint(r) {
		for _, half := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(out, `\u%04x`, half)
		}
		return n
	}
	n := 1
	if rest[0] == '\\' {
		n = 2
	}
	out.Write(rest[:n])
	return n
}

// plainArray reports whether the array whose inside begins rest holds numbers
// and short strings only.
func plainArray(rest []byte) bool {
	quoted, size := false, 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			size = 0
		case quoted:
			if size++; size > 48 {
				return false
			}
		case c == '{' || c == '[':
			return false
		case c == ']':
			return true
		}
	}
	return false
}
