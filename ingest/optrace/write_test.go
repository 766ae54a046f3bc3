package optrace_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

func simulated(t *testing.T, s pipeline.Spec) *operator.Trace {
	t.Helper()
	o, _, err := pipeline.Make(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tiny is two workers with a microbatch each.
func tiny() pipeline.Spec {
	s := pipeline.DefaultSpec()
	s.Layout.DP, s.Layout.PP, s.Layout.Microbatches, s.Steps.Count = 2, 1, 1, 1
	return s
}

// TestForeignParquet: a reader that is not ours sees the same columns, and no
// row is lost between batches.
func TestForeignParquet(t *testing.T) {
	s := pipeline.DefaultSpec()
	s.Layout.DP, s.Layout.Microbatches, s.Steps.Count = 64, 16, 1
	want := simulated(t, s)
	var b bytes.Buffer
	if err := optrace.WriteParquet(&b, want); err != nil {
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
	if len(got) < 2<<10 || len(got)%(1<<10) == 0 {
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

func TestWriteRefuses(t *testing.T) {
	o := simulated(t, tiny())
	o.Ranks[1].Role = nil
	for _, test := range []struct {
		o    *operator.Trace
		want error
	}{{o, input.ErrMissing}, {&operator.Trace{}, input.ErrEmpty}} {
		if err := optrace.WriteCSV(&bytes.Buffer{}, test.o); !errors.Is(err, test.want) {
			t.Errorf("CSV: %v, want %v", err, test.want)
		}
		if err := optrace.WriteParquet(&bytes.Buffer{}, test.o); !errors.Is(err, test.want) {
			t.Errorf("Parquet: %v, want %v", err, test.want)
		}
	}
}

// TestFullDisk: an output that ends anywhere is an error.
func TestFullDisk(t *testing.T) {
	o := simulated(t, tiny())
	full := errors.New("the disk is full")
	for name, write := range map[string]func(io.Writer, *operator.Trace) error{"csv": optrace.WriteCSV, "parquet": optrace.WriteParquet, "meta": optrace.WriteMeta} {
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

// TestConvertedMeta: a trace that was converted keeps how fine its times are,
// and only a meta file of its name and layout fits it.
func TestConvertedMeta(t *testing.T) {
	o := simulated(t, tiny())
	o.Run, o.Resolution = "x", 3815
	var b bytes.Buffer
	if err := optrace.WriteMeta(&b, o); err != nil {
		t.Fatal(err)
	}
	m, err := optrace.ReadMeta(bytes.NewReader(b.Bytes()), "meta.yaml")
	if err != nil || !m.Fits(o) {
		t.Fatalf("%v, %+v of %s", err, m, b.String())
	}
	var rows bytes.Buffer
	if err := optrace.WriteCSV(&rows, o); err != nil {
		t.Fatal(err)
	}
	got, err := optrace.ReadCSV(&rows, "trace.csv", m, ingest.Limits{})
	if err != nil || got.Resolution != 3815 || !strings.HasSuffix(got.Units, ", from a source good to 3815 ns") {
		t.Errorf("%v: resolution %d, %s", err, got.Resolution, got.Units)
	}
	for name, change := range map[string]func(*optrace.Meta){
		"name": func(m *optrace.Meta) { m.Trial = "y" }, "dp": func(m *optrace.Meta) { m.DP++ }, "pp": func(m *optrace.Meta) { m.PP++ },
		"tp": func(m *optrace.Meta) { m.TP = 1 }, "dsp": func(m *optrace.Meta) { m.DSP = 2 }, "vpp": func(m *optrace.Meta) { m.VPP = 2 },
	} {
		other := *m
		if change(&other); other.Fits(o) {
			t.Errorf("another %s fits", name)
		}
	}
	less := *m
	if less.DP, less.PP, less.VPP, less.World = 0, 0, 0, 0; !less.Fits(o) {
		t.Error("sizes that the columns tell are left out, and it does not fit")
	}
	if _, err := optrace.ReadMeta(strings.NewReader("resolution_ns: -1\n"), "meta.yaml"); !errors.Is(err, input.ErrNegative) {
		t.Errorf("a negative resolution: %v", err)
	}
}
