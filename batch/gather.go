package batch

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
)

// Gather reads the rows of outputs of earlier batches, in the order given, and
// writes them to one output. A file that cannot be read is in the summary; an
// error is one of the output, or of all files. Of the options, output, create and strict count.
func Gather(paths []string, o Options) (*findings.Summary, error) {
	o.setDefaults()
	s := findings.NewSummary()
	var first error
	err := write(&o.Output, findingsMark, o.Create, func(w flatrow.Writer[findings.Row]) error {
		for _, path := range paths {
			err := readFindings(disk.Or(o.Disk), path, func(r *findings.Row) error {
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
		return o.requireWhole(s)
	})
	return s, err
}

// outputError is one of the output, while an input is read.
type outputError struct{ error }

// readFindings reads a file of findings in any format.
func readFindings(on disk.Disk, path string, each func(*findings.Row) error) (err error) {
	defer bug.Contain(path, &err)
	as, err := flatrow.FormatOf(path)
	if err != nil {
		return err
	}
	f, err := on.Open(path)
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
	if err != nil {
		return input.Bad(input.ErrFormat, "the header cannot be read: %v", err)
	}
	at, err := places(head)
	if err != nil {
		return err
	}
	return readCells(c.Read, at, each)
}

// shownColumns bounds how many columns of a file an error lists.
const shownColumns = 50

// laterColumns begin the names of columns that tables of earlier versions lack; they are null there.
const laterColumns = "latent_"

// places returns where the columns of a finding are among those of a table, which may have others; −1: it lacks it.
func places(names []string) ([]int, error) {
	expected := flatrow.Columns[findings.Row]()
	at := make([]int, len(expected))
	for i, name := range expected {
		at[i] = slices.Index(names, name)
		if at[i] >= 0 || strings.HasPrefix(name, laterColumns) {
			continue
		}
		var found []string
		for _, name := range names[:min(len(names), shownColumns)] {
			found = append(found, parquet.Printable(name))
		}
		if len(names) > shownColumns {
			found = append(found, "…")
		}
		return nil, input.Bad(input.ErrMissing, "there is no column %q: found %s; expected %s: give a file that sfstat batch wrote", name, strings.Join(found, ", "), strings.Join(expected, ", "))
	}
	return at, nil
}

// readCells hands on the rows of a table whose columns are at these places.
func readCells(next func() ([]string, error), at []int, each func(*findings.Row) error) error {
	own := make([]string, len(at))
	for n := 1; ; n++ {
		cells, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w (%w)", n, err, input.ErrFormat)
		}
		for i, k := range at {
			if own[i] = ""; k >= 0 {
				own[i] = cells[k]
			}
		}
		var row findings.Row
		err = flatrow.Set(&row, own)
		if err == nil && !json.Valid([]byte(row.Stages)) {
			err = fmt.Errorf("column stages is %q, no JSON object", row.Stages)
		}
		if err != nil {
			return input.Bad(input.ErrFormat, "row %d, %v", n, err)
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

func readParquet(f disk.File, path string, each func(*findings.Row) error) error {
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
	at, err := places(file.Names())
	if err != nil {
		return err
	}
	rows, err := file.Text(func(column int) bool { return slices.Contains(at, column) })
	if err != nil {
		return err
	}
	return readCells(rows.Next, at, each)
}
