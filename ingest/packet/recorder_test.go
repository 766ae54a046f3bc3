package packet

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// windowJSON is a window of fixtures/recorder/windows.json.
type windowJSON struct {
	Run          string
	Window       int64
	FirstStep    int64 `json:"first_step"`
	WorldSize    int   `json:"world_size"`
	Accumulation int
	Stages       []string
	Ranks        []struct {
		ID        int
		Host      string
		LocalRank int `json:"local_rank"`
		Role      map[string]int
	}
	Durations [][][]int64 `json:"durations_ns"` // [step][stage][rank]
	Wall      [][]int64   `json:"wall_ns"`      // [step][rank]
	Side      map[string][]struct {
		Step  int64
		Rank  int
		Ms    float64
		Ready bool
	}
	GatherFailed []int `json:"gather_failed"`
	Notes        []input.Note
}

func (j windowJSON) window(t *testing.T) *trace.Window {
	t.Helper()
	w := &trace.Window{Run: j.Run, Index: j.Window, FirstStep: j.FirstStep, WorldSize: j.WorldSize, Accumulation: j.Accumulation,
		Schema: trace.Schema{Stages: j.Stages}, Wall: slices.Concat(j.Wall...)}
	for _, step := range j.Durations {
		w.Durations = append(w.Durations, slices.Concat(step...)...)
	}
	for _, r := range j.Ranks {
		var coords []trace.Coord
		for axis, n := range r.Role {
			coords = append(coords, trace.Coord{Axis: axis, Index: n})
		}
		role, err := trace.NewRole(coords...)
		if err != nil {
			t.Fatal(err)
		}
		if len(coords) == 0 {
			role = nil
		}
		w.Ranks = append(w.Ranks, trace.Rank{ID: r.ID, Host: r.Host, LocalRank: r.LocalRank, Role: role})
	}
	for name, samples := range j.Side {
		c := trace.SideChannel{Name: name}
		for _, s := range samples {
			c.Samples = append(c.Samples, trace.Sample{Step: s.Step, Rank: s.Rank, Value: s.Ms, Ready: s.Ready})
		}
		w.Side = append(w.Side, c)
	}
	if len(j.GatherFailed) > 0 {
		w.GatherFailed = j.GatherFailed
	}
	w.Notes = append(w.Notes, j.Notes...)
	return w
}

// TestRecorder reads what the recorder wrote for a scripted job, whose tests
// write the same bytes, and finds the windows that follow from the script.
func TestRecorder(t *testing.T) {
	folder := filepath.Join("..", "..", "fixtures", "recorder")
	text, err := os.ReadFile(filepath.Join(folder, "windows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var windows []windowJSON
	if err := json.Unmarshal(text, &windows); err != nil {
		t.Fatal(err)
	}
	var want []*trace.Window
	for _, j := range windows {
		want = append(want, j.window(t))
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(names) < 4 {
		t.Fatalf("%d files of packets, %v", len(names), err)
	}
	in := make(map[string]string)
	for _, name := range names {
		lines, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		in[filepath.Base(name)] = string(lines)
	}
	r := open(in, Options{})
	got, err := ingesttest.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(got, func(a, b *trace.Window) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Index, b.Index))
	})
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	for _, s := range r.Summaries() {
		if s.Unknown > 0 {
			t.Errorf("%s: %d keys that are not known", s.Name, s.Unknown)
		}
	}
}
