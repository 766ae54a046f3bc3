package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/sfstat/sfstat/trace/input"
)

// Magic is how a Parquet file begins and ends.
const Magic = "PAR1"

// ErrNotParquet is in the error of readMetadata when the input is no Parquet file.
var ErrNotParquet = errors.New("not a Parquet file")

// footer reads the bytes of the footer of a file of size bytes. It refuses a
// footer of more than limit bytes.
func footer(in io.ReaderAt, size, limit int64) ([]byte, error) {
	var head, tail [8]byte
	if n, err := in.ReadAt(head[:4], 0); n < 4 && err != nil && err != io.EOF {
		return nil, err
	}
	if string(head[:4]) != Magic {
		return nil, input.Bad(ErrNotParquet, "begins with %q, expected %q", head[:max(0, min(size, 4))], Magic)
	}
	if size < 12 {
		return nil, input.Bad(input.ErrTruncated, "only %d bytes: writing or copying it was cut off, get it again", size)
	}
	if n, err := in.ReadAt(tail[:], size-8); n < 8 {
		return nil, input.Bad(input.ErrTruncated, "reading the last bytes: %v", err)
	}
	if string(tail[4:]) != Magic {
		return nil, input.Bad(input.ErrTruncated, "begins as a Parquet file but does not end as one: writing or copying it was cut off, get it again")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 || n > limit {
		return nil, input.Bad(input.ErrTooLarge, "a footer of %d bytes in a file of %d, at most %d are read", n, size, limit)
	}
	b := make([]byte, n)
	if m, err := in.ReadAt(b, size-8-n); int64(m) < n {
		return nil, input.Bad(input.ErrTruncated, "reading the footer: %v", err)
	}
	return b, nil
}
