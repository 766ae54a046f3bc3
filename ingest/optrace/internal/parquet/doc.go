// Package parquet reads columns out of Parquet files that other programs
// wrote: flat columns of numbers and strings, whole, one at a time.
//
// It is beside the general libraries because of hostile files. A footer or a
// page of a few bytes may claim lists of 2³¹ elements, runs of 2²⁴ values or
// pages of 2 GiB, and libraries take the claim at its word: parquet-go 0.32
// allocates 4 GiB for a changed byte in a file of 2 kB, and panics for others.
// Here every count is checked against what the file can hold before anything
// is allocated for it, and nothing is unsafe.
//
// What is read (Apache parquet-format 2.11): INT32, INT64, FLOAT, DOUBLE and
// BYTE_ARRAY, required or nullable; data pages of versions 1 and 2; PLAIN,
// dictionary, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY and
// BYTE_STREAM_SPLIT; no compression, snappy, gzip and zstd. Other columns may be in the file; asking for one is
// an error that says what it is.
package parquet

import "github.com/sfstat/sfstat/internal/parquetformat"

// Type is the physical type of a column.
type Type = parquetformat.Type

// The types that are read.
const (
	Int32  = parquetformat.TypeInt32
	Int64  = parquetformat.TypeInt64
	Float  = parquetformat.TypeFloat
	Double = parquetformat.TypeDouble
	Text   = parquetformat.TypeBytes
)

// width is the bytes of a number, 0 for other types.
func width(t Type) int {
	switch t {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	}
	return 0
}

// Column is one leaf column of a file.
type Column = parquetformat.Leaf

var (
	encodingNames = [...]string{"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED",
		"DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
	codecNames = [...]string{"none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"}
)

func nameOf(names []string, i int64) string {
	if i >= 0 && i < int64(len(names)) {
		return names[i]
	}
	return "of an unknown number"
}
