package parquet

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/sfstat/sfstat/trace/input"
)

// padded is b with the slack that decoders need behind it.
func padded(b []byte) []byte {
	return append(slices.Clone(b), make([]byte, slack)...)[:len(b)]
}

// lengths lie around the ends of groups (8), miniblocks (32) and blocks (128).
var lengths = []int{0, 1, 7, 8, 9, 31, 32, 33, 64, 65, 127, 128, 129, 130, 257, 1001}

// TestDecodeDelta: what the encoder of parquet-go writes, which others wrote
// from the same specification, is read: every width of the differences, and
// differences that overflow.
func TestDecodeDelta(t *testing.T) {
	g := rand.New(rand.NewPCG(7, 7))
	var other delta.BinaryPackedEncoding
	for _, n := range lengths {
		for bits := range 65 {
			want, short := make([]int64, n), make([]int32, n)
			for i := range want {
				want[i] = int64(g.Uint64() >> (64 - bits)) // 0 for no bits
				short[i] = int32(want[i])
			}
			b, err := other.EncodeInt64(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, n)
			rest, err := decodeDelta(got, padded(append(b, "rest"...)))
			if err != nil || string(rest) != "rest" || !slices.Equal(got, want) {
				t.Fatalf("%d values of %d bits are read wrongly, %q is left: %v", n, bits, rest, err)
			}
			if b, err = other.EncodeInt32(nil, short); err != nil {
				t.Fatal(err)
			}
			if _, err := decodeDelta(got, padded(b)); err != nil {
				t.Fatal(err)
			}
			for i := range short {
				if int32(got[i]) != short[i] {
					t.Fatalf("INT32 of %d bits: value %d of %d is %d, want %d", bits, i, n, int32(got[i]), short[i])
				}
			}
		}
	}
}

func decodeHybrid(dst []uint32, src []byte, width int) error {
	h, err := newHybrid(src, width, len(dst))
	if err == nil {
		err = h.fill(dst)
	}
	return err
}

// TestDecodeHybrid: what parquet-go writes is read, in runs and without.
func TestDecodeHybrid(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 3))
	for _, n := range lengths[1:] {
		for width := 1; width <= 32; width++ {
			for _, run := range []int{1, 3, 50} {
				signed, want := make([]int32, n), make([]uint32, n)
				for i := range want {
					if want[i] = uint32(g.Uint64() >> (64 - width)); i%run != 0 {
						want[i] = want[i-1]
					}
					signed[i] = int32(want[i])
				}
				b, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, signed)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]uint32, n)
				if err := decodeHybrid(got, padded(b), width); err != nil || !slices.Equal(got, want) {
					t.Fatalf("n=%d width=%d run=%d: read wrongly: %v", n, width, run, err)
				}
			}
		}
	}
}

// TestDecodeRefuses: counts that the bytes do not hold. The slack behind them
// must not be taken for theirs.
func TestDecodeRefuses(t *testing.T) {
	differences := []byte{0x80, 0x01, 4, 3, 10} // blocks of 128 in 4, 3 values, 5 is the first
	for _, test := range []struct {
		name string
		b    []byte
		want error
	}{
		{"no header", nil, input.ErrFormat},
		{"another count", []byte{0x80, 0x01, 4, 4, 10}, input.ErrRagged},
		{"no miniblocks", []byte{0x80, 0x01, 0, 3, 10}, input.ErrFormat},
		{"no first value", differences[:4], input.ErrFormat},
		{"no block", differences, input.ErrFormat},
		{"no widths", append(slices.Clone(differences), 2), input.ErrFormat},
		{"no differences", append(slices.Clone(differences), 2, 8, 0, 0, 0), input.ErrFormat},
		{"differences of 65 bits", append(slices.Clone(differences), append([]byte{2, 65, 0, 0, 0}, make([]byte, 300)...)...), input.ErrFormat},
	} {
		if _, err := decodeDelta(make([]int64, 3), padded(test.b)); !errors.Is(err, test.want) {
			t.Errorf("differences, %s: %v, want %v", test.name, err, test.want)
		}
	}
	for _, test := range []struct {
		name  string
		b     []byte
		width int
		want  error
	}{
		{"no run", nil, 2, input.ErrTruncated},
		{"an empty run", []byte{0, 0}, 2, input.ErrTruncated},
		{"a run without its value", []byte{6}, 2, input.ErrTruncated},
		{"a run that is too short", []byte{4, 1}, 2, input.ErrTruncated},
		{"half a group", []byte{3, 0}, 8, input.ErrTruncated},
		{"33 bits", []byte{6, 0, 0, 0, 0, 0}, 33, input.ErrFormat},
	} {
		if err := decodeHybrid(make([]uint32, 3), padded(test.b), test.width); !errors.Is(err, test.want) {
			t.Errorf("indices, %s: %v, want %v", test.name, err, test.want)
		}
	}
}

// What a decoder is given may be anything. It must fill what it was asked to
// fill or say that it cannot; reading beyond the page would be a fault here.
func FuzzDecode(f *testing.F) {
	var other delta.BinaryPackedEncoding
	for _, v := range [][]int64{{}, {0}, {-1, 5, 5, 5}, {math.MinInt64, math.MaxInt64, math.MinInt64, 0, math.MaxInt64}, make([]int64, 300)} {
		b, err := other.EncodeInt64(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(len(v)), uint8(0))
	}
	f.Add([]byte{4, 1, 14, 3}, uint16(9), uint8(2))
	f.Add([]byte{0x80, 0x01, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00}, uint16(40), uint8(33))
	f.Fuzz(func(t *testing.T, b []byte, n uint16, width uint8) {
		dst := make([]int64, n)
		if _, err := decodeDelta(dst, padded(b)); err == nil {
			written, err := other.EncodeInt64(nil, dst)
			if err != nil {
				t.Fatal(err)
			}
			again := make([]int64, n)
			if _, err := decodeDelta(again, padded(written)); err != nil || !slices.Equal(again, dst) {
				t.Fatalf("what was decoded does not survive: %v", err)
			}
		}
		levels := make([]uint32, n)
		if decodeHybrid(levels, padded(b), int(width)) == nil {
			for _, l := range levels {
				if width < 32 && l>>width != 0 {
					t.Fatalf("level %d of %d bits", l, width)
				}
			}
		}
	})
}
