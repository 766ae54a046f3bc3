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
type rowWriter interface {
	write(*findings.Row) error
	close() error
}

// write gives the output its rows, all of them or none.
func (o *Output) write(create func(string) (*atomicfile.File, error), rows func(rowWriter) error) error {
	all := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 256<<10)
		to := o.writer(b)
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

func (o *Output) writer(w io.Writer) rowWriter {
	switch o.Format {
	case Parquet:
		return newParquetWriter(w)
	case CSV:
		return &csvWriter{w: csv.NewWriter(w)}
	case JSONLines:
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return jsonWriter{e}
	}
	return nowhere{}
}

type nowhere struct{}

func (nowhere) write(*findings.Row) error { return nil }
func (nowhere) close() error              { return nil }

type jsonWriter struct{ e *json.Encoder }

func (j jsonWriter) write(r *findings.Row) error { return j.e.Encode(r) }
func (jsonWriter) close() error                  { return nil }

type csvWriter struct {
	w     *csv.Writer
	begun bool
}

func (c *csvWriter) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	return c.w.Write(findings.Columns())
}

func (c *csvWriter) write(r *findings.Row) error {
	if err := c.begin(); err != nil {
		return err
	}
	return c.w.Write(r.Cells())
}

func (c *csvWriter) close() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// Key is what marks a Parquet file of findings in its metadata; Schema is its
// value, which changes when a column changes its meaning.
const (
	Key    = "sfstat.findings"
	Schema = "sfstat.findings/1"
)

// rowsInGroup bounds the memory of a row group.
const rowsInGroup = 1 << 16

type parquetWriter struct {
	w *parquet.GenericWriter[findings.Row]
	n int
}

func newParquetWriter(w io.Writer) *parquetWriter {
	return &parquetWriter{w: parquet.NewGenericWriter[findings.Row](w, parquet.Compression(&parquet.Zstd),
		parquet.KeyValueMetadata(Key, Schema), parquet.CreatedBy("sfstat", "", ""))}
}

func (p *parquetWriter) write(r *findings.Row) error {
	if _, err := p.w.Write([]findings.Row{*r}); err != nil {
		return err
	}
	if p.n++; p.n%rowsInGroup == 0 {
		return p.w.Flush()
	}
	return nil
}

func (p *parquetWriter) close() error { return p.w.Close() }

// partsOf is the output whose parts are kept beside it; of one that is no file,
// one in a folder for what is temporary.
func partsOf(o Output) (base string, clean func(), err error) {
	if o.named() {
		return o.Path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "sfstat-batch-*")
	return filepath.Join(dir, "findings"), func() { _ = os.RemoveAll(dir) }, err
}
