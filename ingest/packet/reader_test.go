package packet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/input"
)

func TestContract(t *testing.T) {
	windows := ingesttest.Windows(1, 5, ingesttest.Shape{Ranks: 4, Steps: 3, Stages: 2})
	text := joined(linesOf(windows, 3))
	ingesttest.Reader(t, windows, func() (ingest.WindowReader, error) {
		return NewReader([]Stream{{Name: "a.jsonl", R: strings.NewReader(text)}}, Options{}), nil
	})
}

// FuzzReader: no input makes the reader panic; windows are valid, refusals
// have a position, and the way the input is cut into streams does not matter
// for whether it is read.
func FuzzReader(f *testing.F) {
	windows := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})
	lines := linesOf(windows, 1)
	f.Add([]byte(joined(lines)))
	slices.Reverse(lines)
	f.Add([]byte(joined(lines)))
	f.Add([]byte(joined(lines)[:700]))
	for _, data := range largedata.Seeds(f, "data/cases", 64<<10, ".jsonl") {
		f.Add(data)
	}
	f.Add([]byte(full + "\n" + bare + "\r\n\n" + bare))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, streams := range [][]Stream{
			{{Name: "a", R: bytes.NewReader(data)}},
			{{Name: "a", R: bytes.NewReader(data)}, {Name: "b", R: bytes.NewReader(data[len(data)/2:])}},
		} {
			r := NewReader(streams, Options{Limits: ingest.Limits{Line: 1 << 16, Pending: 1 << 16}})
			got, err := ingesttest.ReadAll(r)
			for _, w := range got {
				if err := w.Validate(); err != nil {
					t.Fatalf("invalid window: %v", err)
				}
			}
			for _, s := range r.Summaries() {
				ingesttest.NoBug(t, s.Err)
			}
			var placed *input.Error
			if err != nil && !errors.As(err, &placed) {
				t.Fatalf("error without a position: %v", err)
			}
			if err == nil && len(got) == 0 {
				t.Fatal("no windows and no error")
			}
		}
	})
}

// TestSharedRuns reads recorded runs and compares every packet with what
// encoding/json makes of it.
func TestSharedRuns(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/ddp"), "*.jsonl"))
	if len(paths) == 0 {
		t.Fatal("no runs")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ingesttest.ReadAll(NewReader([]Stream{{Name: path, R: bytes.NewReader(data)}}, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		out := NewWriter(&again)
		packets := 0
		for _, w := range got {
			if len(w.Notes) > 0 || len(w.Missing()) > 0 {
				t.Errorf("%s: notes %v", path, w.Notes)
			}
			if err := out.Write(w); err != nil {
				t.Fatal(err)
			}
			packets += len(w.Ranks)
		}
		input := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		if packets != len(input) {
			t.Errorf("%s: %d packets, want %d", path, packets, len(input))
		}
		for i, line := range bytes.Split(bytes.TrimSpace(again.Bytes()), []byte("\n")) {
			want, err := reference(input[i])
			if err != nil {
				t.Fatal(err)
			}
			have, err := reference(line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, have); diff != "" {
				t.Fatalf("%s:%d (-want +got):\n%s", path, i+1, diff)
			}
		}
	}
}
