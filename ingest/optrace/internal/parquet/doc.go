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

// Type is the physical type of a column, by its number in the format.
type Type uint8

// The types that are read.
const (
	Int32  Type = 1
	Int64  Type = 2
	Float  Type = 4
	Double Type = 5
	Text   Type = 6 // BYTE_ARRAY
)

var typeNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "of an unknown type"
}

// width is the bytes of a value.
func (t Type) width() int {
	switch t {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	}
	return 0
}

// Column is one flat column of a file.
type Column struct {
	Name string
	Type Type
	// Tick is the nanoseconds that 1 stands for in a column of timestamps, 0
	// in other columns.
	Tick     int64
	nullable bool
	decimal  bool
	nested   bool // within a group, or repeated
}

// Numbers of the format.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	encPlain           = 0
	encPlainDictionary = 2
	encRLE             = 3
	encDelta           = 5
	encDeltaLength     = 6
	encRLEDictionary   = 8
	encByteStreamSplit = 9
)

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
