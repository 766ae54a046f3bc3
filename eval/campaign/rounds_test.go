package campaign

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const armsSpec = `name: cost
runner: local
groups:
  - {name: e1, families: [nofault], ranks: [8], seeds: [0-5], windows: 3, steps: 20, recorder: ["off", wall, events], published: E1}
`

func TestArmsRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"simulated", "local", "simulator", "a simulated job has no recorder"},
		{"off alone", `["off", wall, events]`, `["off"]`, "expected off and some of wall, events, sample"},
		{"without off", `["off", wall, events]`, `[wall, events]`, "expected off and some"},
		{"twice", `["off", wall, events]`, `["off", wall, wall]`, "each once"},
		{"profiler", `published: E1`, `profiler: pytorch`, "would count as cost"},
		{"no arm", `wall`, `walls`, "expected one of off, wall, events, sample"},
		{"no device times", `published: E1`, `events: "off"`, "arm events needs device times"},
		{"no window but the warm-up", `windows: 3`, `windows: 1`, "windows is 1, expected 2 or more"},
		{"default windows", `windows: 3, `, ``, "windows is 1, expected 2 or more"},
		{"sample elsewhere", "local\n", "slurm\n", ""},
		{"realtime without arms", `recorder: ["off", wall, events]`, `realtime: true`, "realtime is for groups with recorder"},
	} {
		_, err := ParseSpec("cost.yaml", []byte(strings.Replace(armsSpec, c.old, c.new, 1)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	cluster := strings.Replace(armsSpec, "runner: local", "runner: slurm", 1)
	for key, want := range map[string]string{"published: E1, realtime: true": "realtime is for runner local", "published: E1": "arm sample is for runner local"} {
		text := strings.Replace(strings.Replace(cluster, "published: E1", key, 1), "events]", "sample]", 1)
		if strings.HasSuffix(key, "true") {
			text = strings.Replace(text, "sample]", "events]", 1)
		}
		if _, err := ParseSpec("cost.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s on a cluster: %v, expected %q", key, err, want)
		}
	}
}

// TestArmsPlanned: arms and priority are of the run and of its hash.
func TestArmsPlanned(t *testing.T) {
	plan := func(old, new string) Task {
		t.Helper()
		s, err := ParseSpec("cost.yaml", []byte(strings.Replace(armsSpec, old, new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		return tasks[0]
	}
	all := plan("", "")
	if !slices.Equal(all.Arms, []Arm{Off, Wall, Events}) || !all.HasArms() || all.Realtime || all.PacketFolder("out") != filepath.Join("out", "wall") {
		t.Errorf("%+v, expected arms off, wall, events, and those of wall to stand for the run", all)
	}
	seen := map[string]string{all.Hash: "as it is"}
	for _, change := range [][2]string{{`, recorder: ["off", wall, events]`, ""}, {`, events]`, "]"}, {`published: E1`, "realtime: true"}} {
		other := plan(change[0], change[1])
		if was, twice := seen[other.Hash]; twice {
			t.Errorf("%s for %s has the hash of %s", change[1], change[0], was)
		}
		seen[other.Hash] = change[1]
	}
	if alone := plan(`, recorder: ["off", wall, events]`, ""); alone.HasArms() || alone.PacketFolder("out") != "out" {
		t.Errorf("without arms: %+v", alone)
	}
}

// TestGates: the text's, §6.4.
func TestGates(t *testing.T) {
	for name, want := range map[string]float64{"off": 0, "wall": 0.03, "events": 0.01, "sample": 0.03} {
		if a, err := ParseArm(name); err != nil || Gate(a) != want {
			t.Errorf("arm %s: gate %v, %v, expected %v", name, Gate(a), err, want)
		}
	}
}

const roundsText = `pair,arm,base_ns,with_ns,round,base_place,with_place,base_thread_cpu_ns,with_thread_cpu_ns,base_process_cpu_ns,with_process_cpu_ns,base_others_ns,with_others_ns,base_steal_ns,with_steal_ns,base_throttled_ns,with_throttled_ns,closing_ns,writing_ns,stage_call_ns
e1-r4-s0,wall,200000000,200400000,1,2,0,5000000,5100000,9000000,9300000,30000,40000,0,1000,,,1500,20000,600
e1-r4-s0,sample,200000000,200500000,1,2,1,5000000,5200000,9000000,9400000,,,,,7,8,1600,21000,600
`

func TestReadRounds(t *testing.T) {
	rounds, err := ReadRounds("r.csv", strings.NewReader(roundsText))
	if err != nil || len(rounds) != 2 {
		t.Fatalf("%+v, %v", rounds, err)
	}
	want := Round{Run: "e1-r4-s0", Number: 1, Arm: Wall, Closing: 1500, Writing: 20000, StageCall: 600,
		Base: Chunk{Place: 2, Wall: 200000000, Thread: 5000000, Process: 9000000, Others: 30000, Throttled: math.NaN()},
		With: Chunk{Place: 0, Wall: 200400000, Thread: 5100000, Process: 9300000, Others: 40000, Steal: 1000, Throttled: math.NaN()}}
	got := rounds[0]
	if !math.IsNaN(got.Base.Throttled) || !math.IsNaN(got.With.Throttled) || !math.IsNaN(rounds[1].Base.Others) || rounds[1].With.Throttled != 8 {
		t.Errorf("%+v, expected empty cells to be NaN", rounds)
	}
	got.Base.Throttled, got.With.Throttled, want.Base.Throttled, want.With.Throttled = 0, 0, 0, 0
	if got != want {
		t.Errorf("%+v, expected %+v", got, want)
	}
	var again bytes.Buffer
	if err := WriteRounds(&again, rounds); err != nil || again.String() != roundsText {
		t.Errorf("%v, written again:\n%s", err, &again)
	}
}

func TestReadRoundsRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"pair,arm", "pair,what", `r.csv:1: the header has no column "arm"`},
		{"e1-r4-s0,wall", ",wall", "r.csv:2: column pair is empty"},
		{",wall,", ",off,", `r.csv:2: column arm is "off", expected one of wall, events, sample`},
		{",sample,", ",on,", `r.csv:3: column arm is "on"`},
		{"200400000", "0", `r.csv:2: column with_ns is "0", expected more than 0`},
		{"200400000", "", `r.csv:2: column with_ns is "", expected nanoseconds`},
		{",5100000,", ",5.1 ms,", `column with_thread_cpu_ns is "5.1 ms", expected nanoseconds`},
		{",40000,", ",NaN,", `column with_others_ns is "NaN"`},
		{",1,2,0,", ",1,2,-1,", `column with_place is "-1", expected a whole number from 0`},
	} {
		if _, err := ReadRounds("r.csv", strings.NewReader(strings.Replace(roundsText, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, expected %q", c.new, c.old, err, c.want)
		}
	}
	if _, err := ReadRounds("r.csv", strings.NewReader(strings.SplitAfter(roundsText, "\n")[0])); err == nil || !strings.Contains(err.Error(), "no rounds") {
		t.Errorf("a header alone: %v", err)
	}
}

// TestRoundsOfARun: what a job left is kept if it can be read, and belongs to the arms of the run.
func TestRoundsOfARun(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	task := Task{ID: "e1-r4-s0", Arms: []Arm{Off, Wall, Sample}}
	if err := task.KeepRounds(dir, out); err == nil || !strings.Contains(err.Error(), "rounds.csv") {
		t.Errorf("a job that left nothing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(out, "rounds.csv"), []byte("pair\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := task.KeepRounds(dir, out); err == nil || !strings.Contains(err.Error(), "rounds that cannot be read") {
		t.Errorf("a job that left something else: %v", err)
	}
	if err := os.WriteFile(filepath.Join(out, "rounds.csv"), []byte(roundsText), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := task.KeepRounds(dir, out); err != nil {
		t.Fatal(err)
	}
	if rounds, err := task.Rounds(nil, dir); err != nil || len(rounds) != 2 {
		t.Errorf("%d rounds, %v, expected 2", len(rounds), err)
	}
	task.Arms = []Arm{Off, Wall}
	if _, err := task.Rounds(nil, dir); err == nil || !strings.Contains(err.Error(), "arm sample, expected some of [off wall]") {
		t.Errorf("an arm of another run: %v", err)
	}
}
