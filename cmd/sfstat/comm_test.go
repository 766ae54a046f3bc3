package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/internal/largedata"
)

// commTruth is the truth of a generated job.
type commTruth struct {
	Ranks []struct {
		Rank      int
		Log       string
		Sqlite    string
		GlobalPid int64 `json:"global_pid"`
	}
	CallFields   []string `json:"call_fields"`
	KernelFields []string `json:"kernel_fields"`
	Calls        map[string][][]any
	Kernels      map[string][][]any
	Expected     map[string]struct {
		LogCalls map[string]int64 `json:"log_calls"`
	}
	Comms []struct {
		ID    string `json:"comm_id"`
		Kind  string
		Ranks []int
	}
}

func readCommTruth(t *testing.T, dir string) (f commTruth) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pairs is the true pairs, as rows of --matches without the last column.
func (f *commTruth) pairs() map[string]bool {
	present, calls := slices.Index(f.KernelFields, "present"), slices.Index(f.KernelFields, "calls")
	lost := slices.Index(f.CallFields, "lost")
	truth := map[string]bool{}
	for _, r := range f.Ranks {
		all := f.Calls[fmt.Sprint(r.Rank)]
		for _, k := range f.Kernels[fmt.Sprint(r.Rank)] {
			if k[present].(float64) != 1 {
				continue
			}
			for _, i := range k[calls].([]any) {
				c := all[int(i.(float64))]
				if line, why := int64(c[0].(float64)), c[lost].(string); line > 0 && (why == "" || why == "orphan") {
					truth[fmt.Sprintf("%s,%d,%s,%d,%d", r.Log, line, r.Sqlite, r.GlobalPid, int64(k[0].(float64)))] = true
				}
			}
		}
	}
	return truth
}

// commRun is what the command says of a folder.
type commRun struct {
	OpCounts      map[string]int64 `json:"op_counts"`
	Findings      []struct{ Kind, Confidence string }
	Communicators []struct {
		ID    string
		Kind  string
		Ranks []int
	}
	rows [][]string // of --matches
}

func runComm(t *testing.T, dir string, args ...string) (r commRun) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pairs.csv")
	code, out, errs := runArgs(t, strings.NewReader(""), append([]string{"comm", "--format", "json", "--matches", file, dir}, args...)...)
	if code != exitDone {
		t.Fatalf("%s: exit code %d: %s", dir, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if r.rows, err = csv.NewReader(in).ReadAll(); err != nil {
		t.Fatal(err)
	}
	r.rows = r.rows[1:]
	return r
}

// On every generated job the command finds the pairs of call and kernel with F1 of 0.99 at least, what it calls
// certain is true, it counts the calls that were written, and communicators have exactly their ranks. Kinds are
// those that the generator had; groups that the enumeration has no name for are unknown. Nothing is wrong in any of them, and nobody is suspected.
func TestCommOnScenarios(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl"), "dev*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	certain, right := 0, 0
	for _, dir := range dirs {
		f := readCommTruth(t, dir)
		name, r, truth := filepath.Base(dir), runComm(t, dir), f.pairs()
		hits := 0
		for _, row := range r.rows {
			hit := truth[strings.Join(row[:5], ",")]
			if hit {
				hits++
			}
			if row[5] == "true" {
				certain++
				if hit {
					right++
				}
			}
		}
		f1 := 2 * float64(hits) / float64(len(truth)+len(r.rows))
		t.Logf("%s: F1 %.4f of %d true pairs", name, f1, len(truth))
		if f1 < 0.99 {
			t.Errorf("%s: F1 %.4f, want 0.99", name, f1)
		}
		if len(r.Findings) > 0 {
			t.Errorf("%s: suspects %v, want none", name, r.Findings)
		}
		f.checkCounts(t, name, &r)
		f.checkCommunicators(t, name, &r)
	}
	t.Logf("certain: %d of %d are true", right, certain)
	if float64(right) < 0.999*float64(certain) || certain == 0 {
		t.Errorf("%d of %d pairs called certain are true, less than 0.999", right, certain)
	}
}

func (f *commTruth) checkCounts(t *testing.T, name string, r *commRun) {
	want := map[string]int64{}
	for _, e := range f.Expected {
		for op, n := range e.LogCalls {
			want[op] += n
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(r.OpCounts) {
		t.Errorf("%s: calls %v, want %v", name, r.OpCounts, want)
	}
}

func (f *commTruth) checkCommunicators(t *testing.T, name string, r *commRun) {
	ranks := map[string]bool{}
	for _, c := range f.Comms {
		ranks[fmt.Sprint(c.Ranks)] = true
	}
	if len(r.Communicators) != len(f.Comms) {
		t.Errorf("%s: %d communicators, want %d", name, len(r.Communicators), len(f.Comms))
	}
	for _, c := range r.Communicators {
		if !ranks[fmt.Sprint(c.Ranks)] {
			t.Errorf("%s: there is no communicator of ranks %v", name, c.Ranks)
		}
	}
	f.checkKinds(t, name, r, func(got, want string) bool { return got == want })
}

// checkKinds compares kinds, by id where the log has ids, else by ranks. Calls of *random* have no structure.
func (f *commTruth) checkKinds(t *testing.T, name string, r *commRun, right func(got, want string) bool) {
	if name == "random" {
		return
	}
	named := map[string]bool{"TP": true, "DP": true, "PP": true, "EP": true}
	kinds := map[string][]string{}
	for _, c := range f.Comms {
		kind := c.Kind
		if !named[kind] { // the default group, of embeddings, of one expert's data
			kind = "unknown"
		}
		kinds[c.ID], kinds[fmt.Sprint(c.Ranks)] = append(kinds[c.ID], kind), append(kinds[fmt.Sprint(c.Ranks)], kind)
	}
	for _, c := range r.Communicators {
		want, ok := kinds[c.ID]
		if !ok {
			want, ok = kinds[fmt.Sprint(c.Ranks)]
		}
		if ok && !slices.ContainsFunc(want, func(w string) bool { return right(c.Kind, w) }) {
			t.Errorf("%s: %s of %v is called %s, want one of %v", name, c.ID, c.Ranks, c.Kind, want)
		}
	}
}

// Logs alone tell no steps: less is known, and none of it is wrong.
func TestCommOnLogsAlone(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/dev"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	claimed := 0
	for _, dir := range dirs {
		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("%s: %v logs, %v", dir, logs, err)
		}
		f, name, r := readCommTruth(t, dir), filepath.Base(dir), runComm(t, logs[0], logs[1:]...)
		f.checkKinds(t, name, &r, func(got, want string) bool { return got == "unknown" || got == want })
		f.checkCounts(t, name, &r)
		for _, c := range r.Communicators {
			if c.Kind != "unknown" {
				claimed++
			}
		}
	}
	if claimed < 60 {
		t.Errorf("%d kinds claimed, want 60 at least", claimed)
	}
}

// An export whose job used no collectives is refused by its name and what to record; beside a log it is one input of
// several.
func TestCommWithoutKernels(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "single.sqlite")
	sums := nsighttest.Export{Host: "node0", Epoch: 1, Processes: []nsighttest.Process{{PID: 7, Name: "python3",
		Work: []nsighttest.Work{{Start: 10, End: 20, Stream: 7, Correlation: 1, Name: "ampere_sgemm_128x64_tn"}}}}}
	if err := nsighttest.Write(path, sums); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runArgs(t, strings.NewReader(""), "comm", path)
	if code != 2 || out != "" || !strings.Contains(errs, "single.sqlite: no kernel of NCCL or RCCL in it: record with nsys profile --trace=cuda,nvtx") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	log := filepath.Join(root, "fixtures", "comm", "run", "nccl.node0.4000.log")
	code, out, errs = runArgs(t, strings.NewReader(""), "comm", path, log)
	if code != 0 || !strings.Contains(out, "33 calls of 1 rank") || !strings.Contains(out, "Refused: 1 input") || !strings.Contains(errs, "no kernel of NCCL") {
		t.Errorf("beside a log: exit code %d, %q\n%s", code, errs, out)
	}
	if code, _, _ = runArgs(t, strings.NewReader(""), "comm", "--strict", path, log); code != 2 {
		t.Errorf("strict: exit code %d", code)
	}
}
