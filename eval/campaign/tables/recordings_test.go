package tables

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/input"
)

// TestSourceTableByHand: two runs, one of which the profiler did not see, one
// of unknown truth.
func TestSourceTableByHand(t *testing.T) {
	stages := []string{"data", "backward", "other"}
	shares := func(routing []string) []float64 { // the first has most, what is no candidate little
		out := []float64{0.1, 0.1, 0.1}
		for i, name := range routing {
			out[slices.Index(stages, name)] = 0.5 - 0.1*float64(i)
		}
		return out
	}
	own := func(bytes int64, routing ...string) crosscheck.Account {
		return crosscheck.Account{Name: ownRecorder, Bytes: bytes, Routing: routing, Share: shares(routing)}
	}
	other := func(name string, bytes int64, h crosscheck.Held, routing ...string) crosscheck.Account {
		return crosscheck.Account{Name: name, Bytes: bytes, Routing: routing, Share: shares(routing), Held: &h}
	}
	seeded := &runCase{Ranks: 4, Hidden: []hiddenRank{{0, "data"}}}
	costs := map[string]*costs{"pytorch": {Bytes: map[string]int64{"a": 5_000_000}, Seconds: []float64{2, 1, 4}, Overhead: []float64{0.1, 0.2}}}
	made := tableOfSources(sourcesOf([]comparedRun{
		{"a", seeded, &crosscheck.Comparison{Stages: stages, Accounts: []crosscheck.Account{own(2000, "data", "backward"),
			other("pytorch", 3_000_000, crosscheck.Held{Difference: 0.02, Stage: "data", SameRouting: true}, "backward", "data"),
			other("nsight", 500_000, crosscheck.Held{Difference: 0.01, Stage: "other"}, "backward")}}},
		{"b", nil, &crosscheck.Comparison{Stages: stages, Accounts: []crosscheck.Account{own(1000, "data"),
			other("pytorch", 1_000_000, crosscheck.Held{Difference: 0.03, Stage: "forward", SameRouting: true}, "data")}}},
		{"c", &runCase{}, &crosscheck.Comparison{Stages: stages, Accounts: []crosscheck.Account{own(9), other("pytorch", 9, crosscheck.Held{})}}},
	}, costs))
	want := []string{
		"sfstat recorder|2|1/1|1/1|1/1|2.00|2|–|1.50 kB|1|–|–|–|none|12/12|12/12|12/12|2.00|2|0.11 MB|1|–|within noise|none",
		"pytorch|2|0/1|1/1|1/1|2.00|2|2/2|3.00 MB|2e+03|0.0300|forward|15.0 % (10.0 to 20.0)|2 s|12/12|12/12|12/12|2.25|3|15.81 GB|144000|0.039|36.6 %|43.5 s",
		"nsight|1|0/1|1/1|0/1|1.00|1|0/1|500.00 kB|250|0.0100|other|–|–|12/12|12/12|12/12|2.00|2|1.22 GB|11100|0.024|50.3 %|2.59 s",
	}
	for i, row := range want {
		if got := strings.Join(made.Records()[i], "|"); got != row {
			t.Errorf("row %d is %s, want %s", i, got, row)
		}
	}
	if len(made.Rows) != len(want) {
		t.Errorf("%d rows", len(made.Rows))
	}
}

// TestRecordings: the fixture's recorders, of a run that is not the campaign's
// and whose truth lies beside, and of one that is.
func TestRecordings(t *testing.T) {
	dir := t.TempDir()
	s := &campaign.Spec{Name: "c", Groups: []campaign.Group{{Name: "a", Families: []simulate.Family{simulate.Data}, Ranks: []int{4}, Seeds: []uint64{0},
		Delays: []simulate.Millis{120}, Steps: 10}}}
	execute(t, dir, s)
	run := filepath.Join(dir, campaign.SourcesName, "slow-forward")
	if err := os.CopyFS(run, os.DirFS("../../../fixtures/sources")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(run, "make")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, campaign.SourcesName, campaign.TruthName), func(w io.Writer) error {
		return simulate.WriteTruth(w, []simulate.TruthRow{{Run: "slow-forward", Family: simulate.ForwardHost, Ranks: 4, HiddenRank: 2, Stage: simulate.StageForward, Delay: 40}})
	})
	artifacts, err := tablesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	if artifacts[0].Name != "table-6" {
		t.Fatalf("the first table is %s", artifacts[0].Name)
	}
	rows := artifacts[0].Table.Records()
	for i, want := range []string{"sfstat recorder|1|0/1|1/1|1/1", "kineto|1|0/1|1/1|1/1", "nsight|1|0/1|1/1|1/1"} {
		if got := strings.Join(rows[i][:5], "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if in := artifacts[0].Inputs; len(in) != 1+4+2 || in[0].Input != "sources/slow-forward/packets.jsonl" || len(in[0].InputHash) != 64 {
		t.Errorf("made of %+v", in)
	}
}

// TestRecordingsRefused: what cannot be compared says where it lies.
func TestRecordingsRefused(t *testing.T) {
	s := &campaign.Spec{Name: "c", Groups: []campaign.Group{{Name: "a", Families: []simulate.Family{simulate.NoFault}, Ranks: []int{2}, Seeds: []uint64{0}, Steps: 5}}}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a file for a run", map[string]string{"x": ""}, "x: expected a folder for the run"},
		{"nothing to compare with", map[string]string{"other/pytorch/t.json": "{}"}, "no packets.jsonl and no folder packets"},
		{"nobody else", map[string]string{"a-nofault-r2-s0/.keep": ""}, "nothing of another recorder"},
		{"an empty folder", map[string]string{"a-nofault-r2-s0/pytorch/.keep": ""}, "pytorch: "},
		{"no trace", map[string]string{"a-nofault-r2-s0/pytorch.json": "{"}, "pytorch.json"},
		{"costs that are none", map[string]string{"costs.csv": "run,source\n"}, "costs.csv"},
		{"a cost that is no number", map[string]string{"costs.csv": "run,source,artifact_bytes,post_processing_s,no_fault_overhead\nx,hta,1,two,\n"}, "costs.csv:2: "},
		{"two of a name", map[string]string{"a-nofault-r2-s0/p.json": "{", "a-nofault-r2-s0/p.csv": ""}, "another recording is called p"},
		{"a truth that is none", map[string]string{"truth.csv": "a,b\n"}, "truth.csv"},
		{"other steps", map[string]string{"a-nofault-r2-s0/p.csv": "step,rank,a\n900,0,1\n900,1,2\n"}, "no step is in all sources"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			execute(t, dir, s)
			for name, text := range c.files {
				path := filepath.Join(dir, campaign.SourcesName, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var placed *input.Error
			if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.want)
			} else if !errors.As(err, &placed) && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%v has no place", err)
			}
		})
	}
}

func write(t *testing.T, path string, to func(io.Writer) error) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := to(f); err != nil {
		t.Fatal(err)
	}
}
