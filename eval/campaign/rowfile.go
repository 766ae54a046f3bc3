package campaign

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Rows is what is noted of a run. The zero value notes its name alone.
type Rows struct {
	Head []string // the columns, the first of which is the run
	// Of makes the rows of one run from what it hides; windows gives each of its windows to a function.
	Of func(truth []simulate.TruthRow, windows func(func(*trace.Window) error) error) ([][]string, error)
}

// head is the header of a file of rows: behind their columns stands where they come from.
func (r *Rows) head() []string {
	own := r.Head
	if own == nil {
		own = []string{"run"}
	}
	return slices.Concat(own, []string{"group", "spec_sha256", "made_by", "input", "input_sha256"})
}

func (p *Provenance) cells() []string {
	return []string{p.Group, p.SpecHash, p.Version, p.Input, p.InputHash}
}

// runRows are the rows of one run, as they lie in its file.
type runRows struct {
	from    Provenance
	records [][]string
}

// rowsOf makes the rows of a run from its archive.
func (f *Folder) rowsOf(t *Task) ([][]string, error) {
	if f.rows.Of == nil {
		return [][]string{{t.ID}}, nil
	}
	truth, err := truthOf([]Task{*t})
	if err != nil {
		return nil, err
	}
	return f.rows.Of(truth, func(keep func(*trace.Window) error) error {
		return KeepWindows(context.Background(), f.Archive(t), keep)
	})
}

// readRows reads the rows of a run that this version of the format wrote.
func (f *Folder) readRows(t *Task) (*runRows, error) {
	path, head := f.Row(t), f.rows.head()
	records, err := ReadTable(path, head)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no rows: remove it"))
	}
	run, c := records[0][0], records[0][len(head)-5:]
	return &runRows{Provenance{run, c[0], c[1], c[2], c[3], c[4]}, records}, nil
}

func (f *Folder) writeRows(w io.Writer, rows [][]string, p Provenance) error {
	records := [][]string{f.rows.head()}
	for _, row := range rows {
		records = append(records, slices.Concat(row, p.cells()))
	}
	return csv.NewWriter(w).WriteAll(records)
}

// disjoin removes the table of all rows, which are about to be others.
func (f *Folder) disjoin() error {
	err := os.Remove(filepath.Join(f.Path, rowsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// join writes the rows of all runs into one table.
func (f *Folder) join(e *Execution) error {
	return e.write(filepath.Join(f.Path, rowsName), func(w io.Writer) error {
		out := csv.NewWriter(w)
		if err := out.Write(f.rows.head()); err != nil {
			return err
		}
		for i := range f.Tasks {
			rows, err := f.readRows(&f.Tasks[i])
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
