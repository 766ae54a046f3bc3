package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace"
)

// save writes a trace and its meta file as the reader finds them.
func save(t *testing.T, o *trace.OpTrace, ext string) string {
	t.Helper()
	dir := t.TempDir()
	write := map[string]func(*bytes.Buffer) error{
		"meta-x.yaml": func(b *bytes.Buffer) error { return WriteMeta(b, o) },
		"trace-x.csv": func(b *bytes.Buffer) error { return WriteCSV(b, o) },
	}
	if ext == "parquet" {
		delete(write, "trace-x.csv")
		write["trace-x.parquet"] = func(b *bytes.Buffer) error { return WriteParquet(b, o) }
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
					s.Clock = Clock{SkewSD: 1, DriftPPM: 5, Running: running}
					want := simulate(t, s)
					got, err := optrace.Open(save(t, want, ext), ingest.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(trace.OpTrace{}, "Units", "Names", "Name", "Group", "Rank", "Step", "Lane", "Seq",
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

// TestForeignParquet: a reader that is not ours sees the same columns, and no
// row is lost between batches.
func TestForeignParquet(t *testing.T) {
	s := busy(layout(64, 4, 16))
	want := simulate(t, s)
	var b bytes.Buffer
	if err := WriteParquet(&b, want); err != nil {
		t.Fatal(err)
	}
	type row struct { // not the writer's: a column of another name or type is a fault
		DP          int32  `parquet:"dp_rank"`
		Stage       int32  `parquet:"stage"`
		Rank        int32  `parquet:"rank"`
		Step        int64  `parquet:"step"`
		Name        string `parquet:"optype"`
		Start       int64  `parquet:"start_ts"`
		Dur         int64  `parquet:"duration"`
		Seq         int32  `parquet:"seq_id"`
		Chunk       int32  `parquet:"mc"`
		Microbatch  int32  `parquet:"mb_id"`
		GlobalChunk int32  `parquet:"gmc"`
	}
	got, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != want.Len() {
		t.Fatalf("%d rows, want %d", len(got), want.Len())
	}
	if len(got) < 2*batchRows || len(got)%batchRows == 0 {
		t.Fatalf("%d rows have no last batch that is not full", len(got))
	}
	for i, r := range got {
		rank := want.Rank[i]
		if w := (row{rank % 64, rank / 64, rank, want.Steps[want.Step[i]], want.Names[want.Name[i]], want.Start[i], want.Dur[i],
			want.Seq[i], want.Chunk[i], want.Microbatch[i], want.GlobalChunk[i]}); r != w {
			t.Fatalf("row %d is %+v, want %+v", i, r, w)
		}
	}
	if size := float64(b.Len()) / float64(len(got)); size > 12 {
		t.Errorf("%.1f bytes a row", size)
	}
}

// TestCSVLines: the columns of the public artifact, in its order.
func TestCSVLines(t *testing.T) {
	s := quiet(layout(2, 2, 1))
	s.Steps.First = 40
	var b strings.Builder
	if err := WriteCSV(&b, simulate(t, s)); err != nil {
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

func TestWriteRefuses(t *testing.T) {
	o := simulate(t, quiet(layout(2, 1, 1)))
	o.Ranks[1].Role = nil
	named := simulate(t, quiet(layout(2, 1, 1)))
	named.Names[0] = "a,b"
	for _, test := range []struct {
		o    *trace.OpTrace
		want error
	}{{o, trace.ErrMissing}, {named, trace.ErrFormat}, {&trace.OpTrace{}, trace.ErrEmpty}} {
		if err := WriteCSV(&bytes.Buffer{}, test.o); !errors.Is(err, test.want) {
			t.Errorf("CSV: %v, want %v", err, test.want)
		}
		if err := WriteParquet(&bytes.Buffer{}, test.o); test.o != named && !errors.Is(err, test.want) {
			t.Errorf("Parquet: %v, want %v", err, test.want)
		}
	}
}

// TestFullDisk: an output that ends anywhere is an error.
func TestFullDisk(t *testing.T) {
	o := simulate(t, quiet(layout(2, 1, 1)))
	full := errors.New("the disk is full")
	for name, write := range map[string]func(io.Writer, *trace.OpTrace) error{"csv": WriteCSV, "parquet": WriteParquet, "meta": WriteMeta} {
		var whole bytes.Buffer
		if err := write(&whole, o); err != nil {
			t.Fatal(err)
		}
		for room := 0; room < whole.Len(); room += 13 {
			if err := write(&bounded{room, full}, o); !errors.Is(err, full) {
				t.Fatalf("%s with room for %d of %d bytes: %v", name, room, whole.Len(), err)
			}
		}
	}
}

// bounded is an output with room for so many bytes.
type bounded struct {
	room int
	err  error
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.room)
	if b.room -= n; n < len(p) {
		return n, b.err
	}
	return n, nil
}
