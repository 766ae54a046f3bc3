package flat

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/internal/parquetformat"
	"github.com/sfstat/sfstat/trace"
)

// Input is a file to read.
type Input struct {
	R    io.ReaderAt
	Size int64
	Name string // for errors
}

// Limits bound what is read.
type Limits struct {
	Footer int64 // bytes of the footer
	Values int64 // bytes of all values, decompressed, eight each
}

// File is an open file. Its cursors share scratch space: one goroutine.
type File struct {
	in      Input
	lim     Limits
	foot    *parquetformat.Metadata
	columns []Column
	zstd    *zstd.Decoder

	raw   []byte // scratch: one page, decompressed
	index []uint32
	// What a cursor has used up, for the next that needs the like: columns that
	// are read one after the other share one warm buffer.
	freeValues []int64
	freeChunk  []byte
}

// Open reads the footer. Columns and Meta may be asked for at once; before the
// first Cursor, Check must have accepted the file.
func Open(in Input, lim Limits) (*File, error) {
	foot, err := parquetformat.ReadMetadata(in.R, in.Size, lim.Footer)
	if err != nil {
		return nil, trace.At(trace.Pos{File: in.Name}, err)
	}
	return newFile(in, lim, foot), nil
}

func newFile(in Input, lim Limits, foot *parquetformat.Metadata) *File {
	f := &File{in: in, lim: lim, foot: foot, columns: make([]Column, len(foot.Leaves))}
	for i, c := range foot.Leaves {
		f.columns[i] = Column{Name: c.Name, Kind: c.Type, Nullable: c.Nullable}
	}
	return f
}

// Columns are the columns of the file.
func (f *File) Columns() []Column { return f.columns }

// Rows is the number of rows. It may be trusted after Check.
func (f *File) Rows() int64 { return f.foot.Rows }

// Meta is the metadata entry of the key, and whether there is one.
func (f *File) Meta(key string) (string, bool) {
	for _, kv := range f.foot.Meta {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// Check refuses a file whose footer contradicts itself or the size of the
// file, or which holds more than the limit when decompressed.
func (f *File) Check() error {
	err := f.check()
	if err == nil {
		f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	}
	return trace.At(trace.Pos{File: f.in.Name}, err)
}

func (f *File) check() error {
	if slices.ContainsFunc(f.foot.Leaves, func(c parquetformat.Leaf) bool { return c.Nested }) {
		return trace.Bad(trace.ErrFormat, "the table has nested columns")
	}
	rows, bytes := int64(0), int64(0)
	for i, g := range f.foot.Groups {
		if rows += g.Rows; rows < 0 || rows > f.foot.Rows {
			break
		}
		for c, k := range g.Chunks {
			bytes += k.Size
			kind, what := error(nil), ""
			switch {
			case k.Type != f.columns[c].Kind:
				kind, what = trace.ErrType, "another type than in the schema"
			case k.Values != g.Rows:
				kind, what = trace.ErrRagged, "more or fewer values than the row group has rows"
			case k.Size > f.in.Size-k.Offset:
				kind, what = trace.ErrTruncated, "reaches past the end of the file"
			case bytes > f.in.Size:
				kind, what = trace.ErrTooLarge, "the columns together are larger than the file"
			}
			if kind != nil {
				return trace.At(f.pos(i, c), trace.Bad(kind, "%s", what))
			}
		}
	}
	if rows != f.foot.Rows {
		return trace.Bad(trace.ErrRagged, "the footer tells of %d rows, its row groups of others", f.foot.Rows)
	}
	if rows > f.lim.Values/8/int64(len(f.columns)) {
		return trace.Bad(trace.ErrTooLarge, "%d rows × %d columns in %d bytes: no real archive repeats itself so much",
			rows, len(f.columns), f.in.Size)
	}
	return nil
}

func (f *File) pos(group, column int) trace.Pos {
	return trace.Pos{File: f.in.Name, Inside: fmt.Sprintf("row group %d, column %s", group, Printable(f.columns[column].Name))}
}

// Printable is a name for an error's one line: quoted where it has characters
// that would spoil it.
func Printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// Slice are values of consecutive rows, valid until the next call on any
// cursor of the file.
type Slice struct {
	// By row. Bits of a float64 for Double, 0 or 1 for Bool, positions in the
	// cursor's Strings for String; 0 for null.
	Values  []int64
	Present []uint32 // by row, 0 for null; nil when none is null
}

// Cursor reads one column, from the first row to the last.
type Cursor struct {
	f      *File
	column int
	group  int    // number of the next row group
	base   []byte // the chunk of the current one,
	chunk  []byte // the pages of it that are left
	rows   int64  // and their rows

	values  []int64  // the current page
	present []uint32 // nil, or levels
	levels  []uint32
	at      int // rows of the page that were given away

	ints    []int64 // dictionary
	strings []string
	hasDict bool
}

// Cursor starts at the first row of a column.
func (f *File) Cursor(column int) *Cursor { return &Cursor{f: f, column: column} }

// Strings are the distinct strings of the current row group.
func (c *Cursor) Strings() []string { return c.strings }

// Next gives the next rows, at least one and at most n, of one row group.
// Asked for more rows than there are, the error is io.EOF.
func (c *Cursor) Next(n int) (Slice, error) {
	for c.at == len(c.values) {
		if err := c.load(); err != nil {
			if err == io.EOF {
				return Slice{}, err
			}
			return Slice{}, trace.At(c.Pos(), err)
		}
	}
	to := min(c.at+n, len(c.values))
	s := Slice{Values: c.values[c.at:to]}
	if c.present != nil {
		s.Present = c.present[c.at:to]
	}
	if c.at = to; to == len(c.values) {
		c.f.freeValues, c.values, c.at = c.values, nil, 0
		if c.rows == 0 {
			c.f.freeChunk, c.chunk = c.base, nil
		}
	}
	return s, nil
}

// Pos is the place of the current page.
func (c *Cursor) Pos() trace.Pos { return c.f.pos(max(0, c.group-1), c.column) }

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

// open reads the chunk of the next row group.
func (c *Cursor) open(g parquetformat.Group) error {
	k := g.Chunks[c.column]
	c.group++
	c.rows, c.hasDict = g.Rows, false
	c.base, c.f.freeChunk = c.f.freeChunk, nil
	if int64(cap(c.base)) < k.Size {
		c.base = make([]byte, k.Size)
	}
	c.chunk = c.base[:k.Size]
	if n, err := c.f.in.R.ReadAt(c.chunk, k.Offset); n < len(c.chunk) {
		return trace.Bad(trace.ErrTruncated, "reading %d bytes at %d: %v", k.Size, k.Offset, err)
	}
	return nil
}
