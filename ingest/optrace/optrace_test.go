package optrace_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/fixtures/optrace/pipesim"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

const fixtures = "../../fixtures/optrace"

var spec = pipesim.Spec{DP: 2, PP: 3, Microbatches: 4, Steps: 3, Noise: 0.03, Seed: 7, FirstStep: 20, Every: 5, Slow: 1.5, SlowDP: 1, SlowPP: 1}

// joined is a simulated trace as a reader gives it.
func joined(t *testing.T, s pipesim.Spec) *operator.Trace {
	t.Helper()
	o := pipesim.Make(s)
	g, err := o.Grid()
	if err != nil {
		t.Fatal(err)
	}
	w, err := o.Wire(g)
	if err != nil {
		t.Fatal(err)
	}
	o.Join(g, w)
	return o
}

// same compares all but what tells how times were written.
func same(t *testing.T, got, want *operator.Trace) {
	t.Helper()
	g, w := *got, *want
	g.Units, g.Resolution, g.Run, w.Units, w.Resolution, w.Run = "", 0, "", "", 0, ""
	if d := cmp.Diff(&w, &g); d != "" {
		t.Error(d)
	}
}

func TestFixtures(t *testing.T) {
	csv, err := optrace.Open(filepath.Join(fixtures, "trace-slow-worker.csv"), ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, csv, joined(t, spec))
	if csv.Run != "slow-worker" || csv.Units != "seconds (decimal fractions, good to 1 ns)" || csv.Resolution != 1 || !csv.StepClock {
		t.Errorf("run %q, units %q, resolution %d", csv.Run, csv.Units, csv.Resolution)
	}
	table, err := optrace.Open(filepath.Join(fixtures, "trace-heavy-stage.parquet"), ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, table, joined(t, pipesim.Spec{DP: 2, PP: 3, Microbatches: 4, Steps: 3, Noise: 0.03, Seed: 8, EarlyReduce: true, Work: []float64{1, 1, 1.4}}))
	if table.Run != "heavy-stage" || table.Units != "nanoseconds (INT64, good to 1 ns)" {
		t.Errorf("run %q, units %q", table.Run, table.Units)
	}
}

// The public traces: rows, layout and units as their files say.
func TestPublicTraces(t *testing.T) {
	dir := largedata.Need(t, "data/optrace")
	for _, c := range []struct {
		name      string
		rows      int
		steps     int
		layout    operator.Layout
		precision int64
	}{
		{"AR", 117216, 44, operator.Layout{DP: 4, PP: 4, TP: 4, DSP: 1, VPP: 1, World: 64}, 3815}, // 2^-18 s: starts up to 46 s in float32
		{"SE", 107328, 43, operator.Layout{DP: 32, PP: 2, TP: 1, DSP: 2, VPP: 1, World: 128}, 954},
	} {
		o, err := optrace.Open(filepath.Join(dir, "trace-"+c.name+".parquet"), ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if o.Len() != c.rows || len(o.Steps) != c.steps || o.Layout != c.layout || o.Resolution != c.precision || len(o.Notes) != 0 || !o.StepClock || o.Run != c.name {
			t.Errorf("%s: %d rows, %d steps, %+v, good to %d ns, notes %v", c.name, o.Len(), len(o.Steps), o.Layout, o.Resolution, o.Notes)
		}
		if slices.Contains(o.Names, "first-op") {
			t.Errorf("%s: a name that no row has is kept: %v", c.name, o.Names)
		}
	}
}

const header = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"

func readCSV(text string) (*operator.Trace, error) {
	return optrace.ReadCSV(strings.NewReader(text), "t.csv", nil, ingest.Limits{})
}

// How times are written is found out from the numbers.
func TestUnitsOfCSV(t *testing.T) {
	for _, c := range []struct {
		name, start, dur string
		wantStart, want  int64
		units            string
	}{
		{"nanoseconds", "1500000001", "25", 1500000001, 25, "nanoseconds (integers, good to 1 ns)"},
		{"seconds", "1.500000001", "0.000000025", 1500000001, 25, "seconds (decimal fractions, good to 1 ns)"},
		{"seconds with exponents", "1.5", "2.5e-08", 1500000000, 25, "seconds (decimal fractions, good to 1 ns)"},
		{"epoch seconds", "1719870000.123456789", "0.5", 1719870000123456789, 500000000, "seconds (decimal fractions, good to 1 ns)"},
		{"coarse seconds", "12.25", "3.50", 12250000000, 3500000000, "seconds (decimal fractions, good to 10000000 ns)"},
		{"whole seconds as floats", "12.0", "3.0", 12000000000, 3000000000, "seconds (decimal fractions, good to 100000000 ns)"},
		{"nanoseconds as floats", "1500000001.0", "2500000.0", 1500000001, 2500000, "nanoseconds (integers, good to 1 ns)"},
		{"finer than a nanosecond", "0.0000000014999", "0.0000000015", 1, 2, "seconds (decimal fractions, good to 1 ns)"},
	} {
		o, err := readCSV(header + "0,0,0,1,gc," + c.start + "," + c.dur + ",0,-1,-1,-1\n")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if o.Start[0] != c.wantStart || o.Dur[0] != c.want || o.Units != c.units {
			t.Errorf("%s: %d for %d, %q, expected %d for %d, %q", c.name, o.Start[0], o.Dur[0], o.Units, c.wantStart, c.want, c.units)
		}
	}
}

func TestCSVRefuses(t *testing.T) {
	row := func(cells string) string { return header + "0,0,0,1,gc,0,5,0,-1,-1,-1\n" + cells + "\n" }
	for _, c := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"nothing", "", input.ErrEmpty, "t.csv: no header"},
		{"header only", header, input.ErrEmpty, "t.csv: no rows"},
		{"no duration", "dp_rank,stage,step,optype,start_ts,seq_id\n", input.ErrMissing, `t.csv:1: no column "duration"`},
		{"semicolons", strings.ReplaceAll(header, ",", ";"), input.ErrEmpty, "no rows"},
		{"column twice", "step," + header, input.ErrDuplicate, `t.csv:1: column "step" is there twice`},
		{"few cells", row("0,0,0,1,gc,0"), input.ErrRagged, "t.csv:3: 6 cells, the header has 11 or more"},
		{"word for a number", row("0,0,0,one,gc,0,5,0,-1,-1,-1"), input.ErrType, `t.csv:3: step is "one", expected an integer`},
		{"fraction for an integer", row("0.5,0,0,1,gc,0,5,0,-1,-1,-1"), input.ErrType, `t.csv:3: dp_rank is "0.5"`},
		{"nan time", row("0,0,0,1,gc,nan,5,1,-1,-1,-1"), input.ErrType, `t.csv:3: start_ts "nan"`},
		{"no step", row("0,0,0,,gc,0,5,0,-1,-1,-1"), input.ErrType, `t.csv:3: step is ""`},
		{"no name", row("0,0,0,1,,0,5,0,-1,-1,-1"), input.ErrTooLarge, "t.csv:3: an optype of 0 bytes"},
		{"open quote", row(`0,0,0,1,"gc,0,5,0,-1,-1,-1`), input.ErrTruncated, "t.csv:3: the input ends inside of a row"},
		{"negative duration", row("0,0,0,1,gc,0,-5,1,-1,-1,-1"), input.ErrNegative, "t.csv:3: gc lasts -5 ns"},
		{"negative rank", row("0,0,-1,1,gc,0,5,1,-1,-1,-1"), input.ErrTooLarge, "t.csv:3: rank -1"},
		{"huge stage", row("0,99999999,0,1,gc,0,5,1,-1,-1,-1"), input.ErrTooLarge, "t.csv:3: dp_rank 0, stage 99999999"},
		{"negative step", row("0,0,0,-1,gc,0,5,1,-1,-1,-1"), input.ErrFormat, "t.csv: step -1"},
		{"huge seq", row("0,0,0,1,gc,0,5,9999999999,-1,-1,-1"), input.ErrOverflow, "t.csv:3: seq_id is 9999999999"},
		{"instance twice", row("\n0,0,0,1,gc,9,5,0,-1,-1,-1"), input.ErrDuplicate, "t.csv:4: gc 0 of rank 0 in step 1 is there twice, first at t.csv:2"},
		{"rank in two places", row("1,0,0,1,gc,0,5,1,-1,-1,-1"), input.ErrFormat, "t.csv:3: rank 0 is dp_rank 1, stage 0 here, and dp_rank 0, stage 0 at t.csv:2"},
		{"overflow", row("0,0,0,1,gc,99999999999999999999,5,1,-1,-1,-1"), input.ErrOverflow, "t.csv:3: a time that exceeds"},
		{"microseconds as floats", row("0,0,0,1,gc,0,500000.25,1,-1,-1,-1"), input.ErrOverflow, "t.csv: the longest operator would last 500000 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readCSV(c.text)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q of kind %v", err, c.want, c.kind)
			}
		})
	}
	lim := ingest.Limits{Pending: 192 * 3}
	text := header
	for i := range 4 {
		text += fmt.Sprintf("0,0,0,1,gc,%d,5,%d,-1,-1,-1\n", i, i)
	}
	if _, err := optrace.ReadCSV(strings.NewReader(text), "t.csv", nil, lim); !errors.Is(err, input.ErrTooLarge) || !strings.Contains(err.Error(), "t.csv:5: more than 3 rows") {
		t.Errorf("over the limit: %v", err)
	}
}

// Columns may stand in any order, with others between them, quoted, spaced,
// with nulls as programs write them, or be absent where they can be inferred.
func TestCSVForms(t *testing.T) {
	want, err := readCSV(header + "0,1,1,7,gc,5,6,0,-1,-1,-1\n0,0,0,7,forward-compute,1,2,0,0,3,0\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"shuffled":      "optype,,start_ts,note,duration,seq_id,step,stage,dp_rank,mc,mb_id,gmc\n\"gc\",0,5,x,6,0,7,1,0,,,nan\n\"forward-compute\",1,1,\"a, b\",2,0,7,0,0,0.0,3.0,0\n",
		"carriage":      strings.ReplaceAll("dp_rank, stage, step, optype, start_ts, duration, seq_id, mc, mb_id, gmc\n0, 1, 7, gc, 5, 6, 0, -1, -1, -1\n0, 0, 7, forward-compute, 1, 2, 0, 0, 3, 0", "\n", "\r\n"),
		"signs, spaces": header + "\n+0,1,1,7, gc ,5,6,0,-1,-1,-1\n\n0,0,0,7,forward-compute,01,2,0,0,3,0\n",
	} {
		got, err := readCSV(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Names" || p.String() == "Name" }, cmp.Ignore())); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	bare, err := readCSV("dp_rank,stage,step,optype,start_ts,duration,seq_id\n1,1,7,gc,5,6,0\n")
	if err != nil || bare.Ranks[0].ID != 3 || bare.Chunk[0] != -1 || bare.Microbatch[0] != -1 {
		t.Errorf("bare: %+v, %v", bare, err)
	}
}

func TestCompressedCSV(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixtures, "trace-slow-worker.csv"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.csv.gz")
	if err := os.WriteFile(path, []byte(ingesttest.Gzip(t, string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := optrace.Open(path, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, o, joined(t, spec))
}

// floats is a row of the public traces: seconds in float32, nullable columns.
type floats struct {
	DP    *int32   `parquet:"dp_rank,dict,snappy"`
	Stage *int32   `parquet:"stage,dict,snappy"`
	Step  *int64   `parquet:"step,dict,snappy"`
	Name  *string  `parquet:"optype,dict,snappy"`
	Start *float32 `parquet:"start_ts,dict,snappy"`
	Dur   *float32 `parquet:"duration,dict,snappy"`
	Seq   *int32   `parquet:"seq_id,dict,snappy"`
	Chunk *float64 `parquet:"mc,snappy"`
}

func ptr[T any](v T) *T { return &v }

func parquetOf[T any](t *testing.T, rows ...T) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func readParquet(r *bytes.Reader) (*operator.Trace, error) {
	return optrace.ReadParquet(parquet.Input{R: r, Size: r.Size(), Name: "t.parquet"}, nil, ingest.Limits{})
}

func TestParquetSeconds(t *testing.T) {
	row := func(seq int32, start, dur float32) floats {
		return floats{ptr(int32(0)), ptr(int32(0)), ptr(int64(3)), ptr("gc"), ptr(start), ptr(dur), ptr(seq), nil}
	}
	o, err := readParquet(parquetOf(t, row(0, 0, 0.5), row(1, 46.25, 2.6883304)))
	if err != nil {
		t.Fatal(err)
	}
	// float32 2.6883304 is 2.688330411911010742… exactly
	if want := []int64{500000000, 2688330412}; !slices.Equal(o.Dur, want) || o.Start[1] != 46250000000 || o.Chunk[0] != -1 {
		t.Errorf("durations %v, expected %v", o.Dur, want)
	}
	if o.Units != "seconds (FLOAT, good to 3815 ns)" {
		t.Errorf("units %q", o.Units)
	}
	noName := row(1, 1, 1)
	noName.Name = nil
	half := row(1, 1, 1)
	half.Chunk = ptr(0.5)
	for _, c := range []struct {
		name string
		row  floats
		kind error
		want string
	}{
		{"nan", row(1, float32(math.NaN()), 1), input.ErrNotFinite, "t.parquet[row 1]: start NaN"},
		{"infinite", row(1, 1, float32(math.Inf(1))), input.ErrNotFinite, "t.parquet[row 1]: start 1, duration +Inf"},
		{"negative", row(1, 1, -0.5), input.ErrNegative, "t.parquet[row 1]: gc lasts -500000000 ns"},
		{"twice", row(0, 7, 1), input.ErrDuplicate, "t.parquet[row 1]: gc 0 of rank 0 in step 3 is there twice, first at t.parquet[row 0]"},
		{"no name", noName, input.ErrMissing, "t.parquet[row 1]: optype is null"},
		{"half a chunk", half, input.ErrType, "t.parquet[row 1]: mc is 0.5"},
		{"microseconds", row(1, 1.5, 250000), input.ErrOverflow, "the longest operator would last 250000 s"},
	} {
		if _, err := readParquet(parquetOf(t, row(0, 0.25, 0.5), c.row)); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
}

func TestParquetTimestamps(t *testing.T) {
	type row struct {
		DP    int32  `parquet:"dp_rank"`
		Stage int32  `parquet:"stage"`
		Step  int64  `parquet:"step"`
		Name  string `parquet:"optype"`
		Start int64  `parquet:"start_ts,timestamp(microsecond)"`
		Dur   int64  `parquet:"duration"`
		Seq   int32  `parquet:"seq_id"`
	}
	o, err := readParquet(parquetOf(t, row{0, 0, 1, "gc", 1719870000123456, 999, 0}))
	if err != nil || o.Start[0] != 1719870000123456000 || o.Dur[0] != 999 || o.Units != "nanoseconds (from ticks of 1000 ns, good to 1000 ns)" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := readParquet(parquetOf(t, row{0, 0, 1, "gc", math.MaxInt64 / 999, 9, 0})); !errors.Is(err, input.ErrOverflow) {
		t.Errorf("overflow: %v", err)
	}
}

func TestMeta(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := put("my-trace-7.csv", header+"0,0,0,1,gc,0,5,0,-1,-1,-1\n1,1,3,1,gc,0,5,0,1,-1,-1\n")
	check := func(want operator.Layout, run string) {
		t.Helper()
		o, err := optrace.Open(path, ingest.Limits{})
		if err != nil || o.Layout != want || o.Run != run {
			t.Errorf("layout %+v, run %q, expected %+v, %q (%v)", o.Layout, o.Run, want, run, err)
		}
	}
	check(operator.Layout{DP: 2, PP: 2, TP: 1, DSP: 1, VPP: 2, World: 4}, "")
	put("my-trace-7.yml", "trial_name: second\n")
	check(operator.Layout{DP: 2, PP: 2, TP: 1, DSP: 1, VPP: 2, World: 4}, "second")
	meta := put("my-meta-7.yaml", "trial_name: first\ndp_size: 2\npp_size: 2\ntp_size: 8\ndsp_size: 2\nworld_size: 64\nnew_key: 1\n")
	check(operator.Layout{DP: 2, PP: 2, TP: 8, DSP: 2, VPP: 2, World: 64}, "first")
	if o, err := optrace.OpenMeta(path, "", ingest.Limits{}); err != nil || o.Run != "" {
		t.Errorf("without: %q, %v", o.Run, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", meta + ": the meta file says nothing"},
		{"dp_size: two", meta + ": yaml: unmarshal errors: line 1: cannot unmarshal"},
		{"dp_size: -2", meta + ": dp_size is -2"},
		{"tp_size: 99999999", meta + ": tp_size is 99999999"},
		{"dp_size: 1", meta + ": dp_size is 1, but the trace has 2: is it the meta file of this trace?"},
		{"dp_size: 2\npp_size: 2\ntp_size: 1\ndsp_size: 1\nworld_size: 5", meta + ": world_size is 5, but dp × pp × tp × dsp is 4"},
		{"dp_size: 1000000\npp_size: 1000000\ntp_size: 1000000\ndsp_size: 1000000", "over 1048576 ranks"},
		{"[" + strings.Repeat("a,", 4<<20) + "]", meta + ": a meta file of more than 4194304 bytes"},
	} {
		put("my-meta-7.yaml", c.text)
		if _, err := optrace.Open(path, ingest.Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("meta %.40q: %v, expected %q", c.text, err, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "nothing.csv"), "nothing.csv: cannot be read: no such file"},
		{dir, "cannot be read: is a directory"},
	} {
		if _, err := optrace.Open(c.path, ingest.Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
	if _, err := optrace.OpenMeta(filepath.Join(fixtures, "trace-slow-worker.csv"), dir, ingest.Limits{}); err == nil {
		t.Error("a folder was read as a meta file")
	}
	b, err := os.ReadFile(filepath.Join(fixtures, "trace-heavy-stage.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.parquet")
	if err := os.WriteFile(cut, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := optrace.Open(cut, ingest.Limits{}); !errors.Is(err, input.ErrTruncated) || !strings.HasPrefix(err.Error(), cut) {
		t.Errorf("a cut file: %v", err)
	}
}

// A trace of another kind of program is read, and says why it is not joined.
func TestUnjoined(t *testing.T) {
	o, err := readCSV(header + "0,0,0,1,forward-compute,0,5,0,-1,-1,-1\n0,1,1,1,forward-recv,0,5,0,-1,-1,-1\n0,0,0,1,forward-send,4,1,0,-1,-1,-1\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Notes) != 1 || o.Notes[0].Kind != input.NoteUnjoined || !strings.Contains(o.Notes[0].Text, "transfers are missing") {
		t.Errorf("notes %v", o.Notes)
	}
}

func FuzzCSV(f *testing.F) {
	if b, err := os.ReadFile(filepath.Join(fixtures, "trace-slow-worker.csv")); err == nil {
		f.Add(b[:2000])
	}
	f.Add([]byte(header + "0,0,0,1,gc,0.5,5e-3,0,-1,-1,-1\n"))
	f.Add([]byte("optype,start_ts,duration,seq_id,step,stage,dp_rank\n\"gc\",0,1,0,7,1,0\n"))
	f.Add([]byte("dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,lane,group,launched_by,kernel,collective,bytes\n" +
		"0,0,0,1,a,0,5,0,3,0,forward,\"void a<int, int>(int)\",,-1\n1,0,1,1,a,0,5,0,3,0,,a,all-reduce,8\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := optrace.ReadCSV(bytes.NewReader(b), "fuzz", nil, ingest.Limits{Line: 1 << 16, Pending: 1 << 24})
		valid(t, o, err)
	})
}

func FuzzParquet(f *testing.F) {
	if b, err := os.ReadFile(filepath.Join(fixtures, "trace-heavy-stage.parquet")); err == nil {
		f.Add(b)
	}
	var launched bytes.Buffer
	if err := optrace.WriteParquet(&launched, profiled()); err != nil {
		f.Fatal(err)
	}
	f.Add(launched.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		o, err := optrace.ReadParquet(parquet.Input{R: r, Size: r.Size(), Name: "fuzz"}, nil, ingest.Limits{Pending: 1 << 24})
		valid(t, o, err)
	})
}

// profiled is a small trace of a profiler.
func profiled() *operator.Trace {
	return &operator.Trace{Ranks: []trace.Rank{{ID: 0, Role: trace.Role{{Axis: "dp"}, {Axis: "pp"}}}, {ID: 1, Role: trace.Role{{Axis: "dp", Index: 1}, {Axis: "pp"}}}},
		Steps: []int64{4}, Names: []string{"a", "b"}, Rank: []int32{0, 0, 1, 1}, Step: make([]int32, 4), Name: []int32{0, 1, 0, 1}, Lane: []int32{7, 8, 7, 8},
		Seq: make([]int32, 4), Start: []int64{0, 5, 1, 9}, Dur: []int64{4, 9, 3, 5}, Chunk: none(4), GlobalChunk: none(4), Microbatch: none(4), Group: []int32{-1, 0, -1, 0},
		Launches: []operator.Launch{{Stage: "forward", Name: `void a<int, 2>("x")`, Bytes: -1}, {Name: "nccl", Collective: "all-reduce", Bytes: 8}}, Launch: []int32{0, 1, 0, 1}}
}

func none(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

// TestLaunches: what was launched by what is read as it was written, and refused
// where it cannot be.
func TestLaunches(t *testing.T) {
	o := profiled()
	var b bytes.Buffer
	if err := optrace.WriteCSV(&b, o); err != nil {
		t.Fatal(err)
	}
	got, err := optrace.ReadCSV(bytes.NewReader(b.Bytes()), "x.csv", nil, ingest.Limits{})
	if err != nil || !cmp.Equal(got.Launches, o.Launches) || !slices.Equal(got.Lane, o.Lane) || !slices.Equal(got.Group, o.Group) {
		t.Fatalf("%v, %+v", err, got)
	}
	// By hand: the collective began at 9 on rank 1, so rank 0 waited 4 of its 9.
	sums := got.Totals()
	want := []operator.Total{{Rank: 0, Count: 1, Dur: 4}, {Rank: 1, Count: 1, Dur: 3},
		{Rank: 0, Stage: 1, Name: 1, Count: 1, Communicates: 1, Joined: 1, Dur: 9, Wait: 4}, {Rank: 1, Stage: 1, Name: 1, Count: 1, Communicates: 1, Joined: 1, Dur: 5}}
	if d := cmp.Diff(want, sums.Rows); d != "" {
		t.Error(d)
	}
	for _, c := range []struct{ old, changed, want string }{
		{",8,0,", ",8,4,", "x.csv:3: group 4, expected less than the 4 rows"},
		{",7,-1,", ",x,-1,", "lane is \"x\", expected an integer"},
		{"all-reduce", strings.Repeat("k", 4097), "collective of 4097 bytes"},
	} {
		text := strings.Replace(b.String(), c.old, c.changed, 1)
		if _, err := optrace.ReadCSV(strings.NewReader(text), "x.csv", nil, ingest.Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// Without one of the columns it is an operator trace like others.
	plain := strings.Replace(b.String(), "launched_by", "other", 1)
	if got, err := optrace.ReadCSV(strings.NewReader(plain), "x.csv", nil, ingest.Limits{}); err != nil || got.Launch != nil || got.Totals() != nil {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestMetaRanks: ranks that cannot be are refused.
func TestMetaRanks(t *testing.T) {
	for text, want := range map[string]string{
		"ranks: [{rank: 1}, {rank: 1}]":         "each once",
		"ranks: [{rank: -1}]":                   "rank -1",
		"ranks: [{rank: 0, role: dp}]":          "coordinates as in dp=3,pp=1",
		"ranks: [{rank: 0, role: 'dp=1,dp=2'}]": "twice",
	} {
		if _, err := optrace.ReadMeta(strings.NewReader(text), "m.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// valid checks that what was read keeps the model's invariants, or that the
// error says where.
func valid(t *testing.T, o *operator.Trace, err error) {
	if err != nil {
		var placed *input.Error
		if !errors.As(err, &placed) || placed.Pos.File != "fuzz" {
			t.Errorf("an error without a place: %v", err)
		}
		return
	}
	before := o.Len()
	if err := o.Arrange(nil); err != nil || o.Len() != before {
		t.Errorf("what was read is not arranged: %v", err)
	}
	o.Totals()
	wait, transfer := o.Waits()
	for i := range wait {
		if wait[i] < 0 || wait[i]+transfer[i] != o.Dur[i] {
			t.Errorf("row %d: wait %d, transfer %d of %d", i, wait[i], transfer[i], o.Dur[i])
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add([]byte("trial_name: AR\nrun_id: 0\ndp_size: 4\nworld_size: 64\n"))
	f.Add([]byte("a: &a [x, x]\nb: [*a, *a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := optrace.ReadMeta(bytes.NewReader(b), "fuzz")
		if (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}
