package parquet

import (
	"encoding/binary"
	"math"

	"github.com/sfstat/sfstat/trace/input"
)

// All decoders fill dst completely or return an error; none allocates for what
// the input claims.

// decodePlain decodes numbers as they are in memory.
func decodePlain(dst []int64, src []byte, typ Type) error {
	if len(src) != typ.width()*len(dst) {
		return errWidth(len(src), len(dst), typ)
	}
	switch typ {
	case TypeInt32:
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case TypeFloat:
		for i := range dst {
			dst[i] = widen(binary.LittleEndian.Uint32(src[4*i:]))
		}
	default:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
	}
	return nil
}

// decodeBits decodes PLAIN booleans, one bit each.
func decodeBits(dst []int64, src []byte) error {
	if len(src) < (len(dst)+7)/8 {
		return input.Bad(input.ErrTruncated, "%d bytes for %d bits", len(src), len(dst))
	}
	for i := range dst {
		dst[i] = int64(src[i>>3] >> (i & 7) & 1)
	}
	return nil
}

// widen gives the bits of a float32 as those of the float64 of equal value.
func widen(b uint32) int64 { return int64(math.Float64bits(float64(math.Float32frombits(b)))) }

func errWidth(bytes, values int, typ Type) error {
	return input.Bad(input.ErrFormat, "%d bytes for %d values of %s", bytes, values, typ)
}

// decodePlanes decodes BYTE_STREAM_SPLIT: all first bytes, then all second …
func decodePlanes(dst []int64, src []byte, typ Type) error {
	n := len(dst)
	if len(src) != typ.width()*n {
		return errWidth(len(src), n, typ)
	}
	clear(dst)
	for k := range typ.width() {
		plane := src[k*n:][:n]
		for i, b := range plane {
			dst[i] |= int64(b) << (8 * k)
		}
	}
	for i, v := range dst {
		switch typ {
		case TypeInt32:
			dst[i] = int64(int32(v))
		case TypeFloat:
			dst[i] = widen(uint32(v))
		}
	}
	return nil
}
