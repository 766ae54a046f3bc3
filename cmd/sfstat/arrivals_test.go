package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/internal/largedata"
)

// stagesOf are the stages in which the families of data/fr lose their time.
var stagesOf = map[string]string{"backward": "model.backward_cpu_wall", "backward_first": "model.backward_cpu_wall", "callback_sync": "callbacks.cpu_wall",
	"data_gather": "data.next_wait", "trainer_data": "data.next_wait", "tp2": "model.fwd_loss_cpu_wall", "fsdp_forward": "model.fwd_loss_cpu_wall"}

// lacking is a problem that a verdict states.
type lacking struct {
	Problem string   `json:"problem"`
	Ranks   [][2]int `json:"rank_ranges"`
}

// said is what a verdict says of a run.
type said struct {
	Status   string    `json:"status"`
	Problems []lacking `json:"problems"`
	Findings []struct {
		Rank         *int   `json:"rank"`
		Ranks        []int  `json:"ranks"`
		Stage        string `json:"stage"`
		BelowMinGain bool   `json:"below_min_gain"`
		Confidence   string `json:"confidence"`
		Source       *struct {
			File string `json:"file"`
			Line int    `json:"line"`
		} `json:"source_line"`
	} `json:"findings"`
}

// TestDumpsOfRealJobs: real jobs with known truth, as dumps beside packets and
// as dumps alone. The rank is right in every run with a fault, both of two, the
// missing one in a hang, and nobody in a run without; the stage where packets
// say it.
func TestDumpsOfRealJobs(t *testing.T) {
	root := largedata.Need(t, "data/fr")
	file, err := os.Open(filepath.Join(root, "truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		name, family := row[0], row[1]
		var hidden []int
		for _, r := range strings.Fields(row[3]) {
			n, err := strconv.Atoi(r)
			if err != nil {
				t.Fatal(err)
			}
			hidden = append(hidden, n)
		}
		dumps, _ := filepath.Glob(filepath.Join(root, name, "fr_trace_?"))
		for with, paths := range map[string][]string{"packets": {filepath.Join(root, name)}, "alone": dumps} {
			t.Run(name+"/"+with, func(t *testing.T) {
				code, out, stderr := runArgs(t, nil, append([]string{"diagnose", "--format", "json"}, paths...)...)
				var v said
				if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
					t.Fatal(err, stderr)
				}
				var named []int
				for _, s := range v.Findings {
					if s.Rank == nil || s.BelowMinGain || s.Confidence != "strong" && s.Confidence != "supported" {
						continue
					}
					named = append(named, *s.Rank)
					if want := stagesOf[family]; with == "packets" && s.Stage != want {
						t.Errorf("rank %d in %s, expected %s", *s.Rank, s.Stage, want)
					}
					if s.Source == nil || !strings.Contains(s.Source.File, "train") {
						t.Errorf("from line %+v", s.Source)
					}
					if family == "hang" && (s.Source == nil || s.Source.Line != 66) {
						t.Errorf("last seen at %+v, expected line 66", s.Source)
					}
				}
				slices.Sort(named)
				if !slices.Equal(named, hidden) {
					t.Errorf("named %v, hidden %v", named, hidden)
				}
				want := map[bool]string{true: "straggler", false: "no_straggler"}[len(hidden) > 0]
				if family == "hang" {
					want = "hang"
				}
				if v.Status != want && (len(hidden) > 0 || with == "packets") {
					t.Errorf("status %s, expected %s", v.Status, want)
				}
			})
		}
	}
}

// TestDumpsOnOtherClocks: the same jobs with the clock of every rank off by up to two
// seconds. Who is late may not show any more; then the verdict is no all-clear, and
// nobody else is named.
func TestDumpsOnOtherClocks(t *testing.T) {
	root := largedata.Need(t, "data/fr")
	for name, hidden := range map[string][]int{"backward-r8-s0": {5}, "backward_first-r4-s0": {1}, "callback_sync-r8-s0": {3}, "data_gather-r2-s0": {1},
		"fsdp_forward-r4-s0": {2}, "nofault-r8-s0": nil, "tp2-r8-s0": {4}, "two-r8-s0": {1, 6}} {
		t.Run(name, func(t *testing.T) {
			dumps, _ := filepath.Glob(filepath.Join(root, name, "fr_trace_*.json"))
			if len(dumps) == 0 {
				t.Fatal("no dumps")
			}
			folder := t.TempDir()
			for i, path := range dumps {
				shiftDump(t, path, filepath.Join(folder, filepath.Base(path)), int64(i*i*i%7-3)*600_000_000)
			}
			_, out, stderr := runArgs(t, nil, "diagnose", "--format", "json", folder)
			var v said
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Fatal(err, stderr)
			}
			for _, s := range v.Findings {
				if s.Rank != nil && !slices.Contains(hidden, *s.Rank) {
					t.Errorf("rank %d is named (%s)", *s.Rank, s.Confidence)
				}
			}
			if len(hidden) > 0 && v.Status != "straggler" && v.Status != "undecided" || len(hidden) == 0 && v.Status == "straggler" {
				t.Errorf("status %s", v.Status)
			}
		})
	}
}

// shiftDump copies a dump with all times of its entries later by ns.
func shiftDump(t *testing.T, from, to string, ns int64) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var dump map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&dump); err != nil {
		t.Fatal(err)
	}
	for _, e := range dump["entries"].([]any) {
		e := e.(map[string]any)
		for _, key := range []string{"time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"} {
			if at, err := e[key].(json.Number).Int64(); err == nil && at > 0 {
				e[key] = at + ns
			}
		}
	}
	if text, err = json.Marshal(dump); err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDumpFilesInMidStep: dumps whose files were written within the steps of
// their last calls are no hang.
func TestDumpFilesInMidStep(t *testing.T) {
	dumps, err := filepath.Glob("../../fixtures/flightrecorder/hang/*")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	var j struct {
		Jobs []struct {
			Hang    bool `json:"hang"`
			Blocked []struct {
				Since int64 `json:"since_ns"`
			} `json:"blocked"`
		} `json:"jobs"`
	}
	hang := func(paths ...string) {
		t.Helper()
		_, out, stderr := runArgs(t, nil, append([]string{"hang", "--format", "json"}, paths...)...)
		if err := json.Unmarshal([]byte(out), &j); err != nil {
			t.Fatal(err, stderr)
		}
	}
	hang(dumps...)
	if !j.Jobs[0].Hang {
		t.Fatal("no hang")
	}
	since := time.Unix(0, j.Jobs[0].Blocked[0].Since)
	for after, want := range map[time.Duration]bool{20 * time.Millisecond: false, 10 * time.Minute: true} {
		dir := t.TempDir()
		for _, d := range dumps {
			text, err := os.ReadFile(d)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, filepath.Base(d))
			if err := errors.Join(os.WriteFile(path, text, 0o644), os.Chtimes(path, since.Add(after), since.Add(after))); err != nil {
				t.Fatal(err)
			}
		}
		if hang(dir); j.Jobs[0].Hang != want {
			t.Errorf("written %s after the last call: hang %v", after, j.Jobs[0].Hang)
		}
	}
}
