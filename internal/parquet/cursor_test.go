package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sfstat/sfstat/trace/input"
)

// Footers that contradict themselves or their file.
func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		edit func(f *metadata)
		want error
	}{
		{"sound", func(*metadata) {}, nil},
		{"columns overlap", func(f *metadata) { f.Groups[0].Chunks[0].Meta.Size = 60; f.Groups[0].Chunks[1].Meta.Size = 60 }, input.ErrTooLarge},
		{"past the end", func(f *metadata) { f.Groups[0].Chunks[1].Meta.Size = 70 }, input.ErrTruncated},
		{"offset overflows", func(f *metadata) { f.Groups[0].Chunks[1].Meta.Offset = math.MaxInt64 }, input.ErrTruncated},
		{"another type", func(f *metadata) { f.Groups[0].Chunks[0].Meta.Type = TypeDouble }, input.ErrType},
		{"fewer values", func(f *metadata) { f.Groups[0].Chunks[0].Meta.Values = 2 }, input.ErrRagged},
		{"more rows in all", func(f *metadata) { f.Rows = 4 }, input.ErrRagged},
		{"rows overflow", func(f *metadata) { f.Groups = append(f.Groups, group{Rows: math.MaxInt64}) }, input.ErrRagged},
		{"out of proportion", func(f *metadata) {
			f.Rows, f.Groups[0].Rows = 1<<40, 1<<40
			f.Groups[0].Chunks[0].Meta.Values, f.Groups[0].Chunks[1].Meta.Values = 1<<40, 1<<40
		}, input.ErrTooLarge},
		{"more values in a nested column", func(f *metadata) { f.leaves[1].Nested = true; f.Groups[0].Chunks[1].Meta.Values = 9 }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chunks := make([]chunk, 2)
			for i := range chunks {
				m := &chunks[i].Meta
				m.Type, m.Values, m.Offset, m.Size = TypeInt64, 3, int64(4+30*i), 30
			}
			foot := &metadata{leaves: []Leaf{{Name: "a", Type: TypeInt64}, {Name: "b", Type: TypeInt64}}, Rows: 3,
				Groups: []group{{Rows: 3, Chunks: chunks}}}
			tt.edit(foot)
			f := &File{in: Input{Size: 100, Name: "x"}, lim: limits, foot: foot}
			if err := f.Check(mostRows); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// dataPage is a page of version 1.
func dataPage(t testing.TB, encoding format.Encoding, values int, body []byte) []byte {
	return append(marshal(t, &format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
		CRC: int32(crc32.ChecksumIEEE(body)), DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(values), Encoding: encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}), body...)
}

// column is a file of one column chunk.
func column(b []byte, leaf Leaf, codec format.CompressionCodec, rows int64) *File {
	leaf.Name = "c"
	var k chunk
	k.Meta.Type, k.Meta.Codec, k.Meta.Values, k.Meta.Size = leaf.Type, codec, rows, int64(len(b))
	return &File{in: Input{R: bytes.NewReader(b), Size: int64(len(b)), Name: "x"}, lim: limits,
		foot: &metadata{leaves: []Leaf{leaf}, Rows: rows, Groups: []group{{Rows: rows, Chunks: []chunk{k}}}}}
}

// TestBooleans: in bits and in runs, as programs write them in pages of version
// 1 and of version 2.
func TestBooleans(t *testing.T) {
	run := []byte{2, 0, 0, 0, 6, 1} // three times true
	for _, page := range [][]byte{dataPage(t, format.Plain, 3, []byte{7}), dataPage(t, format.RLE, 3, run)} {
		v, err := column(page, Leaf{Type: TypeBoolean}, format.Uncompressed, 3).Read(0)
		if err != nil || len(v.Bits) != 3 || v.Bits[0] != 1 || v.Bits[2] != 1 {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// Pages of any bytes, without the checksum that guards them in a file: a
// cursor gives as many rows as the footer tells of, or an error.
func FuzzPages(f *testing.F) {
	eights := binary.LittleEndian.AppendUint64(nil, 7)
	f.Add(dataPage(f, format.Plain, 1, eights), uint8(TypeInt64), uint8(0), false)
	f.Add(dataPage(f, format.ByteStreamSplit, 1, eights), uint8(TypeDouble), uint8(0), false)
	f.Add(dataPage(f, format.Plain, 1, append([]byte{2, 0, 0, 0, 2, 1}, eights...)), uint8(TypeInt64), uint8(0), true)
	f.Add(dataPage(f, format.Plain, 1, []byte{1, 0, 0, 0, 'a'}), uint8(TypeBytes), uint8(0), false)
	f.Add(dataPage(f, format.RLE, 3, []byte{2, 0, 0, 0, 6, 1}), uint8(TypeBoolean), uint8(0), false)
	f.Add(append(pageOf(f, crc32.ChecksumIEEE([]byte("12345678"))), dataPage(f, format.RLEDictionary, 3, []byte{1, 6, 0})...), uint8(TypeInt64), uint8(0), false)
	f.Fuzz(func(t *testing.T, b []byte, typ, codec uint8, nullable bool) {
		const rows = 40
		file := column(b, Leaf{Type: Type(typ), Nullable: nullable}, format.CompressionCodec(codec), rows)
		if file.Check(mostRows) != nil {
			return
		}
		c, err := file.Cursor(0)
		for seen := 0; err == nil; {
			var r Run
			if r, err = c.Next(7); err != nil {
				break
			}
			if seen += r.Rows; r.Rows == 0 || seen > rows || r.At == nil && len(r.Values) != r.Rows || r.At != nil && (len(r.At) != len(r.Values) || len(r.At) >= r.Rows) {
				t.Fatalf("%d rows, %d in all", r.Rows, seen)
			}
			for i, v := range r.Values {
				if r.Row(i) >= r.Rows || i > 0 && r.Row(i) <= r.Row(i-1) {
					t.Fatalf("value %d of row %d of %d", i, r.Row(i), r.Rows)
				}
				if Type(typ) == TypeBytes && (v < 0 || int(v) >= len(c.Strings())) {
					t.Fatalf("string %d of %d", v, len(c.Strings()))
				}
			}
		}
	})
}
