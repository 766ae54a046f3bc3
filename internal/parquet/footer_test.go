package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sfstat/sfstat/trace/input"
)

// marshal is a header as parquet-go writes it.
func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := thrift.Marshal(&protocol, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestClaims: lengths that the input does not hold, and nesting that would
// exhaust the stack, cost no memory.
func TestClaims(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x07}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"text":           {append([]byte{0x58, 0x48}, huge...), input.ErrTruncated},
		"list":           {append([]byte{0x29, 0xfc}, huge...), input.ErrFormat},
		"list of lists":  {append([]byte{0x29, 0xf9}, huge...), input.ErrFormat},
		"small elements": {append([]byte{0x29, 0xfc, 0x80, 0x80, 0x40}, make([]byte, 1<<20)...), input.ErrFormat},
		"columns":        {append([]byte{0x29, 0xfc, 0x80, 0x80, 0x10}, bytes.Repeat([]byte{0x48, 0, 0}, 1<<18)...), input.ErrFormat},
		"chunks":         {append([]byte{0x49, 0x1c, 0x19, 0xfc, 0x80, 0x80, 0x10}, bytes.Repeat([]byte{0x18, 0, 0}, 1<<18)...), input.ErrFormat},
		"map":            {append([]byte{0x2b}, append(huge, 0x11)...), input.ErrFormat},
		"number":         {append([]byte{0x36}, slices.Repeat([]byte{0xff}, 11)...), input.ErrFormat},
		"kind":           {[]byte{0x2f}, input.ErrFormat},
		"depth":          {slices.Repeat([]byte{0x1c}, 1<<20), input.ErrFormat},
		"depth of lists": {append([]byte{0x29}, slices.Repeat([]byte{0x19}, 1<<20)...), input.ErrFormat},
		"nothing":        {nil, input.ErrTruncated},
		"empty":          {[]byte{0}, input.ErrFormat},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseMetadata(c.b)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, expected %v", name, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%s: %d bytes", name, used)
		}
	}
}

// pageOf is a page of one dictionary entry of eight bytes.
func pageOf(t testing.TB, crc uint32) []byte {
	return append(marshal(t, &format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: 8, CompressedPageSize: 8, CRC: int32(crc),
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})}), "12345678"...)
}

func TestNextPage(t *testing.T) {
	sound := pageOf(t, crc32.ChecksumIEEE([]byte("12345678")))
	p, rest, err := nextPage(append(sound, "next"...))
	if err != nil || string(p.body) != "12345678" || string(rest) != "next" || p.Type != format.DictionaryPage || p.values != 1 {
		t.Fatalf("%+v and %q: %v", p, rest, err)
	}
	for cut := range sound {
		if _, _, err := nextPage(sound[:cut]); !errors.Is(err, input.ErrTruncated) {
			t.Errorf("%d of %d bytes: %v, expected %v", cut, len(sound), err, input.ErrTruncated)
		}
	}
	if _, _, err := nextPage(pageOf(t, 7)); !errors.Is(err, input.ErrFormat) {
		t.Errorf("a wrong checksum: %v, expected %v", err, input.ErrFormat)
	}
}

// TestDecodeRefuses: counts in the values of a page that the page has not, for
// which parquet-go alone would make room.
func TestDecodeRefuses(t *testing.T) {
	deltas := func(values uint64) []byte { // blocks of 128 in 4, 5 is the first
		return append(binary.AppendUvarint([]byte{0x80, 0x01, 4}, values), 10)
	}
	run := func(values uint64, value ...byte) []byte {
		return append(binary.AppendUvarint(nil, values<<1), value...)
	}
	indices := func(b ...byte) []byte { return append([]byte{2}, b...) }
	for name, c := range map[string]struct {
		how  format.Encoding
		b    []byte
		want error
	}{
		"no header":           {format.DeltaBinaryPacked, nil, input.ErrFormat},
		"billions":            {format.DeltaBinaryPacked, deltas(1<<31 - 1), input.ErrRagged},
		"one too few":         {format.DeltaBinaryPacked, deltas(2), input.ErrRagged},
		"no block":            {format.DeltaBinaryPacked, deltas(3), input.ErrFormat},
		"no widths":           {format.DeltaBinaryPacked, append(deltas(3), 2), input.ErrFormat},
		"no width":            {format.RLEDictionary, nil, input.ErrTruncated},
		"no run":              {format.RLEDictionary, indices(), input.ErrTruncated},
		"an empty run":        {format.RLEDictionary, indices(0, 0), input.ErrTruncated},
		"a run without value": {format.RLEDictionary, indices(6), input.ErrTruncated},
		"a run too short":     {format.RLEDictionary, indices(4, 1), input.ErrTruncated},
		"half a group":        {format.RLEDictionary, append([]byte{8}, 3, 0), input.ErrTruncated},
		"billions of one":     {format.RLEDictionary, indices(run(1<<31-1, 1)...), input.ErrTruncated},
		"33 bits":             {format.RLEDictionary, []byte{33, 6, 0, 0, 0, 0, 0}, input.ErrFormat},
		"beyond the last":     {format.RLEDictionary, indices(run(3, 3)...), input.ErrFormat},
		"one byte too few":    {format.Plain, make([]byte, 23), input.ErrFormat},
		"of strings":          {format.DeltaByteArray, make([]byte, 24), input.ErrFormat},
	} {
		cursor := &Cursor{f: &File{}, leaf: Leaf{Type: TypeInt64}, dict: []int64{7}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := cursor.decode(make([]int64, 3), c.how, c.b, new(scratch))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%s: %d bytes", name, used)
		}
	}
	if _, err := decodeLevels(make([]byte, 3), run(1<<31-1, 1)); !errors.Is(err, input.ErrTruncated) {
		t.Errorf("billions of levels: %v", err)
	}
}

// FuzzMetadata: a footer or page of any bytes is read or refused.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07})
	f.Add(pageOf(f, 7))
	f.Add(marshal(f, &format.FileMetaData{Schema: []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))},
		{Name: "x", Type: thrift.New(format.Int64)}}, NumRows: 1, KeyValueMetadata: []format.KeyValue{{Key: "k", Value: "v"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMetadata(b); err == nil {
			for _, g := range m.Groups {
				if len(g.Chunks) != len(m.leaves) || g.Rows < 0 {
					t.Fatalf("a group of %d rows and %d columns of %d", g.Rows, len(g.Chunks), len(m.leaves))
				}
			}
		}
		if p, rest, err := nextPage(b); err == nil && len(p.body)+len(rest) >= len(b) {
			t.Fatalf("%d and %d bytes out of %d", len(p.body), len(rest), len(b))
		}
	})
}
