package auto

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

// total is a row of totals in words, which do not depend on how tables are
// numbered.
type total struct {
	Rank  int
	Role  string
	Step  int64
	Stage string
	Name  string
	Row   operator.Total // without its place
}

func totals(t *operator.Totals) map[total]int {
	out := make(map[total]int)
	for _, r := range t.Rows {
		row := r
		row.Rank, row.Step, row.Stage, row.Name = 0, 0, 0, 0
		out[total{t.Ranks[r.Rank].ID, t.Ranks[r.Rank].Role.String(), t.Steps[r.Step], t.Stages[r.Stage], t.Names[r.Name], row}]++
	}
	return out
}

// convert writes operators as a folder would hold them and reads them again.
func convert(t *testing.T, o *operator.Trace, ext string, write func(io.Writer, *operator.Trace) error) recorded.Job {
	t.Helper()
	dir := t.TempDir()
	for name, write := range map[string]func(io.Writer, *operator.Trace) error{"trace-x" + ext: write, "meta-x.yaml": optrace.WriteMeta} {
		var b bytes.Buffer
		if err := write(&b, o); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open([]string{dir}, Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	item, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// TestConverted: the operators of a profile are, written and read again, what
// they were, and come to the same totals by stage and name.
func TestConverted(t *testing.T) {
	for _, folder := range []string{"fixtures/kineto/ddp4", "fixtures/sources/nsight", "data/kineto/gen8", "data/kineto/hta", "data/kineto/tracelens"} {
		t.Run(folder, func(t *testing.T) {
			if strings.HasPrefix(folder, "data") {
				folder = largedata.Need(t, folder)
			} else {
				folder = filepath.Join("..", "..", folder)
			}
			r, err := Open([]string{folder}, Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for ; ; n++ {
				live, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for ext, write := range map[string]func(io.Writer, *operator.Trace) error{".csv": optrace.WriteCSV, ".parquet": optrace.WriteParquet} {
					checkConverted(t, live, convert(t, live.Operators, ext, write))
				}
			}
			if n == 0 {
				t.Error("no operators")
			}
		})
	}
}

func checkConverted(t *testing.T, live, back recorded.Job) {
	t.Helper()
	got, want := *back.Operators, *live.Operators
	got.Units, want.Units = "", ""
	got.Names, want.Names = named(&got), named(&want)
	got.Name, want.Name = nil, nil
	if !slices.Equal(launches(&got), launches(&want)) {
		t.Fatalf("%s: launches are others", want.Run)
	}
	got.Launches, want.Launches, got.Launch, want.Launch = nil, nil, nil, nil
	if !slices.ContainsFunc(want.Declared, func(r trace.Role) bool { return r != nil }) {
		want.Declared, got.Declared = nil, nil
	}
	if d := cmp.Diff(&want, &got); d != "" {
		t.Errorf("%s, -want +got:\n%s", want.Run, d)
	}
	if live.Launched == nil {
		return // no stages are known
	}
	if d := cmp.Diff(totals(live.Launched), totals(back.Launched)); d != "" {
		t.Errorf("%s: totals, -want +got:\n%s", want.Run, d)
	}
}

// named is the name of every row.
func named(o *operator.Trace) []string {
	out := make([]string, o.Len())
	for i, at := range o.Name {
		out[i] = o.Names[at]
	}
	return out
}

func launches(o *operator.Trace) []operator.Launch {
	out := make([]operator.Launch, o.Len())
	for i, at := range o.Launch {
		out[i] = o.Launches[at]
	}
	return out
}

// TestHalves: of a folder with windows and a profiler's operators the half that
// is wanted is read, strictly too; the other is skipped, and no problem.
func TestHalves(t *testing.T) {
	const operators = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,lane,group,launched_by,kernel,collective,bytes\n" +
		"0,0,0,1,a,0,5,0,3,-1,forward,\"void a<int, int>(int)\",,-1\n1,0,1,1,a,0,5,0,3,-1,forward,\"void a<int, int>(int)\",,-1\n"
	dir := folderOf(t, map[string]string{"trace-a.csv": operators, "w.parquet": parquetOf(t, some(2))})
	for kinds, skipped := range map[Kinds]string{Windows | Operators: "none", Windows: "trace-a.csv"} {
		r, _, _, err := items(t, Options{Kinds: kinds, Strict: ingest.FirstError}, dir)
		if err != nil || len(r.Problems()) > 0 {
			t.Fatalf("%v: %v, %v", kinds, err, r.Problems())
		}
		for _, in := range r.Inputs() {
			if (in.Skipped != "") != strings.HasSuffix(in.Path, skipped) {
				t.Errorf("%v: %s is skipped: %q", kinds, in.Path, in.Skipped)
			}
		}
	}
	_, all, _, err := items(t, Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := launches(all[0])[0]; got != (operator.Launch{Stage: "forward", Name: "void a<int, int>(int)", Bytes: -1}) {
		t.Errorf("%+v", got)
	}
	if _, _, _, err := items(t, Options{Kinds: Windows}, filepath.Join(dir, "trace-a.csv")); err == nil {
		t.Error("operators that are named are taken for windows")
	}
}
