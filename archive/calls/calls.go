// Package calls is the table of a job's calls of NCCL: a row for each call of each rank, with the kernel that ran it, as CSV or Parquet.
package calls

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// Key and Schema name the form of the table in the metadata of Parquet.
const (
	Key    = "sfstat.schema"
	Schema = "sfstat.comm-calls/1"
)

// Format is how the table is written.
type Format uint8

const (
	CSV Format = iota
	Parquet
)

// FormatOf is the format that the name of a file says.
func FormatOf(path string) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return CSV, nil
	case ".parquet":
		return Parquet, nil
	}
	return CSV, fmt.Errorf("%s: the name says no format: give one that ends in .csv or .parquet", path)
}

// rowsInGroup bounds what a writer of Parquet holds.
const rowsInGroup = 1 << 16

// Write writes the calls of a job.
func Write(w io.Writer, r *comm.Result, as Format) error {
	if as == CSV {
		return writeCSV(w, r)
	}
	return writeParquet(w, r)
}

func writeCSV(w io.Writer, r *comm.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(flatrow.Columns[Row]()); err != nil {
		return err
	}
	for row := range rowsOf(r) {
		if err := out.Write(flatrow.Cells(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func writeParquet(w io.Writer, r *comm.Result) error {
	out := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Zstd), parquet.KeyValueMetadata(Key, Schema), parquet.CreatedBy("sfstat", "", ""))
	n := 0
	for row := range rowsOf(r) {
		if _, err := out.Write([]Row{*row}); err != nil {
			return err
		}
		if n++; n%rowsInGroup == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
