// Package archive keeps windows in Parquet files that anyone can query: one
// row per (window, step, rank), one INT64 column of nanoseconds per stage,
// named by the stage, and wall_ns. What is said once for a window (ranks,
// hosts, roles, world size, notes …) is JSON in the file's key-value metadata
// under the key [Key]. docs/inputs.md is the format's page, with queries for
// DuckDB and pandas.
//
// Nothing is lost but arrivals, which packet.SidecarWriter keeps in a file
// beside: a window that is written and read again is equal in every other
// field to the last bit, side channels included. Two things are put in their
// canonical form on the way: samples of a side channel in the order of step
// and rank, and lists without elements as nil.
//
// All windows of a file share one list of stages. The writer streams: it holds
// one row group. The reader streams: it holds one window and one page of each
// column.
//
// Assumptions: names are UTF-8, as Parquet demands of them, and a side channel
// has at most one sample for a step and rank.
package archive

import (
	"errors"

	"github.com/sfstat/sfstat/internal/parquet"
)

// Format is the version of the format that this package writes and reads.
const Format = "sfstat.archive/1"

// Key is the key of the metadata entry that makes a Parquet file an archive.
const Key = "sfstat.archive"

// sumKey is the key of the CRC-32 of that entry, in hexadecimal: the pages have
// checksums of their own, the footer has none.
const sumKey = "sfstat.archive.crc32"

// ErrSchemaChanged is in the error of Write for a window whose stages are not
// those of the file, or that has a side channel, or epochs, which none of the
// windows in the first row group has. The window belongs into another file; the writer
// goes on.
var ErrSchemaChanged = errors.New("other columns than the archive has")

// ErrNotArchive is in the error of Open and NewReader for a Parquet file that
// is no window archive, and for a file that is no Parquet file.
var ErrNotArchive = errors.New("not a window archive")

// The columns that every archive has, before and after those of the stages.
const (
	colRun = iota
	colWindow
	colStep
	colRank
	firstStage
)

const wallColumn = "wall_ns"

// epochColumn is when the first step of the window began on the rank, in every row of
// the window. It is there when windows have epochs.
const epochColumn = "epoch_ns"

// readySuffix ends the name of the column that says which samples are ready.
const readySuffix = ".ready"

// namer gives out column names, each once: a name that is taken gets
// underscores until it is free.
type namer map[string]bool

func (n namer) free(name string) string {
	for n[name] {
		name += "_"
	}
	n[name] = true
	return name
}

// column is a column of an archive.
type column struct {
	name     string
	typ      parquet.Type
	nullable bool
	repeats  bool // its values do: for the writer
}

// stageColumns returns the columns of an archive of these stages, without side
// channels, and the namer that knows them.
func stageColumns(stages []string) ([]column, namer) {
	columns := []column{
		colRun:    {name: "run", typ: parquet.TypeBytes},
		colWindow: {name: "window", typ: parquet.TypeInt64},
		colStep:   {name: "step", typ: parquet.TypeInt64},
		colRank:   {name: "rank", typ: parquet.TypeInt64},
	}
	names := namer{wallColumn: true}
	for _, c := range columns {
		names[c.name] = true
	}
	for _, stage := range stages {
		columns = append(columns, column{name: names.free(stage), typ: parquet.TypeInt64})
	}
	return append(columns, column{name: wallColumn, typ: parquet.TypeInt64, nullable: true}), names
}

// epochsOf returns the column of epochs.
func epochsOf(names namer) column {
	return column{name: names.free(epochColumn), typ: parquet.TypeInt64, nullable: true, repeats: true}
}

// channelColumns returns the two columns of a side channel: value and readiness.
func channelColumns(names namer, channel string) (value, ready column) {
	value = column{name: names.free(channel), typ: parquet.TypeDouble, nullable: true}
	ready = column{name: names.free(channel + readySuffix), typ: parquet.TypeBoolean, nullable: true}
	return value, ready
}
