package batch

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/internal/flatrow"
)

// TestNotWhole: of a recording that was cut off, or whose checksum is wrong, what could be read
// is judged, and the summary says so. Strict is no output then, and without it the batch goes on
// from its parts.
func TestNotWhole(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "a.jsonl")
	record(t, plain, job("a", 1, 2))
	text := read(t, plain)
	var packed, framed bytes.Buffer
	g := gzip.NewWriter(&packed)
	_, err := g.Write(text)
	must(t, errors.Join(err, g.Close()))
	z, err := zstd.NewWriter(&framed)
	must(t, err)
	_, err = z.Write(text)
	must(t, errors.Join(err, z.Close()))
	wrong := bytes.Clone(packed.Bytes())
	wrong[len(wrong)-6] ^= 0xff // in the checksum
	for _, c := range []struct {
		name, file string
		content    []byte
		says       string
	}{
		{"cut", "b.jsonl", text[:2*len(text)/3-9], "ends in the middle of a packet"},
		{"gzip without its end", "b.jsonl.gz", packed.Bytes()[:packed.Len()-8], "ends in the middle of a packet"},
		{"zstd cut", "b.jsonl.zst", framed.Bytes()[:framed.Len()-4], ""},
		{"wrong checksum", "b.jsonl.gz", wrong, "invalid checksum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.csv")
			record(t, filepath.Join(dir, "whole.jsonl"), job("whole", 2, -1))
			bad := filepath.Join(dir, c.file)
			must(t, os.WriteFile(bad, c.content, 0o666))
			o := Options{Output: Output{Path: out, Format: flatrow.CSV}, Strict: true}
			sum, err := Run(t.Context(), []string{dir}, o)
			if !errors.Is(err, ErrNotWhole) || !strings.HasPrefix(err.Error(), "1 input left out or not whole (--strict)") {
				t.Fatalf("strict: %v", err)
			}
			if len(sum.Refused) != 1 || sum.Refused[0].Path != bad || !strings.Contains(sum.Refused[0].Error, c.says) {
				t.Errorf("refused: %+v", sum.Refused)
			}
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is an output: %v", err)
			}
			o.Strict, o.Resume = false, GoOn
			sum, err = Run(t.Context(), []string{dir}, o)
			must(t, err)
			if len(sum.Refused) != 1 || sum.Windows < 3 || !bytes.Contains(read(t, out), []byte(",whole,")) {
				t.Errorf("%d windows, refused %+v", sum.Windows, sum.Refused)
			}
		})
	}
}
