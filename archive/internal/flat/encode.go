package flat

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The geometry of DELTA_BINARY_PACKED pages: blocks of 128 deltas with one
// minimum, in four miniblocks with a bit width each.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDelta appends v as DELTA_BINARY_PACKED.
func appendDelta(b []byte, v []int64) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaMini)
	b = binary.AppendUvarint(b, uint64(len(v)))
	if len(v) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, v[0])
	var deltas [deltaBlock]int64
	for last, rest := v[0], v[1:]; len(rest) > 0; {
		n := min(deltaBlock, len(rest))
		least := int64(math.MaxInt64)
		for i, x := range rest[:n] {
			deltas[i] = x - last // may wrap; so does the sum that undoes it
			least, last = min(least, deltas[i]), x
		}
		rest = rest[n:]
		b = appendDeltaBlock(b, deltas[:n], least)
	}
	return b
}

func appendDeltaBlock(b []byte, deltas []int64, least int64) []byte {
	b = binary.AppendVarint(b, least)
	var width [deltaBlock / deltaMini]int
	for i, d := range deltas {
		width[i/deltaMini] = max(width[i/deltaMini], bits.Len64(uint64(d-least)))
	}
	for _, w := range width {
		b = append(b, byte(w))
	}
	var p bitWriter
	for i := 0; i < len(deltas); i += deltaMini {
		w := width[i/deltaMini]
		mini := deltas[i:min(i+deltaMini, len(deltas))]
		for _, d := range mini {
			b = p.append(b, uint64(d-least), w)
		}
		for range deltaMini - len(mini) {
			b = p.append(b, 0, w)
		}
	}
	return b // every miniblock is 32 values, so it ends on a byte
}

// bitWriter packs values of any width, least significant bits first.
type bitWriter struct {
	acc uint64
	n   int // bits in acc, below 8 between calls
}

func (p *bitWriter) append(b []byte, v uint64, width int) []byte {
	if width > 56 { // acc holds up to 7 bits before
		b = p.append(b, v&math.MaxUint32, 32)
		v, width = v>>32, width-32
	}
	p.acc |= v << p.n
	for p.n += width; p.n >= 8; p.n -= 8 {
		b = append(b, byte(p.acc))
		p.acc >>= 8
	}
	return b
}

// flush pads the last byte with zeros.
func (p *bitWriter) flush(b []byte) []byte {
	if p.n > 0 {
		b = append(b, byte(p.acc))
	}
	p.acc, p.n = 0, 0
	return b
}

// appendHybrid appends v in the RLE / bit-packing hybrid, as runs of equal
// values or as one bit-packed run, whichever is shorter.
func appendHybrid(b []byte, v []uint32, width int) []byte {
	runs := 1
	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1] {
			runs++
		}
	}
	if bytesOf := (width + 7) / 8; runs*(2+bytesOf) <= len(v)*width/8+2 {
		for i := 0; i < len(v); {
			j := i + 1
			for j < len(v) && v[j] == v[i] {
				j++
			}
			b = binary.AppendUvarint(b, uint64(j-i)<<1)
			for k := range bytesOf {
				b = append(b, byte(v[i]>>(8*k)))
			}
			i = j
		}
		return b
	}
	groups := (len(v) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	var p bitWriter
	for _, x := range v {
		b = p.append(b, uint64(x), width)
	}
	for range groups*8 - len(v) {
		b = p.append(b, 0, width)
	}
	return p.flush(b)
}

// appendPlanes appends v as BYTE_STREAM_SPLIT: all lowest bytes, then all
// second bytes, up to the highest.
func appendPlanes(b []byte, v []uint64) []byte {
	n := len(v)
	at := len(b)
	b = append(b, make([]byte, 8*n)...)
	for p := range 8 {
		plane := b[at+p*n:][:n]
		for i, x := range v {
			plane[i] = byte(x >> (8 * p))
		}
	}
	return b
}

// appendBools appends v as bits, the PLAIN encoding of BOOLEAN.
func appendBools(b []byte, v []bool) []byte {
	var p bitWriter
	for _, x := range v {
		bit := uint64(0)
		if x {
			bit = 1
		}
		b = p.append(b, bit, 1)
	}
	return p.flush(b)
}
