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

// atOnce is how many rows a cursor gives at most: what they are decoded into, and
// what a caller does with them, stays in the fastest memory.
const atOnce = 4096

// Run is values of consecutive rows, valid until the next call on any cursor
// of the file; on the same cursor, after [File.Apart].
type Run struct {
	Rows int
	// Of the rows that are not null: the integer, the bits of a float64, 0 or 1 for
	// BOOLEAN, the position in the cursor's Strings for BYTE_ARRAY.
	Values []int64
	At     []uint32 // which row each is of, from 0; nil when none is null
}

// Row is which row of the run the value i is of.
func (r *Run) Row(i int) int {
	if r.At == nil {
		return i
	}
	return int(r.At[i])
}

// Cursor reads one column, from the first row to the last.
type Cursor struct {
	f      *File
	own    *scratch // in place of the file's, where cursors are used side by side
	column int
	leaf   Leaf
	group  int    // number of the next row group
	base   []byte // the chunk of the current one,
	chunk  []byte // the pages of it that are left
	rows   int64  // and their rows

	left   int    // rows of the current page that were not given
	raw    []byte // its bytes; nil: they are in the chunk
	nulls  bool   // some of its rows are null,
	levels hybrid // which these tell
	values values

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
		c := &Cursor{f: f, column: column, leaf: leaf, known: make(map[string]int64)}
		f.cursors = append(f.cursors, c)
		return c, nil
	}
	return nil, input.At(f.pos(0, column), input.Bad(input.ErrType, "the column is %s, expected numbers, booleans or strings", what))
}

// Strings are the distinct strings so far, which keep their positions.
func (c *Cursor) Strings() []string { return c.strings }

// Next gives the next rows, at least one and at most n, of one row group.
// Asked for more rows than there are, the error is io.EOF.
func (c *Cursor) Next(n int) (Run, error) {
	for c.left == 0 {
		if err := c.load(); err != nil {
			if err == io.EOF {
				return Run{}, err
			}
			return Run{}, input.At(c.Pos(), err)
		}
	}
	r, err := c.decode(min(n, c.left, atOnce))
	if err != nil {
		return Run{}, input.At(c.Pos(), err)
	}
	if c.left -= r.Rows; c.left == 0 {
		c.scratch().give(&c.raw)
		if c.rows == 0 {
			c.scratch().give(&c.base)
		}
	}
	return r, nil
}

// decode gives the next n rows of the page.
func (c *Cursor) decode(n int) (Run, error) {
	rows := c.scratch().values[:n]
	if !c.nulls {
		return Run{Rows: n, Values: rows}, c.fill(rows)
	}
	at, err := c.levels.set(c.scratch().at[:n])
	if err != nil {
		return Run{}, err
	}
	r := Run{Rows: n, Values: rows[:len(at)]}
	if len(at) < n {
		r.At = at
	}
	return r, c.fill(r.Values)
}

// Forget lets go of the strings, where a new page begins and none is to come from a
// dictionary: positions begin anew. It bounds the memory of columns whose strings
// all differ.
func (c *Cursor) Forget() {
	if c.left == 0 && !c.hasDict {
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
	c.base = c.scratch().take(int(k.Size + slack))
	c.chunk = c.base[:k.Size]
	if n, err := c.f.in.R.ReadAt(c.chunk, k.Offset); n < len(c.chunk) {
		return input.Bad(input.ErrTruncated, "reading %d bytes at %d: %v", k.Size, k.Offset, err)
	}
	return nil
}

// scratch is the memory that the cursor shares with others.
func (c *Cursor) scratch() *scratch {
	at := &c.f.scratch
	if c.f.apart {
		at = &c.own
	}
	if *at == nil {
		*at = spare.Get().(*scratch)
	}
	return *at
}

// take is n bytes, whatever they are, of the smallest buffer that has them.
func (s *scratch) take(n int) []byte {
	best := -1
	for i, b := range s.buffers {
		if cap(b) >= n && (best < 0 || cap(b) < cap(s.buffers[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, n)
	}
	buffer := s.buffers[best][:n]
	s.buffers = slices.Delete(s.buffers, best, best+1)
	return buffer
}

// give takes a buffer back from where it lies.
func (s *scratch) give(buffer *[]byte) {
	if *buffer != nil {
		s.buffers = append(s.buffers, *buffer)
		*buffer = nil
	}
}

// page begins the next page of the chunk; a dictionary page on the way is kept.
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
	count := int(h.Values)
	if c.nulls = false; c.leaf.Nullable && len(levels) > 0 {
		c.levels = hybrid{src: levels, width: 1, left: count}
		if count, err = c.levels.ones(); err != nil {
			return err
		}
		c.nulls = count < int(h.Values)
	}
	if err := c.begin(h.Encoding, count, src); err != nil {
		return err
	}
	c.left = int(h.Values)
	return nil
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
	codec := int64(codecNone)
	if !stored {
		codec = c.f.foot.Groups[c.group-1].Chunks[c.column].Codec
	}
	var dst []byte
	if codec == codecNone {
		dst = body
	} else {
		c.scratch().give(&c.raw)
		c.raw = c.scratch().take(int(raw + slack))
		dst = c.raw[:raw]
	}
	ok := false
	switch codec {
	case codecNone:
		ok = int64(len(body)) == raw
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
		z, err := c.scratch().zstdDecoder(c.f.lim.Window)
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

func (s *scratch) zstdDecoder(window int64) (_ *zstd.Decoder, err error) {
	if s.zstd == nil || s.window != window {
		s.window = window
		s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(uint64(max(window, zstd.MinWindowSize))))
	}
	return s.zstd, err
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
	if err := c.begin(encPlain, int(h.Values), src); err != nil {
		return err
	}
	c.hasDict = true
	c.dict = slices.Grow(c.dict[:0], int(h.Values))[:h.Values]
	return c.fill(c.dict)
}
