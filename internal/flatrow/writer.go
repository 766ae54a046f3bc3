package flatrow

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/internal/glyph"
)

// Format is how a table is stored.
type Format uint8

const (
	Nowhere Format = iota // it is not
	Parquet
	CSV
	JSONLines
)

// FormatOf returns the format that the name of a file says.
func FormatOf(path string) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".parquet":
		return Parquet, nil
	case ".csv":
		return CSV, nil
	case ".jsonl", ".ndjson":
		return JSONLines, nil
	}
	return Nowhere, fmt.Errorf("%s: the name says no format: give one that ends in .parquet, .csv or .jsonl", path)
}

// Mark is what a table calls itself in the metadata of Parquet.
type Mark struct{ Key, Schema string }

// Writer writes rows one at a time.
type Writer[T any] struct {
	Write func(*T) error
	Close func() error // writes the rest; it does not close what is written to
}

// NewWriter begins a table.
func NewWriter[T any](w io.Writer, as Format, mark Mark) Writer[T] {
	nothing := func() error { return nil }
	switch as {
	case Parquet:
		return parquetWriter[T](w, mark)
	case CSV:
		out := csv.NewWriter(w)
		_ = out.Write(Columns[T]()) // an error comes again
		return Writer[T]{func(row *T) error { return out.Write(harmless(Cells(row))) }, func() error { out.Flush(); return out.Error() }}
	case JSONLines:
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		return Writer[T]{func(row *T) error { return out.Encode(row) }, nothing}
	}
	return Writer[T]{func(*T) error { return nil }, nothing}
}

// harmless changes cells so that they neither steer a terminal nor are formulas to a
// spreadsheet, which a quote in front says. Set takes that off.
func harmless(cells []string) []string {
	for i, s := range cells {
		s = glyph.Visible(s)
		if _, err := strconv.ParseFloat(s, 64); err != nil && s != "" && strings.IndexByte("=+-@'", s[0]) >= 0 {
			s = "'" + s
		}
		cells[i] = s
	}
	return cells
}

// rowsInGroup bounds the memory of a row group.
const rowsInGroup = 1 << 16

func parquetWriter[T any](w io.Writer, mark Mark) Writer[T] {
	out, n := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.KeyValueMetadata(mark.Key, mark.Schema), parquet.CreatedBy("sfstat", "", "")), 0
	write := func(row *T) error {
		if _, err := out.Write([]T{*row}); err != nil {
			return err
		}
		if n++; n%rowsInGroup == 0 {
			return out.Flush()
		}
		return nil
	}
	return Writer[T]{write, out.Close}
}
