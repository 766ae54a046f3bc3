package input

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
)

// Table hands the cells of every row of a CSV with a header to each, in the order of columns,
// which may stand in any order in it and among others. The cells are good until each returns.
// name is the file in errors, which have the line; those of each get it.
func Table(name string, r io.Reader, columns []string, each func(cells []string) error) error {
	in := csv.NewReader(r)
	in.TrimLeadingSpace, in.ReuseRecord = true, true
	placed := func(err error) error {
		line, _ := in.FieldPos(0)
		return At(Pos{File: name, Line: int64(line)}, err)
	}
	expected := strings.Join(columns, ",")
	header, err := in.Read()
	if err != nil {
		return At(Pos{File: name}, Bad(ErrTruncated, "no header, expected %s: %v", expected, err))
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // spreadsheets begin files so
	at := make([]int, len(columns))
	for i, want := range columns {
		if at[i] = slices.Index(header, want); at[i] < 0 {
			return placed(Bad(ErrMissing, "the header has no column %q, expected %s", want, expected))
		}
	}
	cells := make([]string, len(columns))
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return At(Pos{File: name}, Bad(ErrFormat, "%v", err))
		}
		for i, k := range at {
			cells[i] = record[k]
		}
		if err := each(cells); err != nil {
			return placed(err)
		}
	}
}
