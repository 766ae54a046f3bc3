package campaign

import (
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/trace/input"
)

// runRows are the rows of one run, as they lie in its file.
type runRows struct {
	from    Provenance
	records [][]string
}

// readRows reads a file of rows that this version of the format wrote.
func readRows(path string) (*runRows, error) {
	head := rowHead()
	records, err := readTable(path, head)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no rows: remove it"))
	}
	run, c := records[0][0], records[0][len(head)-5:]
	return &runRows{Provenance{run, c[0], c[1], c[2], c[3], c[4]}, records}, nil
}

func writeRows(w io.Writer, s *Score, p Provenance) error {
	t := s.WindowTable()
	out := csv.NewWriter(w)
	records := [][]string{rowHead()}
	for _, row := range t.Rows {
		records = append(records, slices.Concat(row, p.cells()))
	}
	return out.WriteAll(records)
}

// disjoin removes the table of all rows, which are about to be others.
func (f *folder) disjoin() error {
	err := os.Remove(filepath.Join(f.path, rowsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// join writes the rows of all runs into one table.
func (f *folder) join(e *Execution) error {
	return e.write(filepath.Join(f.path, rowsName), func(w io.Writer) error {
		out := csv.NewWriter(w)
		if err := out.Write(rowHead()); err != nil {
			return err
		}
		for i := range f.tasks {
			rows, err := readRows(f.row(&f.tasks[i]))
			if err != nil {
				return err
			}
			if err := out.WriteAll(rows.records); err != nil {
				return err
			}
		}
		return nil
	})
}
