// Package parquet reads Parquet files (Apache parquet-format 2.11), whoever
// wrote them: flat columns of numbers, booleans and strings, in runs of rows.
// Files are written by parquet-go.
//
// The general libraries trust what a file claims: parquet-go 0.32 allocates
// 4 GiB for a changed byte in a file of 2 kB, and panics on others. Here every
// count is checked against what the file can hold before anything is allocated
// for it, and nothing is unsafe.
//
// What is read: BOOLEAN, INT32, INT64, FLOAT, DOUBLE and BYTE_ARRAY, required
// or nullable; data pages of versions 1 and 2; PLAIN, RLE, dictionary,
// DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY and BYTE_STREAM_SPLIT; no
// compression, snappy, gzip and zstd. Other columns may be in the file; a
// cursor over one is an error that says what it is.
package parquet

import "strconv"

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

// Printable is a name for an error's one line: quoted where it has characters
// that would spoil it.
func Printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
