package csv

import (
	"io"
	"math"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// NewParquet returns the rows of a table in a Parquet file, as pandas' to_parquet and DuckDB's COPY write it. Closing them closes
// file.
func NewParquet(in parquet.Input, file io.Closer, lim ingest.Limits) (*Source, error) {
	lim = lim.Scale(in.Size)
	f, err := parquet.Open(in, parquet.Limits{Footer: min(lim.Line, 64<<20), Window: lim.Window, Held: lim.Pending})
	if err != nil {
		return nil, err
	}
	// Runs of equal rows take next to nothing, which the ratio allows past 64 MiB.
	most := (freeOfRatio + lim.Ratio*in.Size) / 8 / int64(len(f.Columns()))
	if err := f.Check(most); err != nil {
		return nil, err
	}
	return &Source{rows: &parquetRows{file: f, name: in.Name}, file: in.Name, lim: lim, in: file}, nil
}

const freeOfRatio = 64 << 20

// parquetRows are the rows of a Parquet file as text.
type parquetRows struct {
	*parquet.Text
	file *parquet.File
	name string
	row  int64 // that was returned last or failed, from 1
}

func (p *parquetRows) Header() ([]string, error) {
	names := p.file.Names()
	known := meanings(names)
	operators, timed := operatorColumns(names)
	for i, leaf := range p.file.Columns() {
		instant := timed && (i == operators.start || i == operators.value && operators.ends)
		if leaf.Tick != 0 && known[i].kind != ignored && !instant {
			return nil, input.At(input.Pos{File: p.name, Inside: "column " + parquet.Printable(leaf.Name)},
				input.Bad(input.ErrType, "a timestamp, which is no duration: leave the column out"))
		}
	}
	var err error
	p.Text, err = p.file.Text(func(column int) bool { return known[column].kind != ignored })
	return names, err
}

// unitOf returns the unit of a column of timestamps; Unsaid of any other.
func (p *parquetRows) unitOf(column int) Unit {
	tick := p.file.Columns()[column].Tick
	for unit := Nanoseconds; unit <= Seconds; unit++ {
		if float64(tick) == math.Pow10(unit.exponent()) {
			return unit
		}
	}
	return Unsaid
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
