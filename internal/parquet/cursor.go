package parquet

import (
	"bytes"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

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

// Run is values of consecutive rows, valid until the next call on the cursor.
type Run struct {
	Rows int
	// Of the rows that are not null: the integer, the bits of a float64, 0 or 1 for
	// BOOLEAN, the position in the cursor's Strings for BYTE_ARRAY.
	Values []int64
	At     []uint32 // which row each is of, from 0; nil when none is null
}

// Row returns which row of the run the value i is of.
func (r *Run) Row(i int) int {
	if r.At == nil {
		return i
	}
	return int(r.At[i])
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

	left   int     // rows of the current page that were not given,
	values []int64 // and their values,
	page   []int64 // of all that it has
	levels []byte  // of the rows: 1 for one that is not null; nil: none is
	marks  []byte  // the memory of levels
	at     []uint32

	dict    []int64 // what the indices of the chunk's pages stand for
	hasDict bool
	strings []string
	known   map[string]int64
	text    int // bytes of all strings

	later pendingPositions // values of the current page that were not decoded
	held  int64            // bytes of what the cursor has in memory, by the account of the file
}

// Cursor starts at the first row of a column.
func (f *File) Cursor(column int) (*Cursor, error) {
	leaf := f.foot.leaves[column]
	what := ""
	switch {
	case leaf.Nested:
		what = "nested or repeated"
	case leaf.Decimal:
		what = "DECIMAL"
	case width(leaf.Type) == 0 && leaf.Type != TypeBytes && leaf.Type != TypeBoolean:
		what = leaf.Type.String()
	default:
		return &Cursor{f: f, column: column, leaf: leaf, known: make(map[string]int64)}, nil
	}
	return nil, input.At(f.pos(0, column), input.Bad(input.ErrType, "the column is %s, expected numbers, booleans or strings", what))
}

// Strings returns the distinct strings so far, which keep their positions.
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
	r, err := c.take(min(n, c.left, atOnce))
	if err != nil {
		return Run{}, input.At(c.Pos(), err)
	}
	c.left -= r.Rows
	return r, nil
}

// take gives the next n rows of the page.
func (c *Cursor) take(n int) (Run, error) {
	r := Run{Rows: n}
	count := n
	if c.levels != nil {
		at := resize(&c.at, n)[:0]
		for i, level := range c.levels[:n] {
			if level == 1 {
				at = append(at, uint32(i))
			}
		}
		if count = len(at); count < n {
			r.At = at
		}
		c.levels = c.levels[n:]
	}
	if err := c.decodeTo(count); err != nil {
		return r, err
	}
	r.Values, c.values = c.values[:count], c.values[count:]
	return r, nil
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

// Pos returns the place of the current page.
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
	return c.nextPage()
}

// open reads the chunk of the next row group.
func (c *Cursor) open(g group) error {
	k := &g.Chunks[c.column]
	c.group++
	c.rows, c.hasDict = g.Rows, false
	c.chunk = resize(&c.base, int(k.Meta.Size))
	if n, err := c.f.in.R.ReadAt(c.chunk, k.offset()); n < len(c.chunk) {
		return input.Bad(input.ErrTruncated, "reading %d bytes at %d: %v", len(c.chunk), k.offset(), err)
	}
	return nil
}

// nextPage begins the next page of the chunk; a dictionary page on the way is kept.
func (c *Cursor) nextPage() error {
	p, rest, err := nextPage(c.chunk)
	if err != nil {
		return err
	}
	c.chunk = rest
	s := spare.Get().(*scratch)
	defer spare.Put(s)
	switch {
	case p.Type == format.DictionaryPage && !c.hasDict:
		return c.dictionary(&p, s)
	case p.Type != format.DataPage && p.Type != format.DataPageV2:
		return input.Bad(input.ErrFormat, "a page of type %d, expected data", p.Type)
	case p.values > c.rows || p.values > maxPageRows:
		return input.Bad(input.ErrTooLarge, "a page of %d values where the row group has %d rows left and %d are read", p.values, c.rows, maxPageRows)
	}
	c.rows -= p.values
	late := p.values > lateValues && (p.encoding == format.RLEDictionary || p.encoding == plainDictionary)
	if err := c.hold(&p, late); err != nil {
		return err
	}
	levels, src, err := c.split(&p, s)
	if err != nil {
		return err
	}
	count := int(p.values)
	c.levels = nil
	if c.leaf.Nullable && len(levels) > 0 {
		if c.levels, err = decodeLevels(resize(&c.marks, count), levels); err != nil {
			return err
		}
		count = bytes.Count(c.levels, []byte{1})
	}
	if c.left = int(p.values); late {
		c.values = nil
		return c.later.begin(src, count)
	}
	if err := c.decode(resize(&c.page, count), p.encoding, src, s); err != nil {
		c.left = 0
		return err
	}
	c.values, c.later.left = c.page, 0
	return nil
}

// hold counts what a page takes with what the cursors of the file hold of others.
func (c *Cursor) hold(p *page, late bool) error {
	values := p.values
	if late {
		values = lateValues
	}
	bytes := 8*(values+int64(len(c.dict))) + int64(c.text)
	if late || p.Type == format.DictionaryPage {
		bytes += int64(p.UncompressedPageSize)
	}
	if c.leaf.Nullable {
		bytes += p.values
	}
	more := bytes - c.held
	c.held = bytes
	if all := c.f.held.Add(more); c.f.lim.Held > 0 && all > c.f.lim.Held {
		return input.Bad(input.ErrTooLarge, "the pages of all columns take %d bytes at a time, at most %d are held of a file of this size: write it with smaller pages, as of 1 MiB", all, c.f.lim.Held)
	}
	return nil
}

// decompress gives the bytes of a page or its end.
func (c *Cursor) decompress(p *page, body []byte, raw int64, s *scratch) ([]byte, error) {
	most := 16*p.values + 1024 // no encoding of numbers takes more than nine bytes for a value and a header
	if c.leaf.Type == TypeBytes {
		most = c.f.capLimit(maxTextPage)
	}
	if raw > most {
		return nil, input.Bad(input.ErrTooLarge, "a page of %d bytes, expected at most %d", raw, most)
	}
	codec := format.Uncompressed
	if !p.stored {
		codec = c.f.foot.Groups[c.group-1].Chunks[c.column].Meta.Codec
	}
	dst := body
	if codec != format.Uncompressed {
		dst = resize(&s.raw, int(raw))
	}
	ok := false
	switch codec {
	case format.Uncompressed:
		ok = int64(len(body)) == raw
	case format.Snappy:
		if n, err := snappy.DecodedLen(body); err == nil && int64(n) == raw {
			_, err = snappy.Decode(dst, body)
			ok = err == nil
		}
	case format.Gzip:
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			_, err = io.ReadFull(z, dst)
			ok = err == nil
		}
	case format.Zstd:
		z, err := s.zstdDecoder(c.f.lim.Window)
		if err != nil {
			return nil, err
		}
		out, err := z.DecodeAll(body, dst[:0:raw])
		ok = err == nil && int64(len(out)) == raw
	case format.Brotli:
		_, err := io.ReadFull(brotli.NewReader(bytes.NewReader(body)), dst)
		ok = err == nil
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(body, dst)
		ok = err == nil && int64(n) == raw
	default:
		return nil, input.Bad(input.ErrFormat, "compression %s, expected none, snappy, gzip, zstd, brotli or lz4_raw: write the file again with one of these", codec)
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
func (c *Cursor) dictionary(p *page, s *scratch) error {
	if p.values > max(c.rows, minDict) {
		return input.Bad(input.ErrTooLarge, "a dictionary of %d values for %d rows", p.values, c.rows)
	}
	if err := c.hold(p, false); err != nil {
		return err
	}
	src, err := c.decompress(p, p.body, int64(p.UncompressedPageSize), s)
	if err != nil {
		return err
	}
	c.hasDict = true
	return c.decode(resize(&c.dict, int(p.values)), format.Plain, src, s)
}
