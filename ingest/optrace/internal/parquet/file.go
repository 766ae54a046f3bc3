package parquet

import (
	"fmt"
	"io"
	"slices"

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
	Rows   int64
	Window int64 // bytes of history that a zstd page may ask for
}

// File is an open file. Not for concurrent use: reads share scratch space.
type File struct {
	in   Input
	lim  Limits
	foot *parquetformat.Metadata

	zstd  *zstd.Decoder
	chunk []byte // scratch: the pages of a column chunk
	raw   []byte // one page, decompressed
	index []uint32
}

// Open reads the footer and refuses one that contradicts itself or the size of
// the file.
func Open(in Input, lim Limits) (*File, error) {
	foot, err := parquetformat.ReadMetadata(in.R, in.Size, lim.Footer)
	if err == nil {
		err = consistent(foot, in, lim)
	}
	if err != nil {
		return nil, trace.At(trace.Pos{File: in.Name}, err)
	}
	return &File{in: in, lim: lim, foot: foot}, nil
}

// consistent compares the counts of the footer with each other and with the limits.
func consistent(f *parquetformat.Metadata, in Input, lim Limits) error {
	rows := int64(0)
	for _, g := range f.Groups {
		if rows += g.Rows; rows < 0 || rows > f.Rows {
			break
		}
		for _, k := range g.Chunks {
			if k.Size > in.Size || k.Offset > in.Size-k.Size {
				return trace.Bad(trace.ErrTruncated, "a column reaches past the end of the file: writing or copying it was cut off, get it again")
			}
		}
	}
	if rows != f.Rows {
		return trace.Bad(trace.ErrRagged, "the footer tells of %d rows, its row groups of others", f.Rows)
	}
	if rows > lim.Rows {
		return trace.Bad(trace.ErrTooLarge, "%d rows in %d bytes, at most %d are read", rows, in.Size, lim.Rows)
	}
	return nil
}

// Columns are the leaf columns of the file.
func (f *File) Columns() []Column { return f.foot.Leaves }

// Rows is the number of rows.
func (f *File) Rows() int { return int(f.foot.Rows) }

// Values is a whole column.
type Values struct {
	// By row: the integer, the bits of a float64, or the position in Strings;
	// 0 for null.
	Bits    []int64
	Null    []bool // by row; nil when none is null
	Strings []string
}

// Read reads a column.
func (f *File) Read(column int) (Values, error) {
	c := f.foot.Leaves[column]
	if c.Nested || c.Decimal || width(c.Type) == 0 && c.Type != Text {
		what := c.Type.String()
		if c.Nested {
			what = "nested or repeated"
		} else if c.Decimal {
			what = "DECIMAL"
		}
		return Values{}, trace.At(f.pos(0, column), trace.Bad(trace.ErrType, "the column is %s, expected INT32, INT64, FLOAT, DOUBLE or a string", what))
	}
	r := &columnReader{f: f, column: c, number: column, out: Values{Bits: make([]int64, f.foot.Rows)}, names: make(map[string]int64)}
	r.rest = r.out.Bits
	for g := range f.foot.Groups {
		if err := r.group(g); err != nil {
			return Values{}, trace.At(f.pos(g, column), err)
		}
	}
	return r.out, nil
}

func (f *File) pos(group, column int) trace.Pos {
	return trace.Pos{File: f.in.Name, Inside: fmt.Sprintf("row group %d, column %s", group, f.foot.Leaves[column].Name)}
}

// columnReader reads one column, chunk by chunk.
type columnReader struct {
	f      *File
	column Column
	number int
	out    Values
	rest   []int64 // of out.Bits, not yet read
	names  map[string]int64
	text   int // bytes of all names

	codec int64
	dict  []int64 // what the indices of the chunk's pages stand for
	has   bool
}

// group reads the column's chunk of a row group.
func (r *columnReader) group(number int) error {
	f, g := r.f, r.f.foot.Groups[number]
	k := g.Chunks[r.number]
	if k.Type != r.column.Type || k.Values != g.Rows {
		return trace.Bad(trace.ErrRagged, "%d values of %s, expected %d of %s", k.Values, k.Type, g.Rows, r.column.Type)
	}
	if int64(cap(f.chunk)) < k.Size+parquetformat.Slack {
		f.chunk = make([]byte, k.Size+parquetformat.Slack)
	}
	b := f.chunk[:k.Size]
	if n, err := f.in.R.ReadAt(b, k.Offset); n < len(b) {
		return trace.Bad(trace.ErrTruncated, "reading %d bytes at %d: %v", k.Size, k.Offset, err)
	}
	r.codec, r.dict, r.has = k.Codec, r.dict[:0], false
	left := len(r.rest) - int(g.Rows)
	for len(r.rest) > left {
		h, body, rest, err := parquetformat.NextPage(b)
		if err != nil {
			return err
		}
		b = rest
		if err := r.page(h, body, len(r.rest)-left); err != nil {
			return err
		}
	}
	return nil
}

// intern gives every distinct string a position.
func (r *columnReader) intern(s []byte) (int64, error) {
	if at, ok := r.names[string(s)]; ok {
		return at, nil
	}
	if r.text += len(s); len(s) > maxString || len(r.out.Strings) >= maxStrings || r.text > maxText {
		return 0, trace.Bad(trace.ErrTooLarge, "a string of %d bytes beside %d others, at most %d bytes, %d strings and %d bytes of them all are read",
			len(s), len(r.out.Strings), maxString, maxStrings, maxText)
	}
	at := int64(len(r.out.Strings))
	r.names[string(s)] = at
	r.out.Strings = append(r.out.Strings, string(s))
	return at, nil
}

// Bounds on the strings of a column: the bytes of one, distinct ones, and the
// bytes of all of these. Kernels have names of up to 4,096 bytes.
const (
	maxString  = 4096
	maxStrings = 1 << 16
	maxText    = 32 << 20
)

// spread moves the values at the front of dst to the rows that are not null,
// from the back, and remembers which are null.
func (r *columnReader) spread(dst []int64, levels []uint32, count int) {
	if r.out.Null == nil {
		r.out.Null = make([]bool, len(r.out.Bits))
	}
	null := r.out.Null[len(r.out.Bits)-len(r.rest):]
	for i, level := range slices.Backward(levels) {
		if null[i] = level == 0; null[i] {
			dst[i] = 0
			continue
		}
		count--
		dst[i] = dst[count]
	}
}
