package batch

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// Output is where rows go. The zero Output is nowhere: there is a summary only.
type Output struct {
	Path   string // "" and "-" are no file
	Format flatrow.Format
	Stdout io.Writer // what "-" is
}

// hasPath reports whether the output is a file, not standard output.
func (o *Output) hasPath() bool { return o.Path != "" && o.Path != "-" }

// The values of these change when a column changes its meaning.
var (
	findingsMark = flatrow.Mark{Key: "sfstat.findings", Schema: "sfstat.findings/2"}
	windowsMark  = flatrow.Mark{Key: "sfstat.windows", Schema: "sfstat.windows/1"}
)

// write gives the output its rows, all of them or none.
func write[T any](o *Output, mark flatrow.Mark, create func(string) (*atomicfile.File, error), rows func(flatrow.Writer[T]) error) error {
	all := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 256<<10)
		to := flatrow.NewWriter[T](b, o.Format, mark)
		if err := rows(to); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
		return b.Flush()
	}
	switch {
	case o.Format == flatrow.Nowhere:
		return all(io.Discard)
	case !o.hasPath():
		return all(o.Stdout)
	}
	f, err := create(o.Path)
	if err != nil {
		return err
	}
	return f.Fill(all)
}

// partsOf returns an output whose parts are kept beside it; where the output is no file, in a temporary folder.
func partsOf(o Output) (base string, clean func(), err error) {
	if o.hasPath() {
		return o.Path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "sfstat-batch-*")
	return filepath.Join(dir, "findings"), func() { _ = os.RemoveAll(dir) }, err
}
