package batch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/trace/input"
)

// FuzzReadFindings: whatever a file of findings holds, reading it ends in rows or
// in an error.
func FuzzReadFindings(f *testing.F) {
	names := []string{"a.parquet", "a.csv", "a.jsonl"}
	place, kind := int64(1), "rank"
	for i, name := range names {
		path := filepath.Join(f.TempDir(), name)
		as, err := flatrow.FormatOf(path)
		if err != nil {
			f.Fatal(err)
		}
		o := Output{Path: path, Format: as}
		err = write(&o, findingsMark, nil, func(to flatrow.Writer[findings.Row]) error {
			return to.Write(&findings.Row{Run: "r", Stages: `{"x":1}`, Place: &place, Kind: &kind})
		})
		if err != nil {
			f.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, as uint8, text []byte) {
		path := filepath.Join(t.TempDir(), names[int(as)%len(names)])
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		err := readFindings(path, func(*findings.Row) error { return nil }) // an error is an answer
		if b := bug.In(err); b != nil {
			t.Errorf("%v\n%s", b, b.Stack)
		}
	})
}

// TestReason: what is wrong with a file is said without its name, which stands before it.
func TestReason(t *testing.T) {
	bad := errors.New("a page is damaged")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"file", &input.Error{Pos: input.Pos{File: "a.csv"}, Err: bad}, "a page is damaged"},
		{"line", &input.Error{Pos: input.Pos{File: "a.csv", Line: 3}, Err: bad}, "line 3: a page is damaged"},
		{"inside", &input.Error{Pos: input.Pos{File: "a.csv", Inside: "row group 0"}, Err: bad}, "row group 0: a page is damaged"},
		{"byte", &input.Error{Pos: input.Pos{File: "a.csv", Offset: 7}, Err: bad}, "byte 7: a page is damaged"},
		{"another file", &input.Error{Pos: input.Pos{File: "a.csv.gz"}, Err: bad}, "a.csv.gz: a page is damaged"},
		{"no file", bad, "a page is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := reason("a.csv", c.err); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
