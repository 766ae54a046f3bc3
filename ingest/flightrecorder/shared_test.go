package flightrecorder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

func read(t testing.TB, path string) *comms.Record {
	t.Helper()
	src, err := ingest.Open(path, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := new(Reader).Read(src, src.Name())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Pickle and JSON of one dump are the same record, but for the frames, which
// JSON lacks.
func TestRealDumps(t *testing.T) {
	root := largedata.Need(t, "data/fr")
	pickles, _ := filepath.Glob(filepath.Join(root, "*", "fr_trace_?"))
	if len(pickles) == 0 {
		t.Fatal("no dumps")
	}
	for _, path := range pickles {
		p, j := read(t, path), read(t, path+".json")
		without := cmpopts.IgnoreFields(comms.Record{}, "Stacks", "Sources")
		stack := cmpopts.IgnoreFields(comms.Call{}, "Stack")
		if diff := cmp.Diff(p, j, without, stack, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: pickle and JSON differ:\n%s", path, diff)
		}
		if len(p.Calls) == 0 || len(p.Stacks) == 0 || p.Processes[0].Rank < 0 {
			t.Errorf("%s: %d calls, %d stacks, rank %d", path, len(p.Calls), len(p.Stacks), p.Processes[0].Rank)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	root := largedata.Path(b, "data/fr")
	for _, name := range []string{"tp2-r8-s0/fr_trace_0", "fsdp_forward-r4-s0/fr_trace_0", "tp2-r8-s0/fr_trace_0.json"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("file="+name, func(b *testing.B) {
			var r Reader
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read(bytes.NewReader(data), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
