package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign/communication"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

// arrange makes a recording of every scenario.
func arrange(from, to string) error {
	names, err := filepath.Glob(filepath.Join(from, "*", truthName))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no folder with a %s", from, truthName)
	}
	for _, name := range names {
		dir := filepath.Dir(name)
		if err := arrangeOne(dir, filepath.Join(to, communication.Folder, filepath.Base(dir))); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%d recordings in %s\n", len(names), filepath.Join(to, communication.Folder))
	return nil
}

func arrangeOne(from, to string) error {
	f, err := readTruth(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, pattern := range []string{"*.log", "*.sqlite"} {
		names, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := link(name, filepath.Join(to, filepath.Base(name))); err != nil {
				return err
			}
		}
	}
	if err := atomicfile.WriteFile(filepath.Join(to, "truth.csv"), f.writePairs); err != nil {
		return err
	}
	m, err := f.model()
	if errors.Is(err, errNoModel) {
		return nil
	}
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(to, "model.yaml"), func(w io.Writer) error { return strictyaml.Encode(w, m) })
}

// link makes a link, in the place of one that is there.
func link(from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(from, to)
}

// writePairs writes the true pairs of which both sides were recorded.
func (f *truthFile) writePairs(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(communication.TruthHead); err != nil {
		return err
	}
	present, calls, lost := slices.Index(f.KernelFields, "present"), slices.Index(f.KernelFields, "calls"), slices.Index(f.CallFields, "lost")
	if present < 0 || calls < 0 || lost < 0 {
		return fmt.Errorf("columns %v and %v, expected present, calls and lost", f.KernelFields, f.CallFields)
	}
	for _, r := range f.Ranks {
		for _, k := range f.Kernels[strconv.Itoa(r.Rank)] {
			if k[present].(float64) != 1 {
				continue
			}
			for _, i := range k[calls].([]any) {
				call := f.Calls[strconv.Itoa(r.Rank)][int(i.(float64))]
				line, why := int64(call[0].(float64)), call[lost].(string)
				if line == 0 || why != "" && why != orphaned {
					continue
				}
				row := []string{r.Log, strconv.FormatInt(line, 10), r.Sqlite, strconv.FormatInt(r.GlobalPid, 10), strconv.FormatInt(int64(k[0].(float64)), 10)}
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
