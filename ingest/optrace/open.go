package optrace

import (
	"os"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/operator"
)

// Open reads the operator trace at path, Parquet or CSV by its content, with
// the meta file that stands beside it by name, if there is one.
func Open(path string, lim ingest.Limits) (*operator.Trace, error) {
	return openMeta(path, MetaBeside(path), lim)
}

// openMeta opens a trace as Open does, with the meta file given; "": none.
func openMeta(path, meta string, lim ingest.Limits) (*operator.Trace, error) {
	m, err := LoadMeta(meta)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	defer f.Close()
	var head [4]byte
	if n, _ := f.ReadAt(head[:], 0); string(head[:n]) == parquet.Magic {
		info, err := f.Stat()
		if err != nil {
			return nil, ingest.Unreadable(path, err)
		}
		return ReadParquet(parquet.Input{R: f, Size: info.Size(), Name: path}, m, lim)
	}
	src, err := ingest.NewSource(f, path, lim)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return ReadCSV(src, path, m, lim)
}

// footerLimit returns how many bytes the footer of a Parquet file may have.
func footerLimit(lim ingest.Limits) int64 { return min(lim.Line, 64<<20) }

// rowBytes is what a row takes while it is read, at most.
const rowBytes = 192

// maxRows returns how many rows are read of an input that is stored in so many bytes: Pending bounds the memory. Rows of a Parquet file take eight bytes or so
// in jobs of hundreds of workers, and half of that where times repeat.
func maxRows(lim ingest.Limits, stored int64) int64 {
	most := min(lim.Pending/rowBytes, operator.MaxOps)
	if stored >= 0 {
		most = min(most, max(1<<20, stored/4))
	}
	return most
}
