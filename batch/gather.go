package batch

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// Gather reads the rows of outputs of earlier batches, in the order given, and
// writes them to one output. A file that cannot be read is in the summary; an
// error is one of the output, or of all files. Of the options, output, create and strict count.
func Gather(paths []string, o Options) (*findings.Summary, error) {
	s := findings.NewSummary()
	var first error
	err := write(&o.Output, o.Create, func(w rowWriter[findings.Row]) error {
		for _, path := range paths {
			err := readFindings(path, func(r *findings.Row) error {
				s.Add(r)
				if err := w.write(r); err != nil {
					return outputError{err}
				}
				return nil
			})
			var out outputError
			if errors.As(err, &out) {
				return out.error
			}
			if err != nil {
				first = err
				s.Refuse(findings.Refused(problemOf(path, err)))
			}
		}
		if s.Empty() && first != nil {
			return ErrNothing
		}
		return o.whole(s)
	})
	return s, err
}

// outputError is one of the output, while an input is read.
type outputError struct{ error }

// readFindings reads a file of findings in any format.
func readFindings(path string, each func(*findings.Row) error) (err error) {
	defer bug.Contain(path, &err)
	as, err := FormatOf(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch as {
	case CSV:
		err = readCSV(f, each)
	case JSONLines:
		err = readJSON(f, each)
	default:
		err = readParquet(f, path, each)
	}
	return input.At(input.Pos{File: path}, err)
}

func readJSON(r io.Reader, each func(*findings.Row) error) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	for n := 1; ; n++ {
		var row findings.Row
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return input.Bad(input.ErrFormat, "row %d is no finding of sfstat batch: %v", n, err)
		}
		if err := each(&row); err != nil {
			return err
		}
	}
}

func readCSV(r io.Reader, each func(*findings.Row) error) error {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil || !slices.Equal(head, findings.Columns()) {
		return input.Bad(input.ErrFormat, "these are not the columns of sfstat batch")
	}
	for n := 1; ; n++ {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var row findings.Row
		for i, text := range record {
			if err == nil {
				err = row.SetCell(i, text)
			}
		}
		if err != nil {
			return input.Bad(input.ErrFormat, "row %d: %v", n, err)
		}
		if err := each(&row); err != nil {
			return err
		}
	}
}

// Bounds on what is read of a file of findings.
const (
	maxFooter = 64 << 20
	maxWindow = 64 << 20
)

func readParquet(f *os.File, path string, each func(*findings.Row) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.Open(parquet.Input{R: f, Size: info.Size(), Name: path}, parquet.Limits{Footer: maxFooter, Window: maxWindow})
	if err != nil {
		return err
	}
	if is, _ := file.Meta(Key); is != Schema {
		return input.Bad(input.ErrFormat, "no findings of sfstat batch (%s): %s is %q", Schema, Key, is)
	}
	columns := make([]*column, len(findings.Columns()))
	for i, name := range findings.Columns() {
		at := slices.IndexFunc(file.Columns(), func(l parquet.Leaf) bool { return l.Name == name })
		if at < 0 {
			return input.Bad(input.ErrMissing, "there is no column %q", name)
		}
		c, err := file.Cursor(at)
		if err != nil {
			return err
		}
		columns[i] = &column{cursor: c, is: file.Columns()[at].Type}
	}
	for n := range file.Rows() {
		var row findings.Row
		for i, c := range columns {
			text, err := c.next()
			if err == nil {
				err = row.SetCell(i, text)
			}
			if err != nil {
				return fmt.Errorf("row %d, column %s: %w", n+1, findings.Columns()[i], err)
			}
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	return nil
}

// column reads the values of a column one by one, as text.
type column struct {
	cursor *parquet.Cursor
	is     parquet.Type
	rows   parquet.Values
	at     int
}

// atOnce is how many rows are taken from a cursor, whose values are copied: they
// are valid until the next call on any cursor of the file.
const atOnce = 1024

func (c *column) next() (string, error) {
	if c.at == len(c.rows.Bits) {
		c.cursor.Forget()
		run, err := c.cursor.Next(atOnce)
		if err != nil {
			return "", err
		}
		c.rows.Bits, c.rows.Null, c.at = c.rows.Bits[:0], c.rows.Null[:0], 0
		c.rows.Append(run)
	}
	x, null := c.rows.Bits[c.at], c.rows.Null != nil && c.rows.Null[c.at]
	c.at++
	if null {
		return "", nil
	}
	switch c.is {
	case parquet.TypeBytes:
		return strings.Clone(c.cursor.Strings()[x]), nil
	case parquet.TypeDouble:
		return strconv.FormatFloat(math.Float64frombits(uint64(x)), 'g', -1, 64), nil
	case parquet.TypeBoolean:
		return strconv.FormatBool(x != 0), nil
	}
	return strconv.FormatInt(x, 10), nil
}
