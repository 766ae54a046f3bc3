package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

const fixtures = "../../fixtures"

// sampled are recordings that together have every form, and to which every change applies in one at least.
var sampled = []string{
	"fixtures/ddp/host-callback-r8-s0.jsonl", "fixtures/tutorial/before", "fixtures/monitoring",
	"fixtures/real/e3/e3-real-data-120ms-r8-s0.parquet", "fixtures/kineto/ddp4", "fixtures/xplane/jax4",
	"fixtures/flightrecorder/hang", "fixtures/flightrecorder/late", "fixtures/sources/nsight", "fixtures/comm/inspector",
	"fixtures/trainlog/data", "fixtures/optrace/trace-slow-worker.csv", "fixtures/pyspy/hang",
	"generated/ranks/backward-arrivals", "generated/loops/data.csv", "generated/archives/two.parquet",
	"generated/operators/trace-slow-edge.parquet", "generated/nccl/late-rank",
}

// TestSample: of a sample of recordings exactly the cells fail that are known to.
func TestSample(t *testing.T) {
	all := recordingsNamed(t, sampled)
	done, err := tryAll(all, changes, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := readKnown()
	if err != nil {
		t.Fatal(err)
	}
	if err := listed.unexpectedCells(done, changes); err != nil {
		t.Error(err)
	}
	applied := map[string]bool{}
	for _, o := range done {
		if o.state == holds || o.state == broken {
			applied[o.change] = true
		}
	}
	for _, c := range changes {
		if !applied[c.name] {
			t.Errorf("%s applies to no recording of the sample", c.name)
		}
	}
	used := map[*form]bool{}
	for _, r := range all {
		for _, f := range filesOf(t, r) {
			used[f.form] = true
		}
	}
	for format, f := range forms {
		if !used[f] && f != toolReport { // reports of other tools are beside nothing here
			t.Errorf("%v is in no recording of the sample", format)
		}
	}
}

// generatedFolder is where the generated jobs lie, which are made once.
var generatedFolder string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "metamorphic")
	if err != nil {
		log.Fatal(err)
	}
	generatedFolder = folder
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// here are all recordings but the shared ones.
var here = sync.OnceValues(func() ([]*recording, error) {
	o, err := parse([]string{"-fixtures", fixtures, "-shared", "nowhere"})
	if err != nil {
		return nil, err
	}
	all, _, err := o.recordings(generatedFolder)
	return all, err
})

func recordingsNamed(t *testing.T, list []string) (out []*recording) {
	t.Helper()
	all, err := here()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		at := slices.IndexFunc(all, func(r *recording) bool { return r.name == name })
		if at < 0 {
			t.Fatalf("no recording %s", name)
		}
		out = append(out, all[at])
	}
	return out
}

func filesOf(t *testing.T, r *recording) []*file {
	t.Helper()
	files, err := r.files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCorpus: every file below the fixtures and the shared data is of a recording, or listed as none.
func TestCorpus(t *testing.T) {
	roots, err := corpora()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range roots {
		t.Run(name, func(t *testing.T) {
			root := fixtures
			if name == "shared" {
				root = largedata.Need(t, "data")
			}
			all, err := c.findRecordings(name, root)
			if err != nil {
				t.Fatal(err)
			}
			if stray, err := c.stray(root, all); err != nil || len(stray) > 0 {
				t.Errorf("%v: %v", stray, err)
			}
			if len(all) < len(c.Recordings) {
				t.Errorf("%d recordings of %d patterns", len(all), len(c.Recordings))
			}
		})
	}
}

// TestWrongPermutation: where ranks are renamed and the verdict is expected to name them as before, the rule breaks.
func TestWrongPermutation(t *testing.T) {
	for _, name := range []string{"fixtures/ddp/e3-data-r8-s0.jsonl", "fixtures/kineto/ddp4", "fixtures/flightrecorder/late",
		"fixtures/optrace/trace-slow-worker.csv", "fixtures/real/e3/e3-real-data-120ms-r8-s0.parquet", "generated/loops/data.csv"} {
		s, err := load(recordingsNamed(t, []string{name})[0])
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.ranksRenamed()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v.names.rank(s.base.culprit()) == s.base.culprit() {
			t.Errorf("%s: the named rank keeps its number", name)
		}
		after, err := verdictOf(v.files, v.read)
		if err != nil {
			t.Fatal(err)
		}
		if alike.broken(s.base, after) == "" {
			t.Errorf("%s: the verdict of other ranks is taken for the same", name)
		}
		if why := alike.broken(s.base.rename(v.names), after); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// readWindows returns the windows of files.
func readWindows(t *testing.T, files []*file) (out []*trace.Window) {
	t.Helper()
	paths, err := write(t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	in, err := auto.Open(paths, auto.Options{Kinds: auto.Windows})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for j, err := range in.Jobs() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, j.Windows...)
	}
	return out
}

// windowed are recordings of windows in each form, with arrivals where the form has them.
var windowed = []string{"generated/packets/backward-arrivals.jsonl", "generated/ranks/backward-arrivals", "generated/tables/backward-arrivals.csv",
	"generated/archives/backward-arrivals.parquet"}

// editedWindows returns the windows of a recording before and after an edit.
func editedWindows(t *testing.T, r *recording, e *editing) (before, after *trace.Window) {
	t.Helper()
	s := &subject{of: r, files: filesOf(t, r)}
	v, err := s.edit(e)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	return readWindows(t, s.files)[0], readWindows(t, v.files)[0]
}

// TestEdits: what each edit makes of windows, seen through the readers, in all forms.
func TestEdits(t *testing.T) {
	for _, r := range recordingsNamed(t, windowed) {
		arrivals := !strings.Contains(r.name, "tables")
		was, is := editedWindows(t, r, &editing{edit: renameRanks, names: names{ranks: map[int]int{0: 7, 7: 0}}})
		for step := range was.Steps() {
			for s := range was.Schema.Stages {
				row, new := was.Step(step)[s*8:][:8], is.Step(step)[s*8:][:8]
				if row[0] != new[7] || row[7] != new[0] || !slices.Equal(row[1:7], new[1:7]) {
					t.Fatalf("%s: step %d: %v after ranks 0 and 7 change: %v", r.name, step, row, new)
				}
			}
		}
		_, is = editedWindows(t, r, &editing{edit: round, ns: millisecond})
		for i, ns := range slices.Concat(is.Durations, is.Wall, is.Epochs) {
			if ns%millisecond != 0 {
				t.Fatalf("%s: time %d is %d ns", r.name, i, ns)
			}
		}
		was, is = editedWindows(t, r, &editing{edit: addStage, sums: true})
		table := slices.Equal(is.Schema.Stages, was.Schema.Stages) // whose reader knows the column for a sum
		if table == arrivals {
			t.Errorf("%s: stages %v, of %v", r.name, is.Schema.Stages, was.Schema.Stages)
		}
		for r := range 8 {
			if table {
				break
			}
			sum := int64(0)
			for s := range was.Schema.Stages {
				sum += was.Step(1)[s*8+r]
			}
			if got := is.Step(1)[len(was.Schema.Stages)*8+r]; got != sum {
				t.Errorf("rank %d: %d, want the sum %d", r, got, sum)
			}
		}
		_, is = editedWindows(t, r, &editing{edit: remove, rank: 3})
		if slices.ContainsFunc(is.Ranks, func(r trace.Rank) bool { return r.ID == 3 }) || !slices.Equal(is.Missing().IDs(), []int{3}) {
			t.Errorf("%s: ranks %v, missing %v", r.name, is.Ranks, is.Missing())
		}
		if !arrivals {
			continue
		}
		was, is = editedWindows(t, r, &editing{edit: shift, rank: 2, ns: apart})
		for k, a := range was.Arrivals {
			for i, call := range a.Calls {
				moved := is.Arrivals[k].Calls[i].Enter - call.Enter
				if want := map[bool]int64{true: apart}[a.Processes[0].Rank == 2]; moved != want {
					t.Fatalf("%s: an entry of rank %d is shifted by %d ns", r.name, a.Processes[0].Rank, moved)
				}
			}
		}
	}
}

// TestRewrite: what is read and written again is read as before, whatever it is in.
func TestRewrite(t *testing.T) {
	for _, r := range recordingsNamed(t, windowed) {
		was, is := editedWindows(t, r, &editing{edit: rewrite})
		if !reflect.DeepEqual(was.Durations, is.Durations) || !reflect.DeepEqual(was.Ranks, is.Ranks) {
			t.Errorf("%s: the windows differ", r.name)
		}
	}
	for _, f := range filesOf(t, recordingsNamed(t, []string{"fixtures/xplane/jax4"})[0]) {
		text, err := f.plain()
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.edit(&editing{edit: rewrite})
		if err != nil || !bytes.Equal(out[0].stored, text) {
			t.Errorf("%s: other bytes: %v", f.name, err)
		}
	}
}

// TestClocks: the clock of one host, or of one process, is shifted in exports and in profiles.
func TestClocks(t *testing.T) {
	began := func(f *file) (out []string) {
		_, err := database(f, func(db *sql.DB) (err error) {
			out, err = texts(db, `SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, f := range filesOf(t, recordingsNamed(t, []string{"fixtures/sources/nsight"})[0]) {
		out, err := f.edit(&editing{edit: shift, host: "node1", ns: apart})
		if err != nil {
			t.Fatal(err)
		}
		was, _ := strconv.ParseInt(began(f)[0], 10, 64)
		is, _ := strconv.ParseInt(began(out[0])[0], 10, 64)
		if want := map[bool]int64{true: apart}[f.name == "node1.sqlite"]; is-was != want {
			t.Errorf("%s: shifted by %d ns, want %d", f.name, is-was, want)
		}
	}
	stamps := func(f *file) (out []int64) {
		_, err := editProfiles(func(at []int, x uint64, _ []byte, _ *editing) (uint64, []byte) {
			if isAt(at, 1, 3, 3) {
				out = append(out, int64(x))
			}
			return keep, nil
		})(f, &editing{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, f := range filesOf(t, recordingsNamed(t, []string{"fixtures/xplane/jax4"})[0]) {
		out, err := f.edit(&editing{edit: shift, rank: 2, ns: apart})
		if err != nil {
			t.Fatal(err)
		}
		was, is := stamps(f), stamps(out[0])
		for i := range was {
			if want := map[bool]int64{true: apart}[strings.HasPrefix(f.name, "rank2")]; is[i]-was[i] != want {
				t.Fatalf("%s: line %d is shifted by %d ns, want %d", f.name, i, is[i]-was[i], want)
			}
		}
		if len(was) == 0 {
			t.Errorf("%s: no line", f.name)
		}
	}
}

// TestUnpickled: a dump as a pickle is what PyTorch writes of it as JSON.
func TestUnpickled(t *testing.T) {
	folder := largedata.Need(t, "data/fr/backward-r8-s0")
	n := 0
	for rank := range 8 {
		path := filepath.Join(folder, fmt.Sprintf("fr_trace_%d", rank))
		entries := func(path string) []map[string]any {
			stored, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := readDump(&file{name: filepath.Base(path), stored: stored, form: dump})
			if err != nil {
				t.Fatal(err)
			}
			return entriesOf(d)
		}
		pickle, text := entries(path), entries(path+".json")
		byID := map[string]map[string]any{}
		for _, e := range text {
			byID[fmt.Sprint(e["record_id"])] = e
		}
		for _, e := range pickle {
			other := byID[fmt.Sprint(e["record_id"])]
			for _, field := range []string{"profiling_name", "time_created_ns", "collective_seq_id", "retired", "output_sizes", "process_group"} {
				if other != nil && fmt.Sprint(e[field]) != fmt.Sprint(other[field]) {
					t.Fatalf("rank %d: %s is %v in the pickle, %v in JSON", rank, field, e[field], other[field])
				}
			}
			if other != nil {
				n++
			}
		}
	}
	if n == 0 {
		t.Error("no entry is in both")
	}
}

// TestRoundDifferences: times are rounded, and not their differences.
func TestRoundDifferences(t *testing.T) {
	list := []int64{10_400, 400, 400, 400} // at 10.4, 10.8, 11.2 and 11.6 µs
	roundDifferences(list, 1000)
	if want := []int64{10_000, 1000, 0, 1000}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

func TestNames(t *testing.T) {
	to := names{ranks: map[int]int{0: 12, 3: 1}, hosts: map[string]string{"node1": "b", "node10": "c", "vm": "d"}}
	for _, c := range []struct {
		name string
		rank int
		want string
	}{
		{"job.rank00000.window000000.trace.json.gz", 0, "job.rank00012.window000000.trace.json.gz"},
		{"dir3/fr_trace_3.json", 3, "dir3/fr_trace_1.json"}, {"_dump_0", 0, "_dump_12"},
		{"worker3_step_12.1694.pt.trace.json", 3, "worker1_step_12.1694.pt.trace.json"},
		{"trace.json", 3, "trace.json"},
	} {
		if got := rankInName(c.name, []int{c.rank}, to); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	const text, want = "node1 node10:4:5 vms vm vm node1.log", "b c:4:5 vms d d b.log"
	if got := hostsIn(text, to); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMicroseconds: decimal microseconds beyond what a float64 holds come and go exactly.
func TestMicroseconds(t *testing.T) {
	for text, want := range map[string]int64{"1694128201545123.456": 1694128201545123456, "12": 12000, "0.5": 500, `"7.25"`: 7250, "3.0004": 3000} {
		ns, ok := nanoseconds(json.RawMessage(text))
		if !ok || ns != want {
			t.Errorf("%s: %d, want %d", text, ns, want)
		}
	}
	if got := string(microseconds(1694128201545123456)); got != "1694128201545123.456" {
		t.Error(got)
	}
	if _, ok := nanoseconds(json.RawMessage(`"x"`)); ok {
		t.Error("a text is read as a time")
	}
}

// TestSplit: the parts of a file hold its lines, and merging them is the file again.
func TestSplit(t *testing.T) {
	r := recordingsNamed(t, []string{"fixtures/ddp/e3-data-r8-s0.jsonl"})[0]
	f := filesOf(t, r)[0]
	parts, err := f.edit(&editing{edit: split})
	if err != nil || len(parts) != 2 {
		t.Fatal(parts, err)
	}
	if !slices.Equal(parts[0].recordedRanks(), []int{0, 1, 2, 3}) || !slices.Equal(parts[1].recordedRanks(), []int{4, 5, 6, 7}) {
		t.Errorf("ranks %v and %v", parts[0].recordedRanks(), parts[1].recordedRanks())
	}
	whole, err := concatenate(parts)
	if err != nil || !bytes.Equal(whole[0].stored, f.stored) {
		t.Errorf("the parts are not the file: %v", err)
	}
}

// TestShuffled: rows are in another order, and the same.
func TestShuffled(t *testing.T) {
	f := filesOf(t, recordingsNamed(t, []string{"generated/loops/data.csv"})[0])[0]
	out, err := f.edit(&editing{edit: reorder, rng: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		t.Fatal(err)
	}
	was, is := linesOf(f.stored), linesOf(out[0].stored)
	if bytes.Equal(f.stored, out[0].stored) || !bytes.Equal(was[0], is[0]) {
		t.Error("the head moved, or nothing did")
	}
	for _, lines := range [][][]byte{was, is} {
		slices.SortFunc(lines, bytes.Compare)
	}
	if !slices.EqualFunc(was, is, bytes.Equal) {
		t.Error("other rows")
	}
}
