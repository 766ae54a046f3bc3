package kineto

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// state is how far a piece of the buffer goes.
type state uint8

const (
	whole   state = iota
	short         // it ends before the value does
	damaged       // it cannot be read
)

// skipSpace returns the position of the next byte that is no white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// stringEnd returns the position behind the closing quote of a string that begins
// at i with its opening one.
func stringEnd(b []byte, i int) (int, state) {
	for from := i + 1; from < len(b); {
		at := bytes.IndexByte(b[from:], '"')
		if at < 0 {
			break
		}
		from += at
		if b[from-1] != '\\' || !endsInEscape(b[i+1:from]) {
			return from + 1, whole
		}
		from++
	}
	return 0, short
}

// valueEnd returns the length of the value that b begins with: a string, an object,
// an array, or anything else up to what ends it.
func valueEnd(b []byte) (int, state) {
	if len(b) == 0 {
		return 0, short
	}
	switch b[0] {
	case '"':
		return stringEnd(b, 0)
	case '{':
		if n := flatEnd(b); n > 0 {
			return n, whole
		}
		return nestedEnd(b, asWritten)
	case '[':
		return nestedEnd(b, asWritten)
	}
	for i, c := range b {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			return i, whole
		}
	}
	return 0, short
}

// flatEnd returns the length of an object without objects in it, 0 when it is none
// or hard to tell. It looks at the bytes in bulk: up to the first closing
// brace there must be no other opening one, no backslash, and quotes in pairs.
func flatEnd(b []byte) int {
	const reach = 64 << 10
	end := bytes.IndexByte(b[:min(len(b), reach)], '}')
	if end < 0 || bytes.IndexByte(b[1:end], '{') >= 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return 0
	}
	if bytes.Count(b[:end], quote)%2 != 0 {
		return 0
	}
	return end + 1
}

var quote = []byte{'"'}

// quoting is whether strings are believed to end at their next quote.
type quoting uint8

const (
	asWritten  quoting = iota
	wellFormed         // it must be followed by what may follow a string
)

// nestedEnd returns the length of an object or array.
func nestedEnd(b []byte, q quoting) (int, state) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end, st := stringEnd(b, i)
			if st != whole {
				return 0, short
			}
			if next := skipSpace(b, end); q == wellFormed && next < len(b) && strings.IndexByte(",:}]", b[next]) < 0 {
				return 0, damaged
			}
			i = end - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, damaged
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, whole
			}
		}
	}
	return 0, short
}

// members calls each for the members of an object, or the elements of an array,
// which have no key, as far as it can be read; open is the bracket that begins it.
// Keys are without quotes, values as they stand.
func members(b []byte, open byte, each func(key, value []byte)) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != open {
		return
	}
	for i++; ; {
		for i = skipSpace(b, i); i < len(b) && b[i] == ','; i = skipSpace(b, i) {
			i++
		}
		var key []byte
		if open == '{' {
			if i >= len(b) || b[i] != '"' {
				return
			}
			end, st := stringEnd(b, i)
			if st != whole {
				return
			}
			key = b[i+1 : end-1]
			if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
				return
			}
			i = skipSpace(b, i+1)
		}
		n, st := valueEnd(b[i:])
		if st != whole || n == 0 && open == '[' {
			return
		}
		each(key, b[i:i+n])
		i += n
	}
}

// text returns a value as text: a string without its quotes and escapes, anything
// else as it stands.
func text(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return v
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	return unescape(nil, v)
}

// unescape appends the text of a string to dst. Escapes that JSON does not
// have stand for themselves: "C:\path" is what was meant.
func unescape(dst, v []byte) []byte {
	const plain = `"\/` + "bfnrt"
	const meant = `"\/` + "\b\f\n\r\t"
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			dst = append(dst, v[i])
			continue
		}
		next := v[i+1]
		if at := bytes.IndexByte([]byte(plain), next); at >= 0 {
			dst = append(dst, meant[at])
			i++
		} else if code, err := strconv.ParseUint(string(v[min(len(v), i+2):min(len(v), i+6)]), 16, 16); next == 'u' && err == nil && i+6 <= len(v) {
			dst = utf8.AppendRune(dst, rune(code))
			i += 5
		} else {
			dst = append(dst, '\\')
		}
	}
	return dst
}

// integer returns a value as a whole number of 64 bits, in quotes or not. Identifiers are unsigned: what is
// beyond the largest int64 is the signed number of the same bits, as −1 for 18446744073709551615.
func integer(v []byte) (n int64, ok bool) {
	if len(v) > 1 && v[0] == '"' {
		v = v[1 : len(v)-1]
	}
	if n, err := strconv.Atoi(string(v)); err == nil {
		return int64(n), true
	}
	u, err := strconv.ParseUint(string(v), 10, 64)
	return int64(u), err == nil
}

// maxMicros is the largest stamp, in µs, that is a time: year 2116.
const maxMicros = math.MaxInt64 / 2 / 1000

// nanos returns a number of microseconds in nanoseconds, digits beyond them cut
// off. It reads the number that b begins with, in quotes or not, and returns
// what it took of b; taken is 0 when there is no number.
func nanos(b []byte) (ns int64, taken int) {
	if len(b) == 0 || b[0] != '"' {
		return micros(b)
	}
	if ns, taken = micros(b[1:]); taken == 0 || taken+1 == len(b) || b[taken+1] != '"' {
		return 0, 0
	}
	return ns, taken + 2
}

// micros reads, as nanos does, a number that is not in quotes. One with an exponent is read to the precision of a
// float64: no profiler writes stamps that way, but durations.
func micros(b []byte) (ns int64, taken int) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i++
	}
	digits := -i
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		if ns = ns*10 + int64(b[i]-'0'); ns > maxMicros {
			return 0, 0
		}
	}
	digits += i
	ns *= 1000
	if i < len(b) && b[i] == '.' {
		i++
		for scale := int64(100); i < len(b) && b[i]-'0' < 10; i++ {
			ns += scale * int64(b[i]-'0')
			scale /= 10
			digits++
		}
	}
	if digits == 0 {
		return 0, 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		for i++; i < len(b) && (b[i]-'0' < 10 || b[i] == '+' || b[i] == '-'); i++ {
		}
		f, err := strconv.ParseFloat(string(b[:i]), 64)
		if err != nil || !(math.Abs(f) <= maxMicros) {
			return 0, 0
		}
		return int64(math.Round(f * 1000)), i
	}
	if negative {
		ns = -ns
	}
	return ns, i
}
