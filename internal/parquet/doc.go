// Package parquet reads Parquet files (Apache parquet-format 2.11), whoever
// wrote them: flat columns of numbers, booleans and strings, in runs of rows.
// Files are written by parquet-go.
//
// The decoders are parquet-go's, for footers, headers and values; opening files
// and going through pages is not. The library makes room for what a file
// claims: a changed byte in a file of 2 kB made it allocate 4 GiB, and a page
// header is only one of the places where counts stand; lists of a footer, runs
// of levels and indices, and differences have their own. Here every count is
// checked against what the file can hold before the library sees it.
//
// What is read: BOOLEAN, INT32, INT64, FLOAT, DOUBLE and BYTE_ARRAY, required
// or nullable; data pages of versions 1 and 2; PLAIN, RLE, dictionary,
// DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY and BYTE_STREAM_SPLIT; no
// compression, snappy, gzip and zstd. Other columns may be in the file; a
// cursor over one is an error that says what it is.
package parquet

import "strconv"

// Printable returns a name for an error's one line: quoted where it has characters
// that would spoil it.
func Printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
