package parquet

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/trace/input"
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
	Window int64 // bytes of history that a zstd page may ask for
	Held   int64 // bytes that decoded pages of all columns take at a time; 0: whatever they do
}

// File is an open file. Its cursors may be used side by side.
type File struct {
	in   Input
	lim  Limits
	foot *metadata
	held atomic.Int64 // bytes that the cursors account for
}

// capLimit returns a limit, or a part of what may be held, if that is less.
func (f *File) capLimit(limit int64) int64 {
	if f.lim.Held > 0 {
		return min(limit, f.lim.Held/4)
	}
	return limit
}

// scratch is what the decoding of a page needs.
type scratch struct {
	zstd   *zstd.Decoder
	window int64  // that the decoder accepts
	raw    []byte // what the page decompresses to
	index  []int32
}

// resize returns n values, whatever they are, in the memory of others if they fit.
func resize[T any](memory *[]T, n int) []T {
	*memory = slices.Grow((*memory)[:0], n)[:n]
	return *memory
}

// spare is scratch that nobody uses.
var spare = sync.Pool{New: func() any { return new(scratch) }}

// Open reads the footer. Columns and Meta may be asked for at once; before the
// first cursor, Check must have accepted the file.
func Open(in Input, lim Limits) (*File, error) {
	b, err := footer(in.R, in.Size, lim.Footer)
	var foot *metadata
	if err == nil {
		foot, err = parseMetadata(b)
	}
	if err != nil {
		return nil, input.At(input.Pos{File: in.Name}, err)
	}
	return &File{in: in, lim: lim, foot: foot}, nil
}

// Columns returns the leaf columns of the file.
func (f *File) Columns() []Leaf { return f.foot.leaves }

// Names returns the names of the leaf columns.
func (f *File) Names() []string {
	names := make([]string, len(f.foot.leaves))
	for i, leaf := range f.foot.leaves {
		names[i] = leaf.Name
	}
	return names
}

// Rows returns the number of rows. It may be trusted after Check.
func (f *File) Rows() int64 { return f.foot.Rows }

// Meta returns the metadata entry of the key, and whether there is one.
func (f *File) Meta(key string) (string, bool) {
	for _, kv := range f.foot.Meta {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// Check refuses a file whose footer contradicts itself or the size of the
// file, or which has more rows than given.
func (f *File) Check(rows int64) error { return input.At(input.Pos{File: f.in.Name}, f.check(rows)) }

func (f *File) check(most int64) error {
	rows, bytes := int64(0), int64(0)
	for i, g := range f.foot.Groups {
		if rows += g.Rows; rows < 0 || rows > f.foot.Rows {
			break
		}
		for c, k := range g.Chunks {
			k, offset := k.Meta, k.offset()
			bytes += k.Size
			kind, what := error(nil), ""
			switch leaf := f.foot.leaves[c]; {
			case k.Type != leaf.Type:
				kind, what = input.ErrType, "another type than in the schema"
			case k.Values != g.Rows && !leaf.Nested:
				kind, what = input.ErrRagged, "more or fewer values than the row group has rows"
			case k.Size > f.in.Size-offset:
				kind, what = input.ErrTruncated, "reaches past the end of the file: writing or copying it was cut off, get it again"
			case bytes > f.in.Size:
				kind, what = input.ErrTooLarge, "the columns together are larger than the file"
			}
			if kind != nil {
				return input.At(f.pos(i, c), input.Bad(kind, "%s", what))
			}
		}
	}
	if rows != f.foot.Rows {
		return input.Bad(input.ErrRagged, "the footer tells of %d rows, its row groups of others", f.foot.Rows)
	}
	if rows > most {
		return input.Bad(input.ErrTooLarge, "%d rows × %d columns in %d bytes, at most %d rows are read of a file of this size",
			rows, len(f.foot.leaves), f.in.Size, most)
	}
	return nil
}

func (f *File) pos(group, column int) input.Pos {
	return input.Pos{File: f.in.Name, Inside: fmt.Sprintf("row group %d, column %s", group, Printable(f.foot.leaves[column].Name))}
}

// Values are rows of a column.
type Values struct {
	Bits    []int64 // by row, as in [Run], 0 for null
	Null    []bool  // by row; nil when none is null
	Strings []string
}

// Read reads a column.
func (f *File) Read(column int) (Values, error) {
	c, err := f.Cursor(column)
	if err != nil {
		return Values{}, err
	}
	v := Values{Bits: make([]int64, 0, f.Rows())}
	for rows := int(f.Rows()); len(v.Bits) < rows; {
		run, err := c.Next(rows - len(v.Bits))
		if err != nil {
			return Values{}, err
		}
		v.Append(run)
	}
	v.Strings = c.Strings()
	return v, nil
}

// Append adds the rows of a run.
func (v *Values) Append(r Run) {
	first := len(v.Bits)
	if r.At == nil && v.Null == nil {
		v.Bits = append(v.Bits, r.Values...)
		return
	}
	if v.Null == nil {
		v.Null = make([]bool, first, cap(v.Bits))
	}
	for range r.Rows {
		v.Bits, v.Null = append(v.Bits, 0), append(v.Null, true)
	}
	for i, x := range r.Values {
		at := first + r.Row(i)
		v.Bits[at], v.Null[at] = x, false
	}
}
