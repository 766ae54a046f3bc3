package batch

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// Gather reads the rows of outputs of earlier batches, in the order given, and
// writes them to one output. A file that cannot be read is in the summary; an
// error is one of the output, or of all files. Of the options, output, create and strict count.
func Gather(paths []string, o Options) (*findings.Summary, error) {
	s := findings.NewSummary()
	var first error
	err := write(&o.Output, findingsMark, o.Create, func(w flatrow.Writer[findings.Row]) error {
		for _, path := range paths {
			err := readFindings(path, func(r *findings.Row) error {
				s.Add(r)
				if err := w.Write(r); err != nil {
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
				s.Refuse(problemOf(path, err))
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
	as, err := flatrow.FormatOf(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch as {
	case flatrow.CSV:
		err = readCSV(f, each)
	case flatrow.JSONLines:
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
	if err != nil || !slices.Equal(head, flatrow.Columns[findings.Row]()) {
		return input.Bad(input.ErrFormat, "these are not the columns of sfstat batch")
	}
	return readCells(c.Read, each)
}

// readCells hands on the rows of a table.
func readCells(next func() ([]string, error), each func(*findings.Row) error) error {
	for n := 1; ; n++ {
		cells, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var row findings.Row
		if err == nil {
			err = flatrow.Set(&row, cells)
		}
		if err == nil && !json.Valid([]byte(row.Stages)) {
			err = fmt.Errorf("%q is no JSON object", row.Stages)
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
	if is, _ := file.Meta(findingsMark.Key); is != findingsMark.Schema {
		return input.Bad(input.ErrFormat, "no findings of sfstat batch (%s): %s is %q", findingsMark.Schema, findingsMark.Key, is)
	}
	for i, name := range flatrow.Columns[findings.Row]() {
		if i >= len(file.Columns()) || file.Columns()[i].Name != name {
			return input.Bad(input.ErrMissing, "column %d is not %q", i+1, name)
		}
	}
	rows, err := file.Text(func(int) bool { return true })
	if err != nil {
		return err
	}
	return readCells(rows.Next, each)
}
