package parquet

import (
	"encoding/binary"
	"math"

	"github.com/sfstat/sfstat/trace"
)

// All decoders fill dst completely or return an error; none allocates for what
// the input claims.

// decodePlain decodes numbers as they are in memory.
func decodePlain(dst []int64, src []byte, typ Type) error {
	if len(src) != width(typ)*len(dst) {
		return errWidth(len(src), len(dst), typ)
	}
	switch typ {
	case Int32:
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case Float:
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

// widen gives the bits of a float32 as those of the float64 of equal value.
func widen(b uint32) int64 { return int64(math.Float64bits(float64(math.Float32frombits(b)))) }

func errWidth(bytes, values int, typ Type) error {
	return trace.Bad(trace.ErrFormat, "%d bytes for %d values of %s", bytes, values, typ)
}

// decodePlanes decodes BYTE_STREAM_SPLIT: all first bytes, then all second …
func decodePlanes(dst []int64, src []byte, typ Type) error {
	n, width := len(dst), width(typ)
	if len(src) != width*n {
		return errWidth(len(src), n, typ)
	}
	for i := range dst {
		var v uint64
		for k := range width {
			v |= uint64(src[k*n+i]) << (8 * k)
		}
		switch typ {
		case Int32:
			dst[i] = int64(int32(v))
		case Float:
			dst[i] = widen(uint32(v))
		default:
			dst[i] = int64(v)
		}
	}
	return nil
}
