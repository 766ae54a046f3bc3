package batch

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// Output is where rows go. The zero Output is nowhere: there is a summary only.
type Output struct {
	Path   string // "" and "-" are no file
	Format Format
	Stdout io.Writer // what "-" is
}

// Format is how rows are written.
type Format uint8

const (
	Nowhere Format = iota
	Parquet
	CSV
	JSONLines
)

// FormatOf is the format that the name of a file says.
func FormatOf(path string) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".parquet":
		return Parquet, nil
	case ".csv":
		return CSV, nil
	case ".jsonl", ".ndjson":
		return JSONLines, nil
	}
	return Nowhere, fmt.Errorf("%s: the name says no format: give one that ends in .parquet, .csv or .jsonl", path)
}

func (o *Output) named() bool { return o.Path != "" && o.Path != "-" }

// rowWriter writes rows one at a time.
type rowWriter[T any] interface {
	write(*T) error
	close() error
}

// write gives the output its rows, all of them or none.
func write[T any](o *Output, create func(string) (*atomicfile.File, error), rows func(rowWriter[T]) error) error {
	all := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 256<<10)
		to := writerOf[T](o, b)
		if err := rows(to); err != nil {
			return err
		}
		if err := to.close(); err != nil {
			return err
		}
		return b.Flush()
	}
	switch {
	case o.Format == Nowhere:
		return all(io.Discard)
	case !o.named():
		return all(o.Stdout)
	}
	if create == nil {
		create = atomicfile.Create
	}
	f, err := create(o.Path)
	if err != nil {
		return err
	}
	return f.Fill(all)
}

func writerOf[T any](o *Output, w io.Writer) rowWriter[T] {
	switch o.Format {
	case Parquet:
		return newParquetWriter[T](w)
	case CSV:
		return &csvWriter[T]{w: csv.NewWriter(w)}
	case JSONLines:
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return jsonWriter[T]{e}
	}
	return nowhere[T]{}
}

type nowhere[T any] struct{}

func (nowhere[T]) write(*T) error { return nil }
func (nowhere[T]) close() error   { return nil }

type jsonWriter[T any] struct{ e *json.Encoder }

func (j jsonWriter[T]) write(r *T) error { return j.e.Encode(r) }
func (jsonWriter[T]) close() error       { return nil }

type csvWriter[T any] struct {
	w     *csv.Writer
	begun bool
}

func (c *csvWriter[T]) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	return c.w.Write(flatrow.Columns[T]())
}

func (c *csvWriter[T]) write(r *T) error {
	if err := c.begin(); err != nil {
		return err
	}
	return c.w.Write(flatrow.Cells(r))
}

func (c *csvWriter[T]) close() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// Key and WindowsKey are what marks a Parquet file of findings, and of windows, in its metadata; the values
// change when a column changes its meaning.
const (
	Key           = "sfstat.findings"
	Schema        = "sfstat.findings/2"
	WindowsKey    = "sfstat.windows"
	WindowsSchema = "sfstat.windows/1"
)

// rowsInGroup bounds the memory of a row group.
const rowsInGroup = 1 << 16

type parquetWriter[T any] struct {
	w *parquet.GenericWriter[T]
	n int
}

func newParquetWriter[T any](w io.Writer) *parquetWriter[T] {
	key, schema := Key, Schema
	if _, windows := any(new(T)).(*findings.Window); windows {
		key, schema = WindowsKey, WindowsSchema
	}
	return &parquetWriter[T]{w: parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd),
		parquet.KeyValueMetadata(key, schema), parquet.CreatedBy("sfstat", "", ""))}
}

func (p *parquetWriter[T]) write(r *T) error {
	if _, err := p.w.Write([]T{*r}); err != nil {
		return err
	}
	if p.n++; p.n%rowsInGroup == 0 {
		return p.w.Flush()
	}
	return nil
}

func (p *parquetWriter[T]) close() error { return p.w.Close() }

// partsOf is the output whose parts are kept beside it; of one that is no file,
// one in a folder for what is temporary.
func partsOf(o Output) (base string, clean func(), err error) {
	if o.named() {
		return o.Path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "sfstat-batch-*")
	return filepath.Join(dir, "findings"), func() { _ = os.RemoveAll(dir) }, err
}
