package pipeline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/operator"
)

// save writes a trace and its meta file as the reader finds them.
func save(t *testing.T, o *operator.Trace, ext string) string {
	t.Helper()
	dir := t.TempDir()
	write := map[string]func(*bytes.Buffer) error{
		"meta-x.yaml": func(b *bytes.Buffer) error { return optrace.WriteMeta(b, o) },
		"trace-x.csv": func(b *bytes.Buffer) error { return optrace.WriteCSV(b, o) },
	}
	if ext == "parquet" {
		delete(write, "trace-x.csv")
		write["trace-x.parquet"] = func(b *bytes.Buffer) error { return optrace.WriteParquet(b, o) }
	}
	for name, fn := range write {
		var b bytes.Buffer
		if err := fn(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "trace-x."+ext)
}

// TestReadsBack: what is written is read as it was, but for the numbers of
// groups and the words about units.
func TestReadsBack(t *testing.T) {
	for name, l := range layouts() {
		for _, running := range []bool{false, true} {
			for _, ext := range []string{"csv", "parquet"} {
				t.Run(fmt.Sprintf("%s/running=%v/%s", name, running, ext), func(t *testing.T) {
					s := busy(l)
					s.Run = `a "run": of # 1`
					s.Steps.Count = 3
					s.Clock = Clock{simulate.Clock{SkewSD: 1, DriftPPM: 5}, running}
					want := simulated(t, s)
					got, err := optrace.Open(save(t, want, ext), ingest.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(operator.Trace{}, "Units", "Names", "Name", "Group", "Rank", "Step", "Lane", "Seq",
						"Start", "Dur", "Chunk", "GlobalChunk", "Microbatch")); diff != "" {
						t.Fatalf("(-written +read):\n%s", diff)
					}
					if len(want.Name) != len(got.Name) {
						t.Fatalf("%d rows are read as %d", len(want.Name), len(got.Name))
					}
					for i := range want.Name {
						if a, b := want.Names[want.Name[i]], got.Names[got.Name[i]]; a != b {
							t.Fatalf("row %d is %s, read as %s", i, a, b)
						}
					}
					if !samePartition(want.Group, got.Group) {
						t.Error("groups are read differently")
					}
					got.Names, got.Name, got.Group = want.Names, want.Name, want.Group
					if column := differ(want, got); column != "" {
						t.Errorf("the %s are read differently", column)
					}
				})
			}
		}
	}
}

// TestCSVLines: the columns of the public artifact, in its order.
func TestCSVLines(t *testing.T) {
	s := quiet(layout(2, 2, 1))
	s.Steps.First = 40
	var b strings.Builder
	if err := optrace.WriteCSV(&b, simulated(t, s)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := []string{
		"dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc",
		"0,0,0,40,backward-recv,0,48000000,0,-1,-1,-1",
		"0,0,0,40,params-all-gather,0,6000000,0,0,-1,-1",
		"0,0,0,40,forward-compute,6000000,10000000,0,0,0,0",
	}
	if diff := cmp.Diff(want, lines[:4]); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
	if last, want := lines[len(lines)-2], "1,1,3,40,optimizer,85000000,5000000,0,-1,-1,-1"; last != want {
		t.Errorf("last line %q, want %q", last, want)
	}
}
