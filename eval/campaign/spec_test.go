package campaign

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

// TestSpecsOfTheEvaluation: every specification that comes with the project can
// be planned, and has as many runs as the evaluation has.
func TestSpecsOfTheEvaluation(t *testing.T) {
	runs := map[string]int{"paper": 738, "paper-cluster": 349, "overhead-real": 8, "e3": 50, "e3-default": 50, "detectability": 6 * 9 * 100 * 2, "nofault": 1200, "e3-real": 25, "nofault-real": 5, "e9-real": 33, "arrivals": 130, "latent": 336, "operators": 320, "power": 4*6*40 + 800}
	paths, err := filepath.Glob("specs/*.yaml")
	if err != nil || len(paths) != len(runs) {
		t.Errorf("%d specifications (%v), expected %d", len(paths), err, len(runs))
	}
	for _, path := range paths {
		s := specOf(t, path)
		tasks, err := s.Plan()
		if want := runs[s.Name]; err != nil || len(tasks) != want || s.Name+".yaml" != filepath.Base(path) {
			t.Errorf("%s: campaign %s of %d runs (%v), expected %d", path, s.Name, len(tasks), err, want)
		}
		if real := strings.HasSuffix(s.Name, "-real"); (s.Runner == Local) != real {
			t.Errorf("%s: runner %v", path, s.Runner)
		}
	}
}

const everyKey = `name: a
runner: simulator
groups:
  - name: b
    families: [callback_host, nofault]
    ranks: [8]
    seeds: [7, 0-3]
    delays_ms: [120]
    windows: 3
    steps: 20
    warmup: 0
    program: zero1
    accumulation: 2
    work_ms: {data.next_wait: 32.16, model.fwd_loss_cpu_wall: 121.7}
    events: off
    hidden_ranks: [5, 2]
    every: 10
    probability: 0.5
    fault_windows: [1]
    published: E8
    independent: true
`

func TestEveryKey(t *testing.T) {
	s, err := ParseSpec("a.yaml", []byte(everyKey))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Plan()
	if err != nil || len(tasks) != 10 || tasks[0].Spec.Seed != 7 || tasks[4].Spec.Seed != 3 {
		t.Fatalf("%d runs, %v", len(tasks), err)
	}
	want := simulate.DefaultSpec()
	want.Run, want.Seed, want.Accumulation = "b-callback_host-120ms-r8-s7", 7, 2
	want.Schedule = simulate.Schedule{Windows: 3, Steps: 20}
	want.Side.Every = 0
	for _, rank := range []int{5, 2} {
		want.Faults = append(want.Faults, simulate.Fault{Family: simulate.CallbackHost, Ranks: []int{rank}, Delay: 120, Windows: []int{1}, When: simulate.When{Every: 10, Probability: 0.5}})
	}
	if tasks[0].Published != "E8" {
		t.Errorf("stands for %q", tasks[0].Published)
	}
	want.Stages[0].Work = simulate.Dist{Mean: 32.16, SD: 0.48, Shape: simulate.Normal} // twice 16.08 and 0.24
	want.Stages[1].Work = simulate.Dist{Mean: 121.7, SD: 2, Shape: simulate.Normal}    // twice 60.85 and 1
	want.Stages[1].Device.Mean = 120
	m := want.Stages[2].SyncPoints[0]
	m.Transfer.Mean, m.Transfer.SD = 7.75, 3 // half of 15.5 and 6
	m.LastMicrostep = true
	want.Stages[2].SyncPoints = []simulate.SyncPoint{m}
	if diff := cmp.Diff(want, tasks[0].Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if healthy := tasks[5].Spec; healthy.Faults != nil || healthy.Run != "b-nofault-r8-s7" {
		t.Errorf("the twin of run 0 is %+v", healthy)
	}

	var again bytes.Buffer
	if err := strictyaml.Encode(&again, s); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(again.String(), `seeds:
      - 7
      - 0-3
`) {
		t.Errorf("ranges are not kept:\n%s", again.String())
	}
	read, err := ParseSpec("again.yaml", again.Bytes())
	if err != nil || !reflect.DeepEqual(read, s) {
		t.Errorf("%v, what was written reads as another campaign:\n%s", err, cmp.Diff(s, read))
	}
}

// TestHash: a run has another hash when it is made otherwise, and no other
// when only the tables that count it differ.
func TestHash(t *testing.T) {
	hashOf := func(text string) string {
		t.Helper()
		s, err := ParseSpec("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		return tasks[0].Hash
	}
	hash := func(old, new string) string { return hashOf(strings.Replace(everyKey, old, new, 1)) }
	was := hash("", "")
	for _, change := range [][2]string{{"zero1", "fsdp"}, {"events: off", "events: on"},
		{"every: 10", "every: 9"}, {"32.16", "32"}, {"warmup: 0", "warmup: 1"}, {"[5, 2]", "[5, 3]"}, {"accumulation: 2", "accumulation: 3"}} {
		if hash(change[0], change[1]) == was {
			t.Errorf("%s for %s gives the same hash", change[1], change[0])
		}
	}
	real := strings.NewReplacer("program: zero1", "program: ddp", "probability: 0.5", "probability: 1").Replace(everyKey)
	simulated := hashOf(real)
	for _, runner := range []string{"local", "slurm"} {
		if hashOf(strings.Replace(real, "simulator", runner, 1)) == simulated {
			t.Errorf("runner %s gives the same hash as the simulator", runner)
		}
	}
	if hash("events: off", "tables: [4]\n    events: off") != was {
		t.Error("another hash for another table")
	}
}

func TestSeeds(t *testing.T) {
	for text, want := range map[string]seeds{
		"[]":                     nil,
		"[5]":                    {5},
		"[0-2]":                  {0, 1, 2},
		"[3-3, 1]":               {3, 1},
		"[18446744073709551615]": {18446744073709551615},
		"[18446744073709551614-18446744073709551615]": {18446744073709551614, 18446744073709551615},
	} {
		var got seeds
		if err := yaml.Unmarshal([]byte(text), &got); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v, expected %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"[2-0]", "[-1]", "[1.5]", "[a]", "[0-]", "[0-1-2]", "[0-100000]", "[0-18446744073709551615]", "7"} {
		var got seeds
		if err := yaml.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s gives %d seeds, expected an error", bad, len(got))
		}
	}
}
