package batch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
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
		err = write(&o, findingsMark, atomicfile.Create, func(to flatrow.Writer[findings.Row]) error {
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
		err := readFindings(disk.OS{}, path, func(*findings.Row) error { return nil }) // an error is an answer
		if b := bug.PanicOf(err); b != nil {
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

// TestColumns: columns of findings are found by their names, in any order and among others; one that is missing is named.
func TestColumns(t *testing.T) {
	kind := "rank"
	want := findings.Row{Folder: "f", Run: "r", Steps: 7, Stages: `{"x":1}`, Kind: &kind}
	columns, cells := flatrow.Columns[findings.Row](), flatrow.Cells(&want)
	table := func(rows ...[]string) []byte {
		var b bytes.Buffer
		_ = csv.NewWriter(&b).WriteAll(rows)
		return b.Bytes()
	}
	with := func(column, text string) []string {
		out := slices.Clone(cells)
		out[slices.Index(columns, column)] = text
		return out
	}
	reversed := func(list []string) []string {
		out := slices.Clone(list)
		slices.Reverse(out)
		return out
	}
	// packed is the row with the fields of the type, as far as it has them.
	packed := func(fields ...reflect.StructField) []byte {
		v := reflect.New(reflect.StructOf(fields)).Elem()
		for i, f := range fields {
			if from := reflect.ValueOf(want).FieldByName(f.Name); from.IsValid() {
				v.Field(i).Set(from)
			}
		}
		var b bytes.Buffer
		w := parquet.NewWriter(&b, parquet.SchemaOf(v.Interface()), parquet.KeyValueMetadata(findingsMark.Key, findingsMark.Schema))
		if err := errors.Join(w.Write(v.Interface()), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	fields := reflect.VisibleFields(reflect.TypeFor[findings.Row]())
	backward := slices.Clone(fields)
	slices.Reverse(backward)
	note := reflect.StructField{Name: "Note", Type: reflect.TypeFor[string](), Tag: `parquet:"note"`}
	for _, c := range []struct {
		name, file string
		text       []byte
		err        string // a pattern, "" for none
	}{
		{"as written", "a.csv", table(columns, cells), ""},
		{"one more", "a.csv", table(append(slices.Clip(columns), "note"), append(slices.Clip(cells), "x")), ""},
		{"another order", "a.csv", table(reversed(columns), reversed(cells)), ""},
		{"one less", "a.csv", table(columns[1:], cells[1:]), `there is no column "folder": found file, run, .*; expected folder, file, `},
		{"no number", "a.csv", table(columns, cells, with("steps", "many")), `row 2, column steps is "many": `},
		{"no object", "a.csv", table(columns, with("stages", "x")), `row 1, column stages is "x", no JSON object`},
		{"as written", "a.parquet", packed(fields...), ""},
		{"one more", "a.parquet", packed(append(slices.Clip(fields), note)...), ""},
		{"one more before", "a.parquet", packed(append([]reflect.StructField{note}, fields...)...), ""},
		{"another order", "a.parquet", packed(backward...), ""},
		{"one less", "a.parquet", packed(fields[1:]...), `there is no column "folder": found file, run, .*; expected folder, file, `},
	} {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.text, 0o666); err != nil {
				t.Fatal(err)
			}
			var got []findings.Row
			err := readFindings(disk.OS{}, path, func(r *findings.Row) error { got = append(got, *r); return nil })
			if c.err != "" {
				if err == nil || !regexp.MustCompile(c.err).MatchString(err.Error()) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff([]findings.Row{want}, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}
