package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk/disktest"
	"github.com/sfstat/sfstat/trace/input"
)

func specOf(t *testing.T, path string) *Spec {
	t.Helper()
	s, err := readSpec(nil, filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func small(t *testing.T) *Spec { return specOf(t, "../../fixtures/campaign/small.yaml") }

func execute(t *testing.T, dir string, s *Spec, e Execution) Outcome {
	t.Helper()
	o, err := Execute(t.Context(), dir, s, e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files are the names in a folder, hidden ones included.
func files(t *testing.T, path ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPlan(t *testing.T) {
	tasks, err := specOf(t, "specs/e3.yaml").Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != 5*2*5 { // families, sizes, seeds
		t.Fatalf("%d runs, expected 50", len(tasks))
	}
	first, last := tasks[0], tasks[49]
	if first.ID != "e3-r8-data-120ms-r8-s0" || last.ID != "e3-r32-forward_host-120ms-r32-s4" {
		t.Errorf("from %s to %s", first.ID, last.ID)
	}
	if f := last.Spec.Faults; last.Spec.Ranks != 32 || last.Spec.Seed != 4 || len(f) != 1 || f[0].Family != simulate.ForwardHost || f[0].Delay != 120 {
		t.Errorf("the last run is %+v", last.Spec)
	}
	hashes := make(map[string]bool)
	for _, task := range tasks {
		hashes[task.Hash] = true
	}
	if len(hashes) != 50 {
		t.Errorf("%d hashes for 50 specifications", len(hashes))
	}
}

func TestSpecRefused(t *testing.T) {
	const group = "name: a\ngroups:\n  - "
	for _, c := range []struct{ text, want string }{
		{"", "no campaign in it"},
		{"name: a\n", "no groups"},
		{"name: A/b\n", `name is "A/b"`},
		{"name: a\nrunner: cloud\n", `runner is "cloud", expected one of simulator, local, slurm`},
		{"name: a\nrunners: simulator\n", "c.yaml:2: there is no runners here"},
		{"name: a\n---\nname: b\n", "more than one YAML document"},
		{group + "{name: b, ranks: [8], seeds: [0]}", "group b has no families"},
		{group + "{name: b, families: [data], ranks: [8], seeds: [0]}", "group b has no delays_ms"},
		{group + "{name: b, families: [date], ranks: [8], seeds: [0]}", `fault family is "date"`},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0, 0]}", "run b-nofault-r8-s0 stands twice"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], tables: [8]}", "for table 8, expected some of 4, 5, 6, 9, 12, 13, 14, 15"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], every: 10}", "has no family with one"},
		{group + "{name: b, families: [data], delays_ms: [9], ranks: [8], seeds: [0], fault_windows: [1]}", "window 1 of 1"},
		{group + "{name: b, families: [data], delays_ms: [9], ranks: [8], seeds: [0], hidden_ranks: [8]}", "hidden ranks [8] in a world of 8"},
		{group + "{name: b, families: [data], delays_ms: [9], ranks: [8], seeds: [0], probability: 2}", "probability is 2"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], events: maybe}", `events is "maybe", expected one of on, off`},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], program: gan}", `program is "gan", expected one of ddp, fsdp, zero1`},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], work_ms: {data: 5}}", `work_ms of stage "data", which the job does not have: expected some of data.next_wait`},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], work_ms: {data.next_wait: 0}}", "expected above 0"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], steps: -1}", "schedule of 1 windows × -1 steps"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [0], warm_up: 1}", "c.yaml:3: there is no warm_up here"},
		{group + "{name: b, families: [nofault], ranks: [8], seeds: [2-1]}", `line 3: seed is "2-1"`},
		{group + "{name: b, families: [nofault], ranks: [-8], seeds: [0]}", "run b-nofault-r-8-s0: "},
	} {
		_, err := ParseSpec("c.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "c.yaml") {
			t.Errorf("%q: %v, expected c.yaml and %q", c.text, err, c.want)
		}
	}
}

func TestMostTasks(t *testing.T) {
	g := Group{Name: "b", Families: []simulate.Family{simulate.NoFault}, Ranks: []int{8}, Seeds: make([]uint64, mostTasks+1)}
	if _, err := (&Spec{Name: "a", Groups: []Group{g}}).Plan(); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("%v, expected %v", err, input.ErrTooLarge)
	}
}

// TestExecuteIsTakenUp stops an execution wherever it begins an output, and
// has another finish it: the end is that of an execution that nobody stopped.
func TestExecuteIsTakenUp(t *testing.T) {
	s, whole := small(t), t.TempDir()
	if o := execute(t, whole, s, Execution{Version: "1"}); !cmp.Equal(o, Outcome{Made: 7}) {
		t.Fatalf("%+v, expected 7 runs made", o)
	}
	want := contents(t, whole)
	stopped := errors.New("stopped")
	for after := 0; after < 2+2*7; after++ { // specification and truth, 7 archives with rows
		dir, begun := t.TempDir(), 0
		_, err := Execute(t.Context(), dir, s, Execution{Version: "1", Workers: 1, Create: func(path string) (*atomicfile.File, error) {
			if begun++; begun > after {
				return nil, stopped
			}
			return atomicfile.Create(path)
		}})
		if !errors.Is(err, stopped) {
			t.Fatalf("after %d outputs: %v", after, err)
		}
		done := max(0, after-2) / 2
		if o := execute(t, dir, s, Execution{Version: "1"}); !cmp.Equal(o, Outcome{Made: 7 - done, Stood: done}) {
			t.Errorf("after %d outputs: %+v, expected %d to stand", after, o, done)
		}
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Errorf("after %d outputs: %s", after, diff)
		}
		for _, name := range append(files(t, dir, runsName), files(t, dir, rowFolder)...) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("after %d outputs %s is left", after, name)
			}
		}
	}
}

func TestExecuteNoticesWhatChanged(t *testing.T) {
	s, dir := small(t), t.TempDir()
	check := func(what, version string, want Outcome) {
		t.Helper()
		if got := execute(t, dir, s, Execution{Version: version}); !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, expected %+v", what, got, want)
		}
	}
	check("nothing there", "1", Outcome{Made: 7})
	check("the same", "1", Outcome{Stood: 7})
	check("another version", "2", Outcome{Made: 7, Changed: 7})

	s.Groups[0].Steps = 41
	check("steps of the first group", "2", Outcome{Made: 6, Changed: 6, Stood: 1})
	s.Groups[0].Seeds = append(s.Groups[0].Seeds, 2)
	check("a seed more for three families", "2", Outcome{Made: 3, Stood: 7})

	archive := filepath.Join(dir, "runs", "e3-data-120ms-r8-s0.parquet")
	if err := os.WriteFile(archive, []byte("PAR1"), 0o666); err != nil {
		t.Fatal(err)
	}
	check("a damaged archive", "2", Outcome{Made: 1, Changed: 1, Stood: 9})
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	check("an archive removed", "2", Outcome{Made: 1, Changed: 1, Stood: 9})
	if err := os.WriteFile(filepath.Join(dir, "rows", "e0-nofault-r8-s0.csv"), []byte("run\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check("a damaged row", "2", Outcome{Made: 1, Changed: 1, Stood: 9})

	s.Name = "another"
	if _, err := Execute(t.Context(), dir, s, Execution{}); err == nil || !strings.Contains(err.Error(), "the folder holds campaign small, expected another") {
		t.Errorf("another campaign in the same folder: %v", err)
	}
}

func TestProgress(t *testing.T) {
	var seen [][2]int
	s := small(t)
	s.Groups = s.Groups[1:]
	s.Groups[0].Seeds = []uint64{0, 1}
	execute(t, t.TempDir(), s, Execution{Progress: func(done, total int) { seen = append(seen, [2]int{done, total}) }})
	seen = slices.DeleteFunc(slices.Compact(seen), func(told [2]int) bool { return told[0] == 0 }) // where a second passed
	if len(seen) != 2 || seen[0] != [2]int{1, 2} || seen[1] != [2]int{2, 2} {
		t.Errorf("told %v, expected 1 and 2 of 2", seen)
	}
}

// TestHoldsOnFailingDisk: a folder that cannot be looked at is not taken for one without a campaign.
func TestHoldsOnFailingDisk(t *testing.T) {
	dir := t.TempDir()
	if holds, err := HasSpecification(nil, dir); holds || err != nil {
		t.Errorf("an empty folder: %v, %v", holds, err)
	}
	if _, err := HasSpecification(disktest.New(1, syscall.EIO), dir); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails: %v", err)
	}
}
