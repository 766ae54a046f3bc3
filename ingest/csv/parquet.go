package csv

import (
	"io"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// ResemblesParquet reports whether a Parquet file has a row for each step of a
// rank, by its columns. A file that is broken resembles nothing.
func ResemblesParquet(in parquet.Input, o Options) bool {
	f, err := openParquet(in, o)
	return err == nil && Recognizes(columnNames(f))
}

// NewParquetReader is NewReader for a table in a Parquet file, as pandas'
// to_parquet and DuckDB's COPY write it; its name stands in errors and names the
// run where the table does not.
func NewParquetReader(in parquet.Input, o Options) (*Reader, error) {
	f, err := openParquet(in, o)
	if err != nil {
		return nil, err
	}
	// Runs of equal rows take next to nothing, which the ratio allows past 64 MiB.
	most := (freeOfRatio + o.Limits.OrDefault().Ratio*in.Size) / 8 / int64(len(f.Columns()))
	if err := f.Check(most); err != nil {
		return nil, err
	}
	return newReader(&parquetRows{file: f, name: in.Name, row: -1}, in.Name, o)
}

const freeOfRatio = 64 << 20

func openParquet(in parquet.Input, o Options) (*parquet.File, error) {
	lim := o.Limits.OrDefault()
	return parquet.Open(in, parquet.Limits{Footer: min(lim.Line, 64<<20), Window: lim.Window})
}

func columnNames(f *parquet.File) []string {
	var names []string
	for _, c := range f.Columns() {
		names = append(names, c.Name)
	}
	return names
}

// parquetRows are the rows of a Parquet file as text, a null as nothing.
type parquetRows struct {
	file    *parquet.File
	name    string
	cursors []*parquet.Cursor // nil for columns that are not read
	batch   []parquet.Values  // by column, the next rows: runs do not last, and those of the columns end at different rows
	row     int64             // that was returned last
	at      int               // in batch
	cells   []string
}

// batchRows is how many rows are held.
const batchRows = 1 << 10

func (p *parquetRows) Header() ([]string, error) {
	names := columnNames(p.file)
	p.cursors, p.batch, p.cells = make([]*parquet.Cursor, len(names)), make([]parquet.Values, len(names)), make([]string, len(names))
	for i, c := range meanings(names) {
		if c.kind == ignored {
			continue
		}
		leaf := p.file.Columns()[i]
		if leaf.Tick != 0 {
			return nil, input.At(input.Pos{File: p.name, Inside: "column " + parquet.Printable(leaf.Name)},
				input.Bad(input.ErrType, "a timestamp, which is no duration: leave the column out"))
		}
		var err error
		if p.cursors[i], err = p.file.Cursor(i); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (p *parquetRows) Next() ([]string, error) {
	if p.row+1 == p.file.Rows() {
		return nil, io.EOF
	}
	p.row++
	if p.at++; p.row%batchRows == 0 {
		p.at = 0
		if err := p.fill(int(min(batchRows, p.file.Rows()-p.row))); err != nil {
			return nil, err
		}
	}
	for i, c := range p.cursors {
		if c != nil {
			p.cells[i] = p.cell(i, c)
		}
	}
	return p.cells, nil
}

// fill reads the next n rows of every column.
func (p *parquetRows) fill(n int) error {
	for i, c := range p.cursors {
		if c == nil {
			continue
		}
		b := &p.batch[i]
		b.Bits, b.Null = b.Bits[:0], b.Null[:0]
		for len(b.Bits) < n {
			run, err := c.Next(n - len(b.Bits))
			if err != nil {
				return err
			}
			b.Append(run)
		}
	}
	return nil
}

// cell is a value as text.
func (p *parquetRows) cell(column int, c *parquet.Cursor) string {
	b := &p.batch[column]
	v := b.Bits[p.at]
	switch typ := p.file.Columns()[column].Type; {
	case b.Null != nil && b.Null[p.at]:
		return ""
	case typ == parquet.TypeBytes:
		return c.Strings()[v]
	case typ == parquet.TypeBoolean:
		return strconv.FormatBool(v != 0)
	case typ == parquet.TypeFloat || typ == parquet.TypeDouble:
		return strconv.FormatFloat(math.Float64frombits(uint64(v)), 'f', -1, 64)
	}
	return strconv.FormatInt(v, 10)
}

// Pos counts rows as lines, from 1.
func (p *parquetRows) Pos() input.Pos { return input.Pos{File: p.name, Line: p.row + 1} }

func (p *parquetRows) AtEnd() bool { return false }
