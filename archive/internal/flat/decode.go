package flat

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace"
)

// All decoders fill dst completely or return an error; none allocates for what
// the input claims.

// decodePlanes decodes BYTE_STREAM_SPLIT values of eight bytes.
func decodePlanes(dst []int64, src []byte) error {
	n := len(dst)
	if len(src) != 8*n {
		return trace.Bad(trace.ErrFormat, "%d bytes for %d values of 8", len(src), n)
	}
	top := 8 // planes above are zero: of a nanosecond count usually half
	for top > 1 && zero(src[(top-1)*n:top*n]) {
		top--
	}
	if top <= 4 {
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range dst {
			dst[i] = int64(uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24)
		}
		return nil
	}
	a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
	e, f, g, h := src[4*n:5*n], src[5*n:6*n], src[6*n:7*n], src[7*n:8*n]
	for i := range dst {
		lo := uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
		hi := uint32(e[i]) | uint32(f[i])<<8 | uint32(g[i])<<16 | uint32(h[i])<<24
		dst[i] = int64(uint64(hi)<<32 | uint64(lo))
	}
	return nil
}

func zero(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
	}
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func decodePlain(dst []int64, src []byte) error {
	if len(src) != 8*len(dst) {
		return trace.Bad(trace.ErrFormat, "%d bytes for %d values of 8", len(src), len(dst))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return nil
}
