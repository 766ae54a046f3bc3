package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/trace/input"
)

// Bounds on what is held of a column: the rows of one page (64 MiB of INT64),
// the bytes of a page of strings, and of all distinct strings, each of which
// counts stringCost more.
const (
	maxPageRows = 1 << 23
	maxTextPage = 64 << 20
	maxText     = 64 << 20
	stringCost  = 64
	minDict     = 1 << 16 // entries that a dictionary may have, however few rows there are
)

// Run is values of consecutive rows, valid until the next call on any cursor
// of the file.
type Run struct {
	// By row: the integer, the bits of a float64, 0 or 1 for BOOLEAN, the
	// position in the cursor's Strings for BYTE_ARRAY; 0 for null.
	Values  []int64
	Present []uint32 // by row, 0 for null; nil when none is null
}

// Cursor reads one column, from the first row to the last.
type Cursor struct {
	f      *File
	column int
	leaf   Leaf
	group  int    // number of the next row group
	base   []byte // the chunk of the current one,
	chunk  []byte // the pages of it that are left
	rows   int64  // and their rows

	values  []int64  // the current page
	present []uint32 // nil, or levels
	levels  []uint32
	at      int // rows of the page that were given away

	dict    []int64 // what the indices of the chunk's pages stand for
	hasDict bool
	strings []string
	known   map[string]int64
	text    int // bytes of all strings
}

// Cursor starts at the first row of a column.
func (f *File) Cursor(column int) (*Cursor, error) {
	leaf := f.foot.Leaves[column]
	what := ""
	switch {
	case leaf.Nested:
		what = "nested or repeated"
	case leaf.Decimal:
		what = "DECIMAL"
	case leaf.Type.width() == 0 && leaf.Type != TypeBytes && leaf.Type != TypeBoolean:
		what = leaf.Type.String()
	default:
		return &Cursor{f: f, column: column, leaf: leaf, known: make(map[string]int64)}, nil
	}
	return nil, input.At(f.pos(0, column), input.Bad(input.ErrType, "the column is %s, expected numbers, booleans or strings", what))
}

// Strings are the distinct strings so far, which keep their positions.
func (c *Cursor) Strings() []string { return c.strings }

// Next gives the next rows, at least one and at most n, of one row group.
// Asked for more rows than there are, the error is io.EOF.
func (c *Cursor) Next(n int) (Run, error) {
	for c.at == len(c.values) {
		if err := c.load(); err != nil {
			if err == io.EOF {
				return Run{}, err
			}
			return Run{}, input.At(c.Pos(), err)
		}
	}
	to := min(c.at+n, len(c.values))
	r := Run{Values: c.values[c.at:to]}
	if c.present != nil {
		r.Present = c.present[c.at:to]
	}
	if c.at = to; to == len(c.values) {
		c.f.values, c.values, c.at = append(c.f.values, c.values), nil, 0
		if c.rows == 0 {
			c.f.chunks, c.base, c.chunk = append(c.f.chunks, c.base), nil, nil
		}
	}
	return r, nil
}

// Forget lets go of the strings, where a new page begins and none is to come from a
// dictionary: positions begin anew. It bounds the memory of columns whose strings
// all differ.
func (c *Cursor) Forget() {
	if c.at == len(c.values) && !c.hasDict {
		c.strings, c.text = nil, 0
		clear(c.known)
	}
}

// Pos is the place of the current page.
func (c *Cursor) Pos() input.Pos { return c.f.pos(max(0, c.group-1), c.column) }

// load reads the next page.
func (c *Cursor) load() error {
	for c.rows == 0 {
		if c.group == len(c.f.foot.Groups) {
			return io.EOF
		}
		if err := c.open(c.f.foot.Groups[c.group]); err != nil {
			return err
		}
	}
	return c.page()
}

// open reads the chunk of the next row group. slack follows it.
func (c *Cursor) open(g Group) error {
	k := g.Chunks[c.column]
	c.group++
	c.rows, c.hasDict = g.Rows, false
	if c.f.scratch == nil {
		c.f.scratch = spare.Get().(*scratch)
	}
	c.base = taken(&c.f.chunks, int(k.Size+slack))
	c.chunk = c.base[:k.Size]
	if n, err := c.f.in.R.ReadAt(c.chunk, k.Offset); n < len(c.chunk) {
		return input.Bad(input.ErrTruncated, "reading %d bytes at %d: %v", k.Size, k.Offset, err)
	}
	return nil
}

// taken is n elements, whatever they are, of the smallest of some buffers that has them.
func taken[T any](free *[][]T, n int) []T {
	best := -1
	for i, b := range *free {
		if cap(b) >= n && (best < 0 || cap(b) < cap((*free)[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]T, n)
	}
	buffer := (*free)[best][:n]
	*free = slices.Delete(*free, best, best+1)
	return buffer
}

// page decodes the next page of the chunk; a dictionary page on the way is kept.
func (c *Cursor) page() error {
	h, body, rest, err := nextPage(c.chunk)
	if err != nil {
		return err
	}
	c.chunk = rest
	switch {
	case h.Kind == pageDictionary && !c.hasDict:
		return c.dictionary(h, body)
	case h.Kind != pageData && h.Kind != pageDataV2:
		return input.Bad(input.ErrFormat, "a page of type %d, expected data", h.Kind)
	case h.Values > c.rows || h.Values > maxPageRows:
		return input.Bad(input.ErrTooLarge, "a page of %d values where the row group has %d rows left and %d are read", h.Values, c.rows, maxPageRows)
	}
	c.rows -= h.Values
	levels, src, err := c.split(h, body)
	if err != nil {
		return err
	}
	c.values = taken(&c.f.values, int(h.Values))
	return c.decode(h.Encoding, levels, src)
}

// split decompresses a page and parts the levels, which say what rows are null,
// from the values. Levels of version 2 are not compressed.
func (c *Cursor) split(h pageHeader, body []byte) (levels, src []byte, err error) {
	if h.Kind == pageDataV2 {
		if h.LevelBytes > int64(len(body)) || h.LevelBytes > h.Raw {
			return nil, nil, errLevels()
		}
		levels, body = body[:h.LevelBytes], body[h.LevelBytes:]
		src, err = c.decompress(body, h.Raw-h.LevelBytes, h.Values, h.Plain)
		return levels, src, err
	}
	if src, err = c.decompress(body, h.Raw, h.Values, false); err != nil || !c.leaf.Nullable {
		return nil, src, err
	}
	if h.Levels != encRLE {
		return nil, nil, input.Bad(input.ErrFormat, "levels in encoding %s, expected RLE", nameOf(encodingNames[:], h.Levels))
	}
	if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
		return nil, nil, errLevels()
	}
	n := 4 + int(binary.LittleEndian.Uint32(src))
	return src[4:n], src[n:], nil
}

func errLevels() error {
	return input.Bad(input.ErrTruncated, "a page ends in the levels that say which rows are null")
}

// decompress gives the bytes of a page of so many values, with slack after
// them. stored says that they are not compressed, whatever the column's codec.
func (c *Cursor) decompress(body []byte, raw, values int64, stored bool) ([]byte, error) {
	most := 16*values + 1024 // no encoding of numbers takes more than nine bytes for a value and a header
	if c.leaf.Type == TypeBytes {
		most = maxTextPage
	}
	if raw > most {
		return nil, input.Bad(input.ErrTooLarge, "a page of %d bytes, expected at most %d", raw, most)
	}
	f := c.f
	if int64(cap(f.raw)) < raw+slack {
		f.raw = make([]byte, raw+slack)
	}
	dst, codec := f.raw[:raw], int64(codecNone)
	if !stored {
		codec = f.foot.Groups[c.group-1].Chunks[c.column].Codec
	}
	ok := false
	switch codec {
	case codecNone:
		ok = int64(len(body)) == raw && copy(dst, body) == len(body)
	case codecSnappy:
		if n, err := snappy.DecodedLen(body); err == nil && int64(n) == raw {
			_, err = snappy.Decode(dst, body)
			ok = err == nil
		}
	case codecGzip:
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			_, err = io.ReadFull(z, dst)
			ok = err == nil
		}
	case codecZstd:
		z, err := f.zstdDecoder()
		if err != nil {
			return nil, err
		}
		out, err := z.DecodeAll(body, dst[:0:raw])
		ok = err == nil && int64(len(out)) == raw
	default:
		return nil, input.Bad(input.ErrFormat, "compression %s, expected none, snappy, gzip or zstd: write the file again with one of these", nameOf(codecNames[:], codec))
	}
	if !ok {
		return nil, input.Bad(input.ErrFormat, "a page does not decompress to the %d bytes it claims", raw)
	}
	return dst, nil
}

func (f *File) zstdDecoder() (_ *zstd.Decoder, err error) {
	if f.zstd == nil || f.window != f.lim.Window {
		f.window = f.lim.Window
		f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(uint64(max(f.lim.Window, zstd.MinWindowSize))))
	}
	return f.zstd, err
}

// dictionary decodes the dictionary page of a chunk.
func (c *Cursor) dictionary(h pageHeader, body []byte) error {
	if h.Values < 0 || h.Values > max(c.rows, minDict) {
		return input.Bad(input.ErrTooLarge, "a dictionary of %d values for %d rows", h.Values, c.rows)
	}
	src, err := c.decompress(body, h.Raw, h.Values, false)
	if err != nil {
		return err
	}
	c.hasDict = true
	c.dict = slices.Grow(c.dict[:0], int(h.Values))[:h.Values]
	return c.plain(c.dict, src)
}

// decode fills c.values and c.present from the levels and values of a page.
func (c *Cursor) decode(encoding int64, levels, src []byte) error {
	c.present = nil
	rows := len(c.values)
	if !c.leaf.Nullable || len(levels) == 0 {
		return c.decodeValues(c.values, encoding, src)
	}
	if run, n := binary.Uvarint(levels); n > 0 && n == len(levels)-1 && run == uint64(rows)<<1 && levels[n] == 1 {
		return c.decodeValues(c.values, encoding, src) // none is null
	}
	c.levels = slices.Grow(c.levels[:0], rows)[:rows]
	if err := decodeHybrid(c.levels, levels, 1); err != nil {
		return err
	}
	count := 0
	for _, l := range c.levels {
		count += int(l)
	}
	if err := c.decodeValues(c.values[:count], encoding, src); err != nil || count == rows {
		return err
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
	typ := c.leaf.Type
	switch {
	case len(dst) == 0:
		return nil
	case encoding == encRLEDictionary || encoding == encPlainDictionary:
		return c.lookUp(dst, src)
	case encoding == encPlain:
		return c.plain(dst, src)
	case encoding == encRLE && typ == TypeBoolean:
		return c.flags(dst, src)
	case encoding == encDelta && (typ == TypeInt32 || typ == TypeInt64):
		_, err := decodeDelta(dst, src)
		if typ == TypeInt32 {
			for i, v := range dst {
				dst[i] = int64(int32(v))
			}
		}
		return err
	case encoding == encDeltaLength && typ == TypeBytes:
		return c.deltaLength(dst, src)
	case encoding == encByteStreamSplit && typ.width() > 0:
		return decodePlanes(dst, src, typ)
	}
	return input.Bad(input.ErrFormat, "encoding %s of %s: write the file again without it", nameOf(encodingNames[:], encoding), typ)
}

// lookUp decodes positions in the dictionary.
func (c *Cursor) lookUp(dst []int64, src []byte) error {
	if len(src) == 0 {
		return input.Bad(input.ErrTruncated, "a page without the width of its indices")
	}
	index := c.scratch(len(dst))
	if err := decodeHybrid(index, src[1:], int(src[0])); err != nil {
		return err
	}
	for i, x := range index {
		if int(x) >= len(c.dict) {
			return input.Bad(input.ErrFormat, "entry %d of a dictionary that has %d", x, len(c.dict))
		}
		dst[i] = c.dict[x]
	}
	return nil
}

func (c *Cursor) scratch(n int) []uint32 {
	c.f.index = slices.Grow(c.f.index[:0], n)[:n]
	return c.f.index
}

// flags decodes BOOLEAN in RLE, which its length comes before.
func (c *Cursor) flags(dst []int64, src []byte) error {
	if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
		return input.Bad(input.ErrTruncated, "a page ends in a run of booleans")
	}
	index := c.scratch(len(dst))
	err := decodeHybrid(index, src[4:][:binary.LittleEndian.Uint32(src)], 1)
	for i, x := range index {
		dst[i] = int64(x)
	}
	return err
}

func (c *Cursor) plain(dst []int64, src []byte) error {
	switch c.leaf.Type {
	case TypeBoolean:
		return decodeBits(dst, src)
	case TypeBytes:
	default:
		return decodePlain(dst, src, c.leaf.Type)
	}
	for i := range dst {
		if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
			return errString()
		}
		n := 4 + int(binary.LittleEndian.Uint32(src))
		at, err := c.intern(src[4:n])
		if err != nil {
			return err
		}
		dst[i], src = at, src[n:]
	}
	return nil
}

func errString() error { return input.Bad(input.ErrTruncated, "a page ends in a string") }

// deltaLength decodes DELTA_LENGTH_BYTE_ARRAY: all lengths, then all strings.
func (c *Cursor) deltaLength(dst []int64, src []byte) error {
	src, err := decodeDelta(dst, src)
	if err != nil {
		return err
	}
	for i, n := range dst {
		if n < 0 || n > int64(len(src)) {
			return errString()
		}
		if dst[i], err = c.intern(src[:n]); err != nil {
			return err
		}
		src = src[n:]
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
