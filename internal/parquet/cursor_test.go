package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

// Footers that contradict themselves or their file.
func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		edit func(f *Metadata)
		want error
	}{
		{"sound", func(*Metadata) {}, nil},
		{"columns overlap", func(f *Metadata) { f.Groups[0].Chunks[0].Size = 60; f.Groups[0].Chunks[1].Size = 60 }, input.ErrTooLarge},
		{"past the end", func(f *Metadata) { f.Groups[0].Chunks[1].Size = 70 }, input.ErrTruncated},
		{"offset overflows", func(f *Metadata) { f.Groups[0].Chunks[1].Offset = math.MaxInt64 }, input.ErrTruncated},
		{"another type", func(f *Metadata) { f.Groups[0].Chunks[0].Type = TypeDouble }, input.ErrType},
		{"fewer values", func(f *Metadata) { f.Groups[0].Chunks[0].Values = 2 }, input.ErrRagged},
		{"more rows in all", func(f *Metadata) { f.Rows = 4 }, input.ErrRagged},
		{"rows overflow", func(f *Metadata) { f.Groups = append(f.Groups, Group{Rows: math.MaxInt64}) }, input.ErrRagged},
		{"out of proportion", func(f *Metadata) {
			f.Rows, f.Groups[0].Rows = 1<<40, 1<<40
			f.Groups[0].Chunks[0].Values, f.Groups[0].Chunks[1].Values = 1<<40, 1<<40
		}, input.ErrTooLarge},
		{"more values in a nested column", func(f *Metadata) { f.Leaves[1].Nested = true; f.Groups[0].Chunks[1].Values = 9 }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chunk := func(offset int64) Chunk { return Chunk{Type: TypeInt64, Values: 3, Offset: offset, Size: 30} }
			foot := &Metadata{Leaves: []Leaf{{Name: "a", Type: TypeInt64}, {Name: "b", Type: TypeInt64}}, Rows: 3,
				Groups: []Group{{Rows: 3, Chunks: []Chunk{chunk(4), chunk(34)}}}}
			tt.edit(foot)
			f := &File{in: Input{Size: 100, Name: "x"}, lim: limits, foot: foot}
			if err := f.Check(mostRows); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// dataPage is a page of version 1.
func dataPage(encoding int64, values int, body []byte) []byte {
	var w thriftWriter
	w.I32(1, pageData)
	w.I32(2, int32(len(body)))
	w.I32(3, int32(len(body)))
	w.I32(4, int32(crc32.ChecksumIEEE(body)))
	w.Object(5, func() {
		w.I32(1, int32(values))
		w.I32(2, int32(encoding))
		w.I32(3, encRLE)
		w.I32(4, encRLE)
	})
	return append(append(w.B, 0), body...)
}

// column is a file of one column chunk.
func column(b []byte, leaf Leaf, codec, rows int64) *File {
	leaf.Name = "c"
	return &File{in: Input{R: bytes.NewReader(b), Size: int64(len(b)), Name: "x"}, lim: limits,
		foot: &Metadata{Leaves: []Leaf{leaf}, Rows: rows,
			Groups: []Group{{Rows: rows, Chunks: []Chunk{{Type: leaf.Type, Codec: codec, Values: rows, Size: int64(len(b))}}}}}}
}

// TestBooleans: in bits and in runs, as programs write them in pages of version
// 1 and of version 2.
func TestBooleans(t *testing.T) {
	run := []byte{2, 0, 0, 0, 6, 1} // three times true
	for _, page := range [][]byte{dataPage(encPlain, 3, []byte{7}), dataPage(encRLE, 3, run)} {
		v, err := column(page, Leaf{Type: TypeBoolean}, codecNone, 3).Read(0)
		if err != nil || len(v.Bits) != 3 || v.Bits[0] != 1 || v.Bits[2] != 1 {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// Pages of any bytes, without the checksum that guards them in a file: a
// cursor gives as many rows as the footer tells of, or an error.
func FuzzPages(f *testing.F) {
	eights := binary.LittleEndian.AppendUint64(nil, 7)
	f.Add(dataPage(encPlain, 1, eights), uint8(TypeInt64), uint8(codecNone), false)
	f.Add(dataPage(encByteStreamSplit, 1, eights), uint8(TypeDouble), uint8(codecNone), false)
	f.Add(dataPage(encPlain, 1, append([]byte{2, 0, 0, 0, 2, 1}, eights...)), uint8(TypeInt64), uint8(codecNone), true)
	f.Add(dataPage(encPlain, 1, []byte{1, 0, 0, 0, 'a'}), uint8(TypeBytes), uint8(codecNone), false)
	f.Add(dataPage(encRLE, 3, []byte{2, 0, 0, 0, 6, 1}), uint8(TypeBoolean), uint8(codecNone), false)
	f.Add(append(pageOf(crc32.ChecksumIEEE([]byte("12345678"))), dataPage(encRLEDictionary, 3, []byte{1, 6, 0})...), uint8(TypeInt64), uint8(codecNone), false)
	f.Fuzz(func(t *testing.T, b []byte, typ, codec uint8, nullable bool) {
		const rows = 40
		file := column(b, Leaf{Type: Type(typ), Nullable: nullable}, int64(codec), rows)
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
