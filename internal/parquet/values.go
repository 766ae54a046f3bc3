package parquet

import (
	"encoding/binary"
	"math"

	"github.com/sfstat/sfstat/trace/input"
)

// values are the values of a page that are not null, decoded as they are asked
// for. No decoder allocates for what the input claims.
type values struct {
	how     decoder
	count   int
	left    int    // of them, that were not given
	src     []byte // all of them; of strings the rest
	delta   deltas
	runs    hybrid
	lengths []int64 // of strings that were not given
}

// decoder is a way in which values are written.
type decoder uint8

const (
	asNumbers decoder = iota
	asPlanes
	asBits
	asFlags // in runs
	asIndices
	asDeltas
	asStrings
	asLengths // of strings, which follow them
)

// begin makes the values of a page ready.
func (c *Cursor) begin(encoding int64, count int, src []byte) (err error) {
	v, typ := &c.values, c.leaf.Type
	if v.src, v.count, v.left = src, count, count; count == 0 {
		return nil
	}
	switch {
	case encoding == encRLEDictionary || encoding == encPlainDictionary:
		if len(src) == 0 {
			return input.Bad(input.ErrTruncated, "a page without the width of its indices")
		}
		v.how = asIndices
		v.runs, err = newHybrid(src[1:], int(src[0]), count)
	case encoding == encPlain && typ == TypeBytes:
		v.how = asStrings
	case encoding == encPlain && typ == TypeBoolean:
		if v.how = asBits; len(src) < (count+7)/8 {
			return input.Bad(input.ErrTruncated, "%d bytes for %d bits", len(src), count)
		}
	case encoding == encPlain, encoding == encByteStreamSplit && typ.width() > 0:
		if v.how = asNumbers; encoding == encByteStreamSplit {
			v.how = asPlanes
		}
		if len(src) != typ.width()*count {
			return input.Bad(input.ErrFormat, "%d bytes for %d values of %s", len(src), count, typ)
		}
	case encoding == encRLE && typ == TypeBoolean: // which its length comes before
		if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
			return input.Bad(input.ErrTruncated, "a page ends in a run of booleans")
		}
		v.how = asFlags
		v.runs, err = newHybrid(src[4:][:binary.LittleEndian.Uint32(src)], 1, count)
	case encoding == encDelta && (typ == TypeInt32 || typ == TypeInt64):
		v.how = asDeltas
		v.delta, err = newDeltas(src, count)
	case encoding == encDeltaLength && typ == TypeBytes:
		v.how, v.lengths = asLengths, make([]int64, count)
		v.src, err = decodeDelta(v.lengths, src)
	default:
		return input.Bad(input.ErrFormat, "encoding %s of %s: write the file again without it", nameOf(encodingNames[:], encoding), typ)
	}
	return err
}

// fill decodes the next values of the page, of which there are as many.
func (c *Cursor) fill(dst []int64) error {
	v, typ := &c.values, c.leaf.Type
	at := v.count - v.left
	if v.left -= len(dst); len(dst) == 0 {
		return nil
	}
	switch v.how {
	case asNumbers:
		decodePlain(dst, v.src[typ.width()*at:], typ)
	case asPlanes:
		decodePlanes(dst, v.src[at:], v.count, typ)
	case asBits:
		for i := range dst {
			dst[i] = int64(v.src[(at+i)>>3] >> ((at + i) & 7) & 1)
		}
	case asFlags:
		index := c.scratch().index[:len(dst)]
		err := v.runs.fill(index)
		for i, x := range index {
			dst[i] = int64(x)
		}
		return err
	case asIndices:
		return c.lookUp(dst)
	case asDeltas:
		err := v.delta.fill(dst)
		if typ == TypeInt32 {
			for i, v := range dst {
				dst[i] = int64(int32(v))
			}
		}
		return err
	default:
		return c.texts(dst)
	}
	return nil
}

// lookUp decodes positions in the dictionary.
func (c *Cursor) lookUp(dst []int64) error {
	for h := &c.values.runs; len(dst) > 0; {
		if err := h.next(); err != nil {
			return err
		}
		n := min(len(dst), h.run)
		index := c.scratch().index[:n]
		if h.packed == nil {
			index = index[:1] // it repeats
		}
		h.unpack(index, n)
		for i, x := range index {
			if int(x) >= len(c.dict) {
				return input.Bad(input.ErrFormat, "entry %d of a dictionary that has %d", x, len(c.dict))
			}
			dst[i] = c.dict[x]
		}
		if h.packed == nil {
			repeat(dst[:n], dst[0])
		}
		dst = dst[n:]
	}
	return nil
}

// texts decodes strings, whose lengths stand before each or before all.
func (c *Cursor) texts(dst []int64) error {
	v := &c.values
	for i := range dst {
		n := int64(-1)
		if v.how == asLengths {
			n, v.lengths = v.lengths[0], v.lengths[1:]
		} else if len(v.src) >= 4 {
			n, v.src = int64(binary.LittleEndian.Uint32(v.src)), v.src[4:]
		}
		if n < 0 || n > int64(len(v.src)) {
			return input.Bad(input.ErrTruncated, "a page ends in a string")
		}
		at, err := c.intern(v.src[:n])
		if err != nil {
			return err
		}
		dst[i], v.src = at, v.src[n:]
	}
	return nil
}

// intern gives every distinct string a position.
func (c *Cursor) intern(s []byte) (int64, error) {
	if at, ok := c.known[string(s)]; ok {
		return at, nil
	}
	if c.text += len(s) + stringCost; c.text > maxText {
		return 0, input.Bad(input.ErrTooLarge, "%d distinct strings of more than %d bytes in all", len(c.strings)+1, maxText)
	}
	at := int64(len(c.strings))
	c.known[string(s)] = at
	c.strings = append(c.strings, string(s))
	return at, nil
}

// decodePlain decodes numbers as they are in memory.
func decodePlain(dst []int64, src []byte, typ Type) {
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
}

// decodePlanes decodes BYTE_STREAM_SPLIT: all first bytes, then all second …, of
// which there are so many each.
func decodePlanes(dst []int64, src []byte, each int, typ Type) {
	clear(dst)
	for k := range typ.width() {
		for i, b := range src[k*each:][:len(dst)] {
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
}

// widen gives the bits of a float32 as those of the float64 of equal value.
func widen(b uint32) int64 { return int64(math.Float64bits(float64(math.Float32frombits(b)))) }

func repeat(dst []int64, v int64) {
	for i := range dst {
		dst[i] = v
	}
}
