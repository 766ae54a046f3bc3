package csv

import (
	"io"

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
	return newReader(&parquetRows{file: f, name: in.Name}, in.Name, o)
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

// parquetRows are the rows of a Parquet file as text.
type parquetRows struct {
	*parquet.Text
	file *parquet.File
	name string
	row  int64 // that was returned last or failed, from 1
}

func (p *parquetRows) Header() ([]string, error) {
	names := columnNames(p.file)
	known := meanings(names)
	for i, leaf := range p.file.Columns() {
		if leaf.Tick != 0 && known[i].kind != ignored {
			return nil, input.At(input.Pos{File: p.name, Inside: "column " + parquet.Printable(leaf.Name)},
				input.Bad(input.ErrType, "a timestamp, which is no duration: leave the column out"))
		}
	}
	var err error
	p.Text, err = p.file.Text(func(column int) bool { return known[column].kind != ignored })
	return names, err
}

func (p *parquetRows) Next() ([]string, error) {
	cells, err := p.Text.Next()
	if err != io.EOF {
		p.row++
	}
	return cells, err
}

// Pos counts rows as lines, from 1.
func (p *parquetRows) Pos() input.Pos { return input.Pos{File: p.name, Line: p.row} }

func (p *parquetRows) AtEnd() bool { return false }
