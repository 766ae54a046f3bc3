package flat

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// Data are the values of one column for one row group, dense: values of null
// rows are left out. The fields of the column's kind are set.
type Data struct {
	Present []bool // by row; nil when no row is null
	Ints    []int64
	Doubles []float64
	Bools   []bool
	Strings []string // the distinct strings, and
	Index   []uint32 // which one each row has
}

// Writer writes a file, one row group at a time. The file is complete after
// Close only: before, it has no footer and no reader will accept it.
type Writer struct {
	w    io.Writer
	at   int64
	foot footer
	enc  *encoder
	err  error
}

// NewWriter writes the start of a file.
func NewWriter(w io.Writer, use Encodings) (*Writer, error) {
	enc, err := newEncoder(use)
	if err != nil {
		return nil, err
	}
	f := &Writer{w: w, enc: enc}
	f.write([]byte(parquetformat.Magic))
	return f, f.err
}

// Add appends a column to the table. After the first row group it must be
// nullable: the groups before hold nulls.
func (f *Writer) Add(c Column) {
	if len(f.foot.groups) > 0 && !c.Nullable {
		panic("flat: a required column added after the first row group")
	}
	f.foot.columns = append(f.foot.columns, c)
}

// Group writes a row group of n rows, with the data of every column.
func (f *Writer) Group(n int, data []Data) error {
	if len(data) != len(f.foot.columns) {
		panic("flat: data of a row group do not match the columns")
	}
	g := group{rows: int64(n)}
	for i, d := range data {
		if err := f.chunk(&g, f.foot.columns[i], d); err != nil {
			return err
		}
	}
	f.foot.rows += int64(n)
	f.foot.groups = append(f.foot.groups, g)
	return nil
}

// Close writes the footer.
func (f *Writer) Close(meta []KeyValue) error {
	for i := range f.foot.groups {
		g := &f.foot.groups[i]
		for _, c := range f.foot.columns[len(g.chunks):] {
			if err := f.chunk(g, c, Data{Present: make([]bool, g.rows)}); err != nil {
				return err
			}
		}
	}
	f.foot.meta = meta
	foot := f.foot.appendTo(nil)
	if int64(len(foot)) > math.MaxInt32 {
		return fmt.Errorf("a footer of %d bytes is more than the format allows: write fewer windows to one file", len(foot))
	}
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	f.write(append(foot, parquetformat.Magic...))
	return f.err
}

func (f *Writer) write(b []byte) {
	if f.err != nil {
		return
	}
	n, err := f.w.Write(b)
	f.at, f.err = f.at+int64(n), err
}

// chunk writes one column of a row group.
func (f *Writer) chunk(g *group, c Column, d Data) error {
	k, b := f.enc.chunk(c, int(g.rows), d)
	k.offset = f.at
	if len(d.Ints) > 0 {
		k.min, k.max = slices.Min(d.Ints), slices.Max(d.Ints)
	}
	g.chunks = append(g.chunks, k)
	f.write(b)
	return f.err
}
