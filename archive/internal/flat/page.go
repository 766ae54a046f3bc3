package flat

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/snappy"

	"github.com/sfstat/sfstat/internal/parquetformat"
	"github.com/sfstat/sfstat/trace"
)

// maxPageRows bounds the rows of one page: 64 MiB of INT64.
const maxPageRows = 1 << 23

// page decodes the next page of the chunk; a dictionary page on the way is kept.
func (c *Cursor) page() error {
	h, body, rest, err := parquetformat.NextPage(c.chunk)
	if err != nil {
		return err
	}
	c.chunk = rest
	switch {
	case h.Kind == parquetformat.PageDictionary && !c.hasDict:
		return c.dictionary(h, body)
	case h.Kind != parquetformat.PageData:
		return trace.Bad(trace.ErrFormat, "a page of type %d, data pages of version 1 are read", h.Kind)
	case h.Values > c.rows || h.Values > maxPageRows:
		return trace.Bad(trace.ErrTooLarge, "a page of %d values where the row group has %d rows left and %d are read", h.Values, c.rows, maxPageRows)
	}
	c.rows -= h.Values
	// No encoding takes more than nine bytes for a value and a header.
	src, err := c.f.decompress(c.f.foot.Groups[c.group-1].Chunks[c.column].Codec, body, h.Raw, 16*h.Values+1024)
	if err != nil {
		return err
	}
	c.values, c.f.freeValues = slices.Grow(c.f.freeValues[:0], int(h.Values))[:h.Values], nil
	if h.Levels != parquetformat.EncRLE {
		return trace.Bad(trace.ErrFormat, "levels in encoding %d, expected %d", h.Levels, parquetformat.EncRLE)
	}
	return c.decode(h.Encoding, src)
}

// decompress gives the page's bytes, with slack after them.
func (f *File) decompress(codec int64, body []byte, raw, most int64) ([]byte, error) {
	if raw > most {
		return nil, trace.Bad(trace.ErrTooLarge, "a page of %d bytes, expected at most %d", raw, most)
	}
	if int64(cap(f.raw)) < raw+parquetformat.Slack {
		f.raw = make([]byte, raw+parquetformat.Slack)
	}
	dst, err := f.raw[:0], error(nil)
	switch codec {
	case parquetformat.CodecZstd:
		dst, err = decompressFrames(f.zstd, dst, body)
	case parquetformat.CodecSnappy:
		if n, e := snappy.DecodedLen(body); e != nil || int64(n) != raw {
			return nil, trace.Bad(trace.ErrFormat, "a page does not decompress to the %d bytes it claims", raw)
		}
		dst, err = snappy.Decode(f.raw[:raw], body)
	case parquetformat.CodecNone:
		if int64(len(body)) == raw {
			dst = append(dst, body...)
		}
	default:
		return nil, trace.Bad(trace.ErrFormat, "compression %d, expected zstd, snappy or none", codec)
	}
	if err != nil || int64(len(dst)) != raw {
		return nil, trace.Bad(trace.ErrFormat, "a page does not decompress to the %d bytes it claims", raw)
	}
	if cap(dst) != cap(f.raw) { // it was moved
		dst = f.raw[:copy(f.raw[:raw], dst)]
	}
	return dst, nil
}

func (c *Cursor) dictionary(h parquetformat.PageHeader, body []byte) error {
	c.hasDict, c.ints, c.strings = true, c.ints[:0], c.strings[:0]
	column := c.f.columns[c.column]
	if h.Values < 0 || h.Values > c.rows {
		return trace.Bad(trace.ErrTooLarge, "a dictionary of %d values for %d rows", h.Values, c.rows)
	}
	most := 8 * h.Values
	if column.Kind == String {
		most = c.f.lim.Footer // strings are also in the metadata
	}
	src, err := c.f.decompress(c.f.foot.Groups[c.group-1].Chunks[c.column].Codec, body, h.Raw, most)
	if err != nil {
		return err
	}
	if column.Kind != String {
		c.ints = slices.Grow(c.ints, int(h.Values))[:h.Values]
		return decodePlain(c.ints, src)
	}
	for range h.Values {
		var s []byte
		if s, src, err = nextString(src); err != nil {
			return err
		}
		c.strings = append(c.strings, string(s))
	}
	return nil
}

// nextString takes a PLAIN string from the front of src.
func nextString(src []byte) (s, rest []byte, err error) {
	if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
		return nil, nil, trace.Bad(trace.ErrTruncated, "a page ends in a string")
	}
	n := 4 + int(binary.LittleEndian.Uint32(src))
	return src[4:n], src[n:], nil
}

// decode fills c.values and c.present from a page's bytes.
func (c *Cursor) decode(encoding int64, src []byte) error {
	c.present = nil
	if !c.f.columns[c.column].Nullable {
		return c.decodeValues(c.values, encoding, src)
	}
	if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
		return trace.Bad(trace.ErrTruncated, "a page ends in the levels that say which rows are null")
	}
	n := int(binary.LittleEndian.Uint32(src))
	levels, src := src[4:4+n], src[4+n:]
	rows := len(c.values)
	if run, n := binary.Uvarint(levels); n == len(levels)-1 && run == uint64(rows)<<1 && levels[n] == 1 {
		return c.decodeValues(c.values, encoding, src) // none is null
	}
	c.levels = slices.Grow(c.levels[:0], rows)[:rows]
	if err := parquetformat.DecodeHybrid(c.levels, levels, 1); err != nil {
		return err
	}
	count := 0
	for _, l := range c.levels {
		count += int(l)
	}
	if err := c.decodeValues(c.values[:count], encoding, src); err != nil {
		return err
	}
	if count == rows {
		return nil
	}
	c.present = c.levels
	for i := rows - 1; i >= 0; i-- { // spread the values over their rows, from the back
		if c.levels[i] == 0 {
			c.values[i] = 0
			continue
		}
		count--
		c.values[i] = c.values[count]
	}
	return nil
}

// decodeValues decodes the values that are not null.
func (c *Cursor) decodeValues(dst []int64, encoding int64, src []byte) error {
	kind := c.f.columns[c.column].Kind
	if len(dst) == 0 {
		return nil
	}
	switch {
	case encoding == parquetformat.EncRLEDictionary || encoding == parquetformat.EncPlainDictionary:
		return c.lookUp(dst, src)
	case kind == Bool && encoding == parquetformat.EncPlain:
		if len(src) < (len(dst)+7)/8 {
			return trace.Bad(trace.ErrTruncated, "%d bytes for %d bits", len(src), len(dst))
		}
		for i := range dst {
			dst[i] = int64(src[i>>3] >> (i & 7) & 1)
		}
		return nil
	case kind == String && encoding == parquetformat.EncPlain:
		return c.decodeStrings(dst, src)
	case kind == Int64 && encoding == parquetformat.EncDelta:
		_, err := parquetformat.DecodeDelta(dst, src)
		return err
	case kind != Int64 && kind != Double:
	case encoding == parquetformat.EncByteStreamSplit:
		return decodePlanes(dst, src)
	case encoding == parquetformat.EncPlain:
		return decodePlain(dst, src)
	}
	return trace.Bad(trace.ErrFormat, "encoding %d of %s, which window archives do not use", encoding, kind)
}

// decodeStrings decodes strings that stand in the page themselves, as other
// programs write them. Neighbours are mostly equal.
func (c *Cursor) decodeStrings(dst []int64, src []byte) error {
	for i := range dst {
		s, rest, err := nextString(src)
		if err != nil {
			return err
		}
		if n := len(c.strings); n == 0 || c.strings[n-1] != string(s) {
			c.strings = append(c.strings, string(s))
		}
		dst[i], src = int64(len(c.strings)-1), rest
	}
	return nil
}

// lookUp decodes positions in the dictionary.
func (c *Cursor) lookUp(dst []int64, src []byte) error {
	if len(src) == 0 {
		return trace.Bad(trace.ErrTruncated, "a page without the width of its indices")
	}
	f := c.f
	f.index = slices.Grow(f.index[:0], len(dst))[:len(dst)]
	if err := parquetformat.DecodeHybrid(f.index, src[1:], int(src[0])); err != nil {
		return err
	}
	entries, isText := len(c.ints), c.f.columns[c.column].Kind == String
	if isText {
		entries = len(c.strings)
	}
	for i, x := range f.index {
		if int(x) >= entries {
			return trace.Bad(trace.ErrFormat, "entry %d of a dictionary that has %d", x, entries)
		}
		if isText {
			dst[i] = int64(x)
		} else {
			dst[i] = c.ints[x]
		}
	}
	return nil
}
