package flat

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// pages are byte planes of n values that fill each of the forms: noise, zeros,
// one value, two values, a skewed distribution, repetition.
func planesOf(n int) []byte {
	g := rand.New(rand.NewPCG(uint64(n), 5))
	page := make([]byte, 8*n)
	for i := range n {
		page[i] = byte(g.Uint32())
		page[n+i] = byte(g.Uint32())
		page[2*n+i] = byte(128 + 20*g.NormFloat64())
		page[3*n+i] = byte(g.IntN(2))
		page[4*n+i] = byte(i / 8)
		page[6*n+i] = 7
	}
	return page
}

// The library, which knows the whole format, reads our frames as we do.
func TestFrames(t *testing.T) {
	c, err := newCompressor()
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 5000, 16383, 16384, PageRows} {
		for _, head := range []int{0, 3, 70000} {
			page := append(bytes.Repeat([]byte{1, 2, 3}, head/3), planesOf(n)...)
			b := c.planes(nil, page, n)
			for name, decode := range map[string]func(dst, src []byte) ([]byte, error){
				"library": func(dst, src []byte) ([]byte, error) { return d.DecodeAll(src, dst) },
				"ours":    func(dst, src []byte) ([]byte, error) { return decompressFrames(d, dst, src) },
			} {
				got, err := decode(make([]byte, 0, len(page)+parquetformat.Slack), b)
				if err != nil || !bytes.Equal(got, page) {
					t.Errorf("%d values after %d bytes, read by %s: %v", n, head, name, err)
				}
			}
		}
	}
}

// Whatever the library makes of some bytes, we do not make something else.
func FuzzFrames(f *testing.F) {
	c, err := newCompressor()
	if err != nil {
		f.Fatal(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.planes(nil, planesOf(40), 40))
	f.Add(c.whole(nil, planesOf(9)))
	f.Add(appendStored(appendStored(nil, []byte("abc"), false), make([]byte, 300), true))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 16
		want, errWant := d.DecodeAll(b, make([]byte, 0, most))
		got, err := decompressFrames(d, make([]byte, 0, most), b)
		if err == nil && len(got) > most {
			t.Fatalf("%d bytes, the capacity is %d", len(got), most)
		}
		if err == nil && errWant == nil && !bytes.Equal(got, want) {
			t.Fatalf("the library reads %d bytes, we %d others", len(want), len(got))
		}
	})
}
