package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sfstat/sfstat/trace/input"
)

// numbers are the encodings of numbers.
var numbers = map[format.Encoding]encoding.Encoding{
	format.Plain:             new(plain.Encoding),
	format.DeltaBinaryPacked: new(delta.BinaryPackedEncoding),
	format.ByteStreamSplit:   new(bytestreamsplit.Encoding),
}

// plainDictionary is how older writers call indices into a dictionary.
const plainDictionary format.Encoding = 2

// decode decodes the values of a page that are not null, of which there are as
// many. The library makes room for what a page claims, so claims are checked
// before; where it panics over what is wrong, that is an error.
func (c *Cursor) decode(dst []int64, how format.Encoding, src []byte, s *scratch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = input.Bad(input.ErrFormat, "a page in encoding %s cannot be decoded: %v", how, p)
		}
	}()
	if len(dst) == 0 {
		return nil
	}
	typ := c.leaf.Type
	if how == format.DeltaBinaryPacked || how == format.DeltaLengthByteArray {
		if err := checkDeltas(src, len(dst)); err != nil {
			return err
		}
	}
	switch {
	case how == format.RLEDictionary || how == plainDictionary:
		return c.lookUp(dst, src, s)
	case typ == TypeBytes:
		return c.texts(dst, how, src)
	case typ == TypeBoolean:
		return booleans(dst, how, src)
	case numbers[how] == nil || how == format.DeltaBinaryPacked && (typ == TypeFloat || typ == TypeDouble):
		return errEncoding(how, typ)
	case how != format.DeltaBinaryPacked && len(src) != width(typ)*len(dst):
		return input.Bad(input.ErrFormat, "%d bytes for %d values of %s", len(src), len(dst), typ)
	case width(typ) == 8: // whose bits are wanted, also those of floats
		out, err := numbers[how].DecodeInt64(dst, src)
		if len(out) > 0 && &out[0] != &dst[0] {
			copy(dst, out)
		}
		return requireAll(err, len(out), len(dst))
	}
	out, err := numbers[how].DecodeInt32(resize(&s.index, len(dst)), src)
	for i, x := range out[:min(len(out), len(dst))] {
		if dst[i] = int64(x); typ == TypeFloat {
			dst[i] = int64(math.Float64bits(float64(math.Float32frombits(uint32(x)))))
		}
	}
	return requireAll(err, len(out), len(dst))
}

func errEncoding(how format.Encoding, typ Type) error {
	return input.Bad(input.ErrFormat, "encoding %s of %s: write the file again without it", how, typ)
}

// requireAll returns an error of the library, or one where it did not decode all.
func requireAll(err error, got, want int) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d values, expected %d", got, want)
	}
	if err != nil {
		return input.Bad(input.ErrFormat, "a page cannot be decoded: %v", err)
	}
	return nil
}

// checkDeltas refuses differences that are not as many as the page has values.
func checkDeltas(src []byte, values int) error {
	var count uint64
	for range 3 { // values in a block, miniblocks in a block, values in all
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return input.Bad(input.ErrFormat, "a run of differences ends in its header")
		}
		count, src = v, src[n:]
	}
	if count != uint64(values) {
		return input.Bad(input.ErrRagged, "%d differences where the page has %d values", count, values)
	}
	return nil
}

// runs returns the runs and bit-packed groups of so many values at the beginning of src.
func runs(src []byte, width, values int) ([]byte, error) {
	at := 0
	for left := values; left > 0; {
		head, n := binary.Uvarint(src[at:])
		count, size := head>>1, (width+7)/8
		if head&1 == 1 && count <= uint64(left) {
			count, size = 8*count, int(count)*width
		}
		if n <= 0 || count == 0 || count > uint64(left)+7 || size > len(src)-at-n {
			return nil, input.Bad(input.ErrTruncated, "a run of indices or levels ends before the page does, or after it")
		}
		at, left = at+n+size, left-int(count)
	}
	return src[:at], nil
}

// decodeLevels returns for each of so many rows 1 where it is not null.
func decodeLevels(dst, src []byte) ([]byte, error) {
	part, err := runs(src, 1, len(dst))
	if err != nil {
		return nil, err
	}
	out, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(dst, part)
	if len(out) > len(dst) { // groups have eight
		out = out[:len(dst)]
	}
	return out, requireAll(err, len(out), len(dst))
}

// lookUp decodes positions in the dictionary.
func (c *Cursor) lookUp(dst []int64, src []byte, s *scratch) error {
	if len(src) == 0 {
		return input.Bad(input.ErrTruncated, "a page without the width of its indices")
	}
	part, err := runs(src[1:], int(src[0]), len(dst))
	if err != nil {
		return err
	}
	out, err := (&rle.Encoding{BitWidth: int(src[0])}).DecodeInt32(resize(&s.index, len(dst)+7), part)
	if err := requireAll(err, min(len(out), len(dst)), len(dst)); err != nil {
		return err
	}
	for i := range dst {
		x := uint32(out[i])
		if int(x) >= len(c.dict) {
			return input.Bad(input.ErrFormat, "entry %d of a dictionary that has %d", x, len(c.dict))
		}
		dst[i] = c.dict[x]
	}
	return nil
}

// lateValues is from how many values on positions in the dictionary are decoded as they are asked for: a run of equal
// ones takes next to nothing, however many rows it is for.
const lateValues = 1 << 16

// pendingPositions is the positions of a page that were not decoded.
type pendingPositions struct {
	src    []byte // what is left of them
	width  byte   // bits of a position
	left   int    // positions
	packed bool   // the run that was begun,
	count  int    // and how many of its positions are left
	part   []byte
}

// begin takes so many positions out of a page, which are checked to be there.
func (l *pendingPositions) begin(src []byte, values int) error {
	if len(src) == 0 {
		return input.Bad(input.ErrTruncated, "a page without the width of its indices")
	}
	part, err := runs(src[1:], int(src[0]), values)
	if err == nil {
		l.src, l.width, l.left, l.count = append(l.src[:0], part...), src[0], values, 0
	}
	return err
}

// next returns a page of at most lateValues of them, and their number.
func (l *pendingPositions) next() (page []byte, values int) {
	size := (int(l.width) + 7) / 8
	if l.count == 0 {
		head, n := binary.Uvarint(l.src) // checked by begin
		l.src, l.packed, l.count = l.src[n:], head&1 == 1, int(head>>1)
		if l.packed {
			l.count *= 8
		}
	}
	values = min(l.count, lateValues)
	if l.count -= values; l.packed {
		size = values / 8 * int(l.width)
		l.part = binary.AppendUvarint(append(l.part[:0], l.width), uint64(values/8)<<1|1)
	} else {
		l.part = binary.AppendUvarint(append(l.part[:0], l.width), uint64(values)<<1)
	}
	l.part = append(l.part, l.src[:size]...)
	if l.packed || l.count == 0 {
		l.src = l.src[size:]
	}
	values = min(values, l.left)
	l.left -= values
	return l.part, values
}

// decodeTo decodes positions until there are so many values.
func (c *Cursor) decodeTo(count int) error {
	for len(c.values) < count && c.later.left > 0 {
		page, n := c.later.next()
		have := len(c.values)
		values := slices.Grow(c.page[:0], have+n)[:have+n]
		copy(values, c.values)
		s := spare.Get().(*scratch)
		err := c.decode(values[have:], format.RLEDictionary, page, s)
		spare.Put(s)
		if err != nil {
			return err
		}
		c.page, c.values = values, values
	}
	return nil
}

// booleans decodes bits or runs, which their length comes before.
func booleans(dst []int64, how format.Encoding, src []byte) error {
	switch how {
	case format.Plain:
		if len(src) < (len(dst)+7)/8 {
			return input.Bad(input.ErrTruncated, "%d bytes for %d bits", len(src), len(dst))
		}
		for i := range dst {
			dst[i] = int64(src[i>>3] >> (i & 7) & 1)
		}
		return nil
	case format.RLE:
		part, _, ok := cutPrefixed(src)
		if !ok {
			return input.Bad(input.ErrTruncated, "a page ends in a run of booleans")
		}
		out, err := decodeLevels(make([]byte, len(dst)), part)
		for i, x := range out {
			dst[i] = int64(x & 1)
		}
		return err
	}
	return errEncoding(how, TypeBoolean)
}

// texts decodes strings to their positions.
func (c *Cursor) texts(dst []int64, how format.Encoding, src []byte) error {
	var bytes []byte
	var at []uint32
	var err error
	switch how {
	case format.Plain:
		bytes, at, err = new(plain.Encoding).DecodeByteArray(nil, src, nil)
	case format.DeltaLengthByteArray:
		bytes, at, err = new(delta.LengthByteArrayEncoding).DecodeByteArray(nil, src, nil)
	default:
		return errEncoding(how, TypeBytes)
	}
	if err := requireAll(err, len(at)-1, len(dst)); err != nil {
		return err
	}
	for i := range dst {
		if dst[i], err = c.intern(bytes[at[i]:at[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

// intern gives every distinct string a position.
func (c *Cursor) intern(s []byte) (int64, error) {
	if at, ok := c.known[string(s)]; ok {
		return at, nil
	}
	if c.text += len(s) + stringCost; int64(c.text) > c.f.capLimit(maxText) {
		return 0, input.Bad(input.ErrTooLarge, "%d distinct strings of more than %d bytes in all", len(c.strings)+1, c.f.capLimit(maxText))
	}
	at := int64(len(c.strings))
	c.known[string(s)] = at
	c.strings = append(c.strings, string(s))
	return at, nil
}
