package flat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/sfstat/sfstat/internal/parquetformat"
	"github.com/sfstat/sfstat/trace"
)

// sequences are integers of many kinds: what durations look like, what breaks
// differences, what fills every bit width, lengths around block boundaries.
func sequences() [][]int64 {
	g := rand.New(rand.NewPCG(7, 7))
	out := [][]int64{{}, {0}, {-1}, {math.MinInt64, math.MaxInt64, math.MinInt64, 0, math.MaxInt64}}
	for _, n := range []int{2, 31, 32, 33, 127, 128, 129, 130, 257, 1000} {
		for _, bits := range []int{0, 1, 7, 8, 13, 31, 32, 33, 55, 56, 57, 58, 63, 64} {
			v := make([]int64, n)
			for i := range v {
				if bits > 0 {
					v[i] = int64(g.Uint64() >> (64 - bits))
				}
			}
			out = append(out, v)
		}
	}
	steady := make([]int64, 500)
	for i := range steady {
		steady[i] = int64(i / 8)
	}
	return append(out, steady)
}

// padded is b with the slack that decoders need behind it.
func padded(b []byte) []byte {
	return append(slices.Clone(b), make([]byte, parquetformat.Slack)...)[:len(b)]
}

// The decoders of the parquet-go library were written by others from the same
// specification: what we write they must read, and our own decoder too.
func TestDelta(t *testing.T) {
	var other delta.BinaryPackedEncoding
	for _, want := range sequences() {
		b := appendDelta(nil, want)
		got, err := other.DecodeInt64(nil, b)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("parquet-go reads our differences of %d values wrongly: %v", len(want), err)
		}
		dst := make([]int64, len(want))
		if _, err := parquetformat.DecodeDelta(dst, padded(b)); err != nil || !slices.Equal(dst, want) {
			t.Fatalf("%d values read wrongly: %v", len(want), err)
		}
	}
}

func TestPlanes(t *testing.T) {
	var other bytestreamsplit.Encoding
	for _, want := range sequences() {
		words := make([]uint64, len(want))
		for i, x := range want {
			words[i] = uint64(x)
		}
		ours := appendPlanes(nil, words)
		theirs, err := other.EncodeInt64(nil, slices.Clone(want))
		if err != nil || !bytes.Equal(ours, theirs) {
			t.Fatalf("planes of %d values differ from parquet-go's: %v", len(want), err)
		}
		dst := make([]int64, len(want))
		if err := decodePlanes(dst, ours); err != nil || !slices.Equal(dst, want) {
			t.Fatalf("planes of %d values read wrongly: %v", len(want), err)
		}
	}
}

func TestHybrid(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 7, 8, 9, 64, 1001} {
		for width := 1; width <= 32; width++ {
			for _, run := range []int{1, 3, 50} {
				want := make([]uint32, n)
				for i := range want {
					if want[i] = uint32(g.Uint64() >> (64 - width)); i%run != 0 {
						want[i] = want[i-1]
					}
				}
				b := appendHybrid(nil, want, width)
				got := make([]uint32, n)
				if err := parquetformat.DecodeHybrid(got, padded(b), width); err != nil || !slices.Equal(got, want) {
					t.Fatalf("n=%d width=%d run=%d: read wrongly: %v", n, width, run, err)
				}
				signed := make([]int32, 0, n)
				signed, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(signed, append(b, make([]byte, 64)...)[:len(b)])
				if err != nil || len(signed) < n || uint32(signed[n-1]) != want[n-1] {
					t.Fatalf("n=%d width=%d run=%d: parquet-go reads it wrongly: %v", n, width, run, err)
				}
			}
		}
	}
}

// Whatever is encoded is decoded as it was, and decoders of values of fixed
// size fill what they were asked to fill or say that they cannot.
func FuzzEncode(f *testing.F) {
	for _, v := range sequences()[:40] {
		b := make([]byte, 0, 8*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
		f.Add(b, uint16(len(v)), uint8(13))
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint16, width uint8) {
		dst := make([]int64, n)
		_ = decodePlanes(dst, b)
		values := make([]int64, len(b)/8)
		if err := decodePlain(values, b[:8*len(values)]); err != nil {
			t.Fatal(err)
		}
		again := make([]int64, len(values))
		if _, err := parquetformat.DecodeDelta(again, padded(appendDelta(nil, values))); err != nil || !slices.Equal(again, values) {
			t.Fatalf("differences of %d values are read wrongly: %v", len(values), err)
		}
		bits := int(width%32) + 1
		levels, read := make([]uint32, len(values)), make([]uint32, len(values))
		for i, v := range values {
			levels[i] = uint32(v) & uint32(1<<bits-1)
		}
		if err := parquetformat.DecodeHybrid(read, padded(appendHybrid(nil, levels, bits)), bits); err != nil || !slices.Equal(read, levels) {
			t.Fatalf("%d levels of %d bits are read wrongly: %v", len(levels), bits, err)
		}
	})
}

// Footers that contradict themselves or their file.
func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		edit func(f *parquetformat.Metadata)
		want error
	}{
		{"sound", func(*parquetformat.Metadata) {}, nil},
		{"columns overlap", func(f *parquetformat.Metadata) { f.Groups[0].Chunks[0].Size = 60; f.Groups[0].Chunks[1].Size = 60 }, trace.ErrTooLarge},
		{"past the end", func(f *parquetformat.Metadata) { f.Groups[0].Chunks[1].Size = 70 }, trace.ErrTruncated},
		{"offset overflows", func(f *parquetformat.Metadata) { f.Groups[0].Chunks[1].Offset = math.MaxInt64 }, trace.ErrTruncated},
		{"another type", func(f *parquetformat.Metadata) { f.Groups[0].Chunks[0].Type = Double }, trace.ErrType},
		{"fewer values", func(f *parquetformat.Metadata) { f.Groups[0].Chunks[0].Values = 2 }, trace.ErrRagged},
		{"more rows in all", func(f *parquetformat.Metadata) { f.Rows = 4 }, trace.ErrRagged},
		{"rows overflow", func(f *parquetformat.Metadata) { f.Groups = append(f.Groups, parquetformat.Group{Rows: math.MaxInt64}) }, trace.ErrRagged},
		{"out of proportion", func(f *parquetformat.Metadata) {
			f.Rows, f.Groups[0].Rows = 1<<40, 1<<40
			f.Groups[0].Chunks[0].Values, f.Groups[0].Chunks[1].Values = 1<<40, 1<<40
		}, trace.ErrTooLarge},
		{"nested", func(f *parquetformat.Metadata) { f.Leaves[1].Nested = true }, trace.ErrFormat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chunk := func(offset int64) parquetformat.Chunk {
				return parquetformat.Chunk{Type: Int64, Values: 3, Offset: offset, Size: 30}
			}
			foot := &parquetformat.Metadata{Leaves: []parquetformat.Leaf{{Name: "a", Type: Int64}, {Name: "b", Type: Int64}}, Rows: 3,
				Groups: []parquetformat.Group{{Rows: 3, Chunks: []parquetformat.Chunk{chunk(4), chunk(34)}}}}
			tt.edit(foot)
			f := newFile(Input{Size: 100, Name: "x"}, Limits{Footer: 1 << 20, Values: 1 << 20}, foot)
			if err := f.Check(); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestFooter: what a footer says is read as it was.
func TestFooter(t *testing.T) {
	foot := &footer{columns: []Column{{Name: "a", Kind: Int64, Bounds: true}, {Name: "b", Kind: String, Nullable: true}}, rows: 3,
		groups: []group{{rows: 3, chunks: []chunk{{kind: Int64, codec: parquetformat.CodecZstd, values: 3, offset: 4, size: 9},
			{kind: String, values: 3, offset: 13, size: 20, dictSize: 8}}}},
		meta: []KeyValue{{Key: "k", Value: "v"}}}
	got, err := parquetformat.ParseMetadata(foot.appendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := &parquetformat.Metadata{Leaves: []parquetformat.Leaf{{Name: "a", Type: Int64}, {Name: "b", Type: String, Nullable: true}}, Rows: 3,
		Groups: []parquetformat.Group{{Rows: 3, Chunks: []parquetformat.Chunk{{Type: Int64, Codec: parquetformat.CodecZstd, Values: 3, Offset: 4, Size: 9},
			{Type: String, Values: 3, Offset: 13, Size: 20}}}},
		Meta: []KeyValue{{Key: "k", Value: "v"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// Pages of any bytes, without the checksum that guards them in a file: a
// cursor gives as many rows as the footer tells of, or an error.
func FuzzPages(f *testing.F) {
	enc, err := newEncoder(Smallest)
	if err != nil {
		f.Fatal(err)
	}
	for i, d := range []Data{{Ints: []int64{5, 6, 7}}, {Doubles: []float64{1, 2, 3}, Present: []bool{true, true, true}},
		{Bools: []bool{true}, Present: []bool{false, true, false}}, {Strings: []string{"a", "b"}, Index: []uint32{0, 1, 0}}} {
		kind := []Kind{Int64, Double, Bool, String}[i]
		_, b := enc.chunk(Column{Kind: kind, Nullable: d.Present != nil}, 3, d)
		f.Add(b, uint8(kind), uint8(parquetformat.CodecZstd), d.Present != nil)
		h := parquetformat.PageHeader{Kind: parquetformat.PageData, Raw: 24, Size: 24, Values: 3, Encoding: parquetformat.EncPlain}
		plain := bytes.Replace(appendHeader(nil, &h), []byte{0x15, 0x00}, nil, 1) // without its crc of 0
		f.Add(append(plain, make([]byte, 24)...), uint8(kind), uint8(parquetformat.CodecNone), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, kind, codec uint8, nullable bool) {
		const rows = 40
		file := newFile(Input{R: bytes.NewReader(b), Size: int64(len(b)), Name: "x"}, Limits{Footer: 1 << 16, Values: 1 << 20},
			&parquetformat.Metadata{Leaves: []parquetformat.Leaf{{Name: "c", Type: Kind(kind), Nullable: nullable}}, Rows: rows,
				Groups: []parquetformat.Group{{Rows: rows, Chunks: []parquetformat.Chunk{{Type: Kind(kind), Codec: int64(codec), Values: rows, Size: int64(len(b))}}}}})
		if file.Check() != nil {
			return
		}
		c, seen := file.Cursor(0), 0
		for {
			s, err := c.Next(7)
			if err != nil {
				break
			}
			if seen += len(s.Values); len(s.Values) == 0 || seen > rows || s.Present != nil && len(s.Present) != len(s.Values) {
				t.Fatalf("%d rows, %d in all", len(s.Values), seen)
			}
			for _, v := range s.Values {
				if Kind(kind) == String && (v < 0 || int(v) >= len(c.Strings())) && s.Present == nil {
					t.Fatalf("string %d of %d", v, len(c.Strings()))
				}
			}
		}
	})
}
