package parquet

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

// TestSchemaTwice: a footer may say anything twice. A second schema behind the
// row groups has columns that no row group has.
func TestSchemaTwice(t *testing.T) {
	footer := func(schemas int) []byte {
		var w thriftWriter
		schema := func() {
			w.List(2, thriftStruct, 2)
			w.Element(func() { w.Text(4, "root"); w.I32(5, 1) })
			w.Element(func() { w.I32(1, 2); w.I32(3, 0); w.Text(4, "x") })
		}
		schema()
		w.I64(3, 1)
		w.List(4, thriftStruct, 1)
		w.Element(func() {
			w.List(1, thriftStruct, 1)
			w.Element(func() {
				w.Object(3, func() { w.I32(1, 2); w.I64(5, 1); w.I64(7, 30); w.I64(9, 4) })
			})
			w.I64(3, 1)
		})
		if schemas == 2 {
			schema()
		}
		return append(w.B, 0)
	}
	if f, err := parseMetadata(footer(1)); err != nil || len(f.Leaves) != 1 {
		t.Fatalf("one schema: %v", err)
	}
	if _, err := parseMetadata(footer(2)); !errors.Is(err, input.ErrFormat) {
		t.Errorf("two schemas: %v, expected %v", err, input.ErrFormat)
	}
}

// pageOf is a page of one dictionary entry of eight bytes.
func pageOf(crc uint32) []byte {
	var w thriftWriter
	w.I32(1, pageDictionary)
	w.I32(2, 8)
	w.I32(3, 8)
	w.I32(4, int32(crc))
	w.Object(7, func() { w.I32(1, 1); w.I32(2, encPlain) })
	return append(append(w.B, 0), "12345678"...)
}

func TestNextPage(t *testing.T) {
	sound := pageOf(crc32.ChecksumIEEE([]byte("12345678")))
	h, body, rest, err := nextPage(append(sound, "next"...))
	if err != nil || string(body) != "12345678" || string(rest) != "next" || h.Kind != pageDictionary || h.Values != 1 || h.Raw != 8 {
		t.Fatalf("%+v, %q and %q: %v", h, body, rest, err)
	}
	for cut := range sound {
		if _, _, _, err := nextPage(sound[:cut]); !errors.Is(err, input.ErrTruncated) {
			t.Errorf("%d of %d bytes: %v, expected %v", cut, len(sound), err, input.ErrTruncated)
		}
	}
	if _, _, _, err := nextPage(pageOf(7)); !errors.Is(err, input.ErrFormat) {
		t.Errorf("a wrong checksum: %v, expected %v", err, input.ErrFormat)
	}
}

// FuzzMetadata: a footer or page of any bytes is read or refused, and what is
// kept of it is in proportion to its size.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07})
	f.Add(pageOf(7))
	var w thriftWriter
	w.List(2, thriftStruct, 2)
	w.Element(func() { w.Text(4, "root"); w.I32(5, 1) })
	w.Element(func() { w.I32(1, 2); w.I32(3, 0); w.Text(4, "x"); w.I32(6, 10) })
	w.I64(3, 1)
	w.List(5, thriftStruct, 1)
	w.Element(func() { w.Text(1, "k"); w.Text(2, "v") })
	f.Add(append(w.B, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMetadata(b); err == nil {
			parts := len(m.Leaves) + len(m.Meta)
			for _, g := range m.Groups {
				parts += 1 + len(g.Chunks)
				if len(g.Chunks) != len(m.Leaves) || g.Rows < 0 {
					t.Fatalf("a group of %d rows and %d columns of %d", g.Rows, len(g.Chunks), len(m.Leaves))
				}
			}
			if parts > len(b) {
				t.Fatalf("%d parts of a footer of %d bytes", parts, len(b))
			}
		}
		if h, body, rest, err := nextPage(b); err == nil && (int64(len(body)) != h.Size || len(body)+len(rest) >= len(b)) {
			t.Fatalf("%d and %d bytes out of a page of %d in %d", len(body), len(rest), h.Size, len(b))
		}
	})
}
