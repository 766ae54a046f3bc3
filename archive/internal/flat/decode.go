package flat

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace"
)

// All decoders fill dst completely or return an error; none allocates for what
// the input claims.

// slack is how many readable bytes follow a page's own, so that eight bytes
// can be loaded at any of them (the decompressor likes sixteen).
const slack = 16

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

// decodeDelta decodes DELTA_BINARY_PACKED. src has slack after its end.
func decodeDelta(dst []int64, src []byte) error {
	var head [3]uint64 // values in a block, miniblocks in a block, values in all
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return errDelta("ends in its header")
		}
		head[i], src = v, src[n:]
	}
	block, minis := head[0], head[1]
	if head[2] != uint64(len(dst)) {
		return trace.Bad(trace.ErrRagged, "a run of %d differences where the page has %d values", head[2], len(dst))
	}
	if block == 0 || block > 1<<16 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return errDelta("has blocks of an impossible shape")
	}
	last, n := binary.Varint(src)
	if n <= 0 {
		return errDelta("ends in its header")
	}
	if src = src[n:]; len(dst) == 0 {
		return nil
	}
	dst[0] = last
	dst = dst[1:]
	mini := int(block / minis)
	for len(dst) > 0 {
		least, n := binary.Varint(src)
		if n <= 0 || len(src)-n < int(minis) {
			return errDelta("ends before its last block")
		}
		widths := src[n:][:minis]
		src = src[n+int(minis):]
		for _, w := range widths {
			if len(dst) == 0 {
				break
			}
			out := dst[:min(mini, len(dst))]
			size := mini / 8 * int(w)
			if w > 64 || (len(out)*int(w)+7)/8 > len(src) {
				return errDelta("ends in a block")
			}
			last = sum(out, src, int(w), last, least)
			dst, src = dst[len(out):], src[min(size, len(src)):]
		}
	}
	return nil
}

func errDelta(what string) error {
	return trace.Bad(trace.ErrFormat, "a run of differences %s", what)
}

// sum undoes one miniblock: out[i] is the sum of all differences up to i.
func sum(out []int64, src []byte, width int, last, least int64) int64 {
	if width == 0 {
		for i := range out {
			last += least
			out[i] = last
		}
		return last
	}
	mask := ^uint64(0) >> (64 - width)
	src = src[:len(src)+slack]
	for i := range out {
		bit := i * width
		v := binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7)
		if over := bit&7 + width - 64; over > 0 {
			v |= uint64(src[bit>>3+8]) << (width - over)
		}
		last += least + int64(v&mask)
		out[i] = last
	}
	return last
}

// decodeHybrid decodes the RLE / bit-packing hybrid. src has slack after its
// end.
func decodeHybrid(dst []uint32, src []byte, width int) error {
	if width > 32 {
		return trace.Bad(trace.ErrFormat, "indices of %d bits", width)
	}
	mask := uint32(1<<width - 1)
	for len(dst) > 0 {
		h, n := binary.Uvarint(src)
		if n <= 0 || h>>1 == 0 {
			return errHybrid()
		}
		src = src[n:]
		if h&1 == 0 { // a run of one value
			size := (width + 7) / 8
			if size > len(src) {
				return errHybrid()
			}
			var v uint32
			for k, b := range src[:size] {
				v |= uint32(b) << (8 * k)
			}
			run := dst[:min(h>>1, uint64(len(dst)))]
			for i := range run {
				run[i] = v & mask
			}
			dst, src = dst[len(run):], src[size:]
			continue
		}
		groups := min(h>>1, uint64(len(dst)+7)/8)
		run := dst[:min(int(groups)*8, len(dst))]
		if (len(run)*width+7)/8 > len(src) {
			return errHybrid()
		}
		wide := src[:len(src)+slack]
		for i := range run {
			bit := i * width
			run[i] = uint32(binary.LittleEndian.Uint64(wide[bit>>3:])>>(bit&7)) & mask
		}
		dst, src = dst[len(run):], src[min(int(groups)*width, len(src)):]
	}
	return nil
}

func errHybrid() error {
	return trace.Bad(trace.ErrTruncated, "a run of indices or levels ends before the page does")
}
