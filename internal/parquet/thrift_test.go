package parquet

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

// TestCompact: what is written is read, known fields and skipped ones, with
// steps between field numbers that fit the short form and not.
func TestCompact(t *testing.T) {
	for _, count := range []int{0, 1, 14, 15, 300} {
		var w thriftWriter
		w.I32(1, math.MinInt32)
		w.Object(2, func() {
			w.Text(3, "skipped")
			w.List(4, thriftI64, count)
			for i := range count {
				w.Int(int64(i))
			}
			w.Object(40, func() {})
		})
		w.I64(40, math.MaxInt64)
		w.List(41, thriftStruct, count)
		for i := range count {
			w.Element(func() { w.Text(1, strings.Repeat("x", i)) })
		}
		b := append(w.B, 0)

		r := thriftReader{B: b}
		var i32, i64 int64
		lengths := []int{}
		r.Fields(func(id int16, kind thriftKind) {
			switch {
			case id == 1 && kind == thriftI32:
				i32 = r.Int()
			case id == 40 && kind == thriftI64:
				i64 = r.Int()
			case id == 41 && kind == thriftList:
				r.Structs(func(i, n int) {
					if n != count || i != len(lengths) {
						t.Fatalf("element %d of %d, expected %d of %d", i, n, len(lengths), count)
					}
					r.Fields(func(int16, thriftKind) { lengths = append(lengths, len(r.Text())) })
				})
			default:
				r.Skip(kind)
			}
		})
		if r.Err != nil || r.At != len(b) || i32 != math.MinInt32 || i64 != math.MaxInt64 || len(lengths) != count {
			t.Fatalf("count %d: %d, %d and %d elements after %d of %d bytes: %v", count, i32, i64, len(lengths), r.At, len(b), r.Err)
		}
		if !slices.IsSorted(lengths) || count > 0 && lengths[count-1] != count-1 {
			t.Errorf("texts of lengths %v", lengths)
		}
		for cut := range b { // no part of a struct is a struct
			r := thriftReader{B: b[:cut]}
			if r.Skip(thriftStruct); !errors.Is(r.Err, input.ErrTruncated) && !errors.Is(r.Err, input.ErrFormat) {
				t.Fatalf("%d of %d bytes are accepted: %v", cut, len(b), r.Err)
			}
		}
	}
}

// TestClaims: lengths that the input does not hold, and nesting that would
// exhaust the stack.
func TestClaims(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for _, test := range []struct {
		name string
		kind thriftKind
		b    []byte
		want error
	}{
		{"text", thriftBinary, huge, input.ErrTruncated},
		{"list", thriftList, append([]byte{0xf0 | byte(thriftTrue)}, huge...), input.ErrFormat},
		{"map", thriftMap, append(slices.Clone(huge), 0x11), input.ErrFormat},
		{"number", thriftI64, slices.Repeat([]byte{0xff}, 11), input.ErrFormat},
		{"kind", 15, nil, input.ErrFormat},
		{"depth", thriftStruct, slices.Repeat([]byte{0x1c}, 1000), input.ErrFormat},
	} {
		r := thriftReader{B: test.b}
		if r.Skip(test.kind); !errors.Is(r.Err, test.want) {
			t.Errorf("%s: %v, expected %v", test.name, r.Err, test.want)
		}
	}
}

// FuzzSkip: no input makes the reader panic, or end before or behind itself.
func FuzzSkip(f *testing.F) {
	f.Add(byte(thriftStruct), []byte{0x15, 2, 0x1c, 0x18, 1, 'x', 0, 0})
	f.Add(byte(thriftMap), []byte{1, 0x88, 1, 'k', 1, 'v'})
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		r := thriftReader{B: b}
		if r.Skip(thriftKind(kind)); r.At < 0 || r.At > len(b) {
			t.Errorf("at %d of %d", r.At, len(b))
		}
	})
}
