// Package flat is the part of Parquet that a window archive needs: tables of
// required or nullable columns without nesting, one dictionary of strings, zstd.
//
// It exists beside the general libraries for three reasons, each measured in
// docs/archive.md:
//
//   - size: every page picks the smallest of its encodings, and the byte planes
//     of BYTE_STREAM_SPLIT are compressed as zstd blocks of their own, so that a
//     plane of noise does not spoil the code of its neighbour;
//   - hostile files: every size in a footer, page header or value stream is
//     checked against what the file can hold before anything is allocated for it;
//   - columns may be added while a file is written: row groups that came before
//     get chunks of nulls at the end.
//
// Files conform to the Parquet format, version 2 (Apache parquet-format 2.11,
// which has BYTE_STREAM_SPLIT of INT64). Data pages are of version 1 and carry a
// CRC. Values are little-endian as the format says; nothing here depends on the
// byte order of the machine, and nothing uses unsafe.
package flat

import "github.com/sfstat/sfstat/internal/parquetformat"

// Kind is the physical type of a column.
type Kind = parquetformat.Type

// The kinds that are written, and read by a Cursor.
const (
	Bool   = parquetformat.TypeBoolean
	Int64  = parquetformat.TypeInt64
	Double = parquetformat.TypeDouble
	String = parquetformat.TypeBytes // holding UTF-8, always by dictionary
)

// Encodings is a choice of the encodings that a Writer may use.
type Encodings uint8

const (
	// Smallest uses BYTE_STREAM_SPLIT for INT64 where it is smallest, which the
	// format has since version 2.11 of 2024.
	Smallest Encodings = iota
	// Portable does not: older programs read the file, which is larger.
	Portable
)

// Column is one column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool
	Bounds   bool // write the least and largest value of each row group, for Int64
}

// KeyValue is one entry of a file's key-value metadata.
type KeyValue = parquetformat.KeyValue

// PageRows is the number of rows in a page: 256 KiB of INT64, which stays in a
// core's second-level cache while it is decoded and copied.
const PageRows = 1 << 15
