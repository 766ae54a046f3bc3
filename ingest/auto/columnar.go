package auto

import (
	"errors"
	"io"
	"os"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// columnar is a Parquet file that is open: an archive, a table of windows or an
// operator trace, which its end tells.
type columnar struct {
	parquet.Input
	file io.Closer
}

func openColumnar(on disk.Disk, path string) (columnar, error) {
	f, err := on.Open(path)
	if err != nil {
		return columnar{}, ingest.Unreadable(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return columnar{}, ingest.Unreadable(path, err)
	}
	return columnar{parquet.Input{R: f, Size: info.Size(), Name: path}, f}, nil
}

// kept is an archive that was opened to see what it is. The first of the inputs is, and
// stays open until its turn comes: its footer is read once.
type kept struct {
	path string
	*archive.Reader
}

// columnarAt returns the format of the Parquet file at path.
func (r *Reader) columnarAt(path string) (Format, error) {
	if r.kept == nil {
		if a, err := archive.OpenOn(r.o.Disk, path, r.o.Limits); err == nil {
			r.kept = &kept{path, a}
			return Archive, nil
		}
	}
	c, err := openColumnar(r.o.Disk, path)
	if err != nil {
		return Archive, err
	}
	defer c.file.Close()
	return r.formatOf(c.Input)
}

// formatOf returns the format of a Parquet file by its columns. A file with other columns is an archive, and the error says why
// it cannot be read.
func (r *Reader) formatOf(in parquet.Input) (Format, error) {
	a, err := archive.NewReader(in.R, in.Size, in.Name, r.o.Limits)
	if err == nil {
		return Archive, a.Close()
	}
	if !errors.Is(err, archive.ErrNotArchive) {
		return Archive, err
	}
	f, broken := parquet.Open(in, parquet.Limits{Footer: r.o.Limits.OrDefault().Line})
	if broken != nil {
		return Archive, err
	}
	switch names := f.Names(); {
	case isOperators(names) && optrace.HasLaunches(names):
		return LaunchedOperators, nil
	case isOperators(names):
		return OperatorTrace, nil
	case csv.HasStepTimes(names), csv.Nearly(names) && isOfRank(in.Name):
		return WideParquet, nil
	}
	return Archive, err
}

// table hands on the windows of an archive or another table of windows, or what of a stream must be
// read to its end to know.
func (u *unit) table(give func(part) bool) error {
	in, r := u.inputs[0], u.r
	if u.shares != nil {
		return u.sharedTable(give)
	}
	if k := r.kept; k != nil && k.path == in.Path {
		r.kept = nil
		return u.tableOf(k.Reader, give)
	}
	c, err := openColumnar(r.o.Disk, in.Path)
	if piped := r.piped[in]; piped != nil {
		c, err = r.spool(in, piped)
	}
	if err != nil {
		return err
	}
	defer c.file.Close()
	var windows ingest.WindowReader
	switch in.Format {
	case OperatorTrace, LaunchedOperators:
		m, err := metaOf(in.Path)
		if err != nil {
			return err
		}
		t, err := optrace.ReadParquet(c.Input, m, r.o.Limits)
		if err == nil {
			give(operatorsOf(t, in.Path))
		}
		return err
	case WideParquet:
		windows, err = r.parquetTable(c.Input)
	default:
		windows, err = archive.NewReader(c.R, c.Size, c.Name, r.o.Limits)
	}
	if err != nil {
		return err
	}
	return u.tableOf(windows, give)
}

// parquetTable reads the header of a table of windows.
func (r *Reader) parquetTable(in parquet.Input) (ingest.WindowReader, error) {
	src, err := csv.NewParquet(in, nil, r.o.Limits)
	if err != nil {
		return nil, err
	}
	return csv.Open(src, r.tables())
}

// spool copies a Parquet stream to a temporary file, since it is read from its end.
func (r *Reader) spool(in *Input, src *metered) (columnar, error) {
	f, err := os.CreateTemp("", "sfstat-*.parquet")
	if err != nil {
		return columnar{}, err
	}
	c := columnar{parquet.Input{R: f, Name: src.Name()}, temporary{f}}
	if c.Size, err = io.Copy(f, src); err == nil {
		in.Format, err = r.formatOf(c.Input)
	}
	if err == nil && !in.Format.gives(r.o.Kinds) {
		err = input.At(input.Pos{File: c.Name}, in.Format.refusal(r.o.Kinds))
	}
	if err != nil {
		c.file.Close()
	}
	return c, err
}

// temporary is a file that goes when it is closed.
type temporary struct{ f *os.File }

func (t temporary) Close() error { return errors.Join(t.f.Close(), os.Remove(t.f.Name())) }
