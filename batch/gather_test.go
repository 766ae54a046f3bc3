package batch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
)

// FuzzReadFindings: whatever a file of findings holds, reading it ends in rows or
// in an error.
func FuzzReadFindings(f *testing.F) {
	names := []string{"a.parquet", "a.csv", "a.jsonl"}
	place, kind := int64(1), "rank"
	for i, name := range names {
		path := filepath.Join(f.TempDir(), name)
		as, err := FormatOf(path)
		if err != nil {
			f.Fatal(err)
		}
		o := Output{Path: path, Format: as}
		err = o.write(nil, func(to rowWriter) error {
			return to.write(&findings.Row{Run: "r", Stages: `{"x":1}`, Place: &place, Kind: &kind})
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
		_ = readFindings(path, func(*findings.Row) error { return nil }) // an error is an answer
	})
}
