package archive_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

// realRuns are the windows of the recorded runs that are shared beside the
// project, by stage list.
func realRuns(t *testing.T) map[string][]*trace.Window {
	dir := largedata.Need(t, "data/ddp")
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded runs in %s", dir)
	}
	runs := make(map[string][]*trace.Window)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		windows, err := ingesttest.ReadAll(packet.NewReader([]packet.Stream{{R: f, Name: path}}, packet.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range windows {
			runs[w.Schema.Hash()] = append(runs[w.Schema.Hash()], w)
		}
	}
	return runs
}

// Real runs survive, at a size that was measured once (3.2 bytes for
// each duration; the entropy of the columns is about 2.75) and should not grow.
func TestRealRuns(t *testing.T) {
	bytes, durations := 0, 0
	for _, windows := range realRuns(t) {
		b := write(t, windows...)
		got, err := readAll(b)
		if d := diff(windows, got); err != nil || d != "" {
			t.Fatalf("%v %.1000s", err, d)
		}
		bytes += len(b)
		for _, w := range windows {
			durations += len(w.Durations) + len(w.Wall)
		}
		t.Logf("%d windows of %d stages: %d bytes", len(windows), len(windows[0].Schema.Stages), len(b))
	}
	per := float64(bytes) / float64(durations)
	t.Logf("%d durations in %d bytes: %.3f each", durations, bytes, per)
	if per > 3.3 {
		t.Errorf("%.3f bytes for a duration, expected less than 3.3", per)
	}
}
