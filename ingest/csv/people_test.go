package csv_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	own "github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// kinds are the kinds of a window's notes.
func kinds(w *trace.Window) (out []string) {
	for _, n := range w.Notes {
		out = append(out, n.Kind.String())
	}
	return out
}

// Tables as people and pandas write them, all of the same two steps of two
// ranks, are read as one.
func TestWhatPeopleWrite(t *testing.T) {
	ms := func(w *trace.Window) {
		w.Durations = []int64{10e6, 20e6, 11e6, 21e6, 30e6, 40e6, 31e6, 41e6}
	}
	whole := func(w *trace.Window) { // of training logs too
		w.Schema.Stages, w.Durations = []string{"step.whole"}, []int64{100e6, 100e6, 101e6, 120e6}
	}
	tests := []struct {
		name, text string
		unit       csv.Unit
		edit       func(w *trace.Window)
		notes      string
	}{
		{"pandas' index", ",step,rank,a,b\n0,5,0,10,11\n1,5,1,20,21\n2,6,0,30,31\n3,6,1,40,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"an index read as a column", "Unnamed: 0,step,rank,a,b\n0,5,0,10,11\n1,5,1,20,21\n2,6,0,30,31\n3,6,1,40,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"other names", "iteration,global_rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", csv.Nanoseconds, nil, ""},
		{"two names of the step", "iteration,step,rank,a,b\n0,5,0,10,11\n0,5,1,20,21\n1,6,0,30,31\n1,6,1,40,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"text", "step,rank,a,remark,b\n5,0,10,slow,11\n5,1,20,ok,21\n6,0,30,ok,31\n6,1,40,ok,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"dates", "step,rank,a,when,b\n5,0,10,2026-01-02 03:04:05,11\n5,1,20,2026-01-02 03:04:05,21\n6,0,30,2026-01-02 03:04:06,31\n6,1,40,2026-01-02 03:04:06,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"a clock", "step,rank,a,when,b\n5,0,10,1795332777089073000,11\n5,1,20,1795332777089073000,21\n6,0,30,1795332777289073000,31\n6,1,40,1795332777289073000,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"a GPU beside the rank", "step,rank,gpu,a,b\n5,0,0,10,11\n5,1,1,20,21\n6,0,0,30,31\n6,1,1,40,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"an epoch", "epoch,step,rank,a,b\n0,5,0,10,11\n0,5,1,20,21\n0,6,0,30,31\n0,6,1,40,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"whole floats", "step,rank,a,b\n5.0,0,10.0,11.0\n5.0,1,20.0,21.0\n6.0,0,30.0,31.0\n6.0,1,40.0,41.0\n", csv.Nanoseconds, nil, ""},
		{"ranks by name", "step,rank,a,b\n5,rank0,10,11\n5,Rank 1,20,21\n6,rank_0,30,31\n6,rank-1,40,41\n", csv.Nanoseconds, nil, ""},
		{"counts", "step,rank,a,samples,num_tokens,gpu_mem,memory_allocated,tokens_per_sec,b\n5,0,10,32,4096,1,1,9.5,11\n5,1,20,32,4096,1,1,9.5,21\n6,0,30,32,4096,1,1,9.5,31\n6,1,40,32,4096,1,1,9.5,41\n", csv.Nanoseconds, nil, "columns_ignored"},
		{"rows without text", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n,,,\n", csv.Nanoseconds, nil, ""},
		{"milliseconds by name", "step,rank,a_ms,b_ms\n5,0,10,11\n5,1,20,21\n6,0,30,31.000\n6,1,40,41\n", csv.Unsaid, ms, "units"},
		{"seconds by name, wall too", "step,rank,a_s,b_s,wall_s\n5,0,0.01,0.011,0.1\n5,1,0.02,0.021,0.1\n6,0,0.03,0.031,0.1\n6,1,0.04,0.041,0.1\n", csv.Unsaid,
			func(w *trace.Window) { ms(w); w.Wall = []int64{1e8, 1e8, 1e8, 1e8} }, "units"},
		{"milliseconds by the caller", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", csv.Milliseconds, ms, ""},
		{"one row per stage", "step,rank,stage,duration\n5,0,a,10\n5,0,b,11\n5,1,a,20\n5,1,b,21\n6,0,a,30\n6,0,b,31\n6,1,a,40\n6,1,b,41\n", csv.Nanoseconds, nil, ""},
		{"one row per stage, in milliseconds", "rank,phase,step,time_ms\n0,a,5,10\n0,b,5,11\n1,a,5,20\n1,b,5,21\n0,a,6,30\n0,b,6,31\n1,a,6,40\n1,b,6,41\n", csv.Unsaid, ms, ""},
		{"whole steps", "step,rank,step_time_ms\n5,0,100\n5,1,100\n6,0,101\n6,1,120\n", csv.Unsaid, whole, "whole_steps units"},
		{"whole steps as the writer names them", "step,rank,wall_ns\n5,0,100000000\n5,1,100000000\n6,0,101000000\n6,1,120000000\n", csv.Unsaid, whole, "whole_steps"},
		{"whole steps in milliseconds by the caller", "step,rank,total\n5,0,100\n5,1,100\n6,0,101\n6,1,120\n", csv.Milliseconds, whole, "whole_steps"},
		{"whole steps, and nobody says the unit", "step,rank,total\n5,0,100000\n5,1,100000\n6,0,101000\n6,1,120000\n", csv.Unsaid, func(w *trace.Window) {
			whole(w)
			w.Durations = []int64{100000, 100000, 101000, 120000}
		}, "whole_steps unit_doubt"},
		{"nobody says the unit: nanoseconds?", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", csv.Unsaid, nil, "unit_doubt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := csv.NewReader(strings.NewReader(tt.text), "dir/table.csv", csv.Options{Unit: tt.unit})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ingesttest.ReadAll(r)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d windows, %v", len(got), err)
			}
			if notes := strings.Join(kinds(got[0]), " "); notes != tt.notes {
				t.Errorf("notes %q, want %q", notes, tt.notes)
			}
			got[0].Notes = nil
			if d := cmp.Diff(two(tt.edit), got[0]); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// A column that is the sum of the others is the wall time under any name, and one that is the sum of
// some is left out, in every window and in long tables too.
func TestSumsOfColumns(t *testing.T) {
	var wide, long, train, walled strings.Builder
	fmt.Fprintln(&wide, "window,step,rank,a_ms,b_ms,c_ms,iter_ms")
	fmt.Fprintln(&long, "window,step,rank,stage,time_ms")
	fmt.Fprintln(&train, "window,step,rank,a_ms,train_ms,b_ms,c_ms")
	fmt.Fprintln(&walled, "window,step,rank,a_ms,b_ms,c_ms,full_ms,wall_ms")
	for row := range 80 {
		at := fmt.Sprintf("%d,%d,%d", row/40, row/2, row%2)
		a, b, c := 20+row*7%11, 30+row*5%13, 10+row*3%7
		fmt.Fprintf(&wide, "%s,%d,%d,%d,%d\n", at, a, b, c, a+b+c)
		fmt.Fprintf(&train, "%s,%d,%d,%d,%d\n", at, a, b+c, b, c)
		fmt.Fprintf(&walled, "%s,%d,%d,%d,%d,%d\n", at, a, b, c, a+b+c, a+b+c+1)
		for i, v := range []int{a, b, c, a + b + c} {
			fmt.Fprintf(&long, "%s,%s,%d\n", at, []string{"a", "b", "c", "all"}[i], v)
		}
	}
	for _, tt := range []struct {
		name, text string
		wall       int64 // of the first row, ms; 0: none
		says       string
	}{
		{"wide", wide.String(), 60, `"iter" is the sum of "a", "b" and "c": read as the wall time of the step`},
		{"long", long.String(), 60, `"all" is the sum of "a", "b" and "c": read as the wall time of the step`},
		{"of some", train.String(), 0, `"train" is the sum of "b" and "c": left out, as its time would count twice`},
		{"beside a wall time", walled.String(), 61, `"full" is the sum of "a", "b" and "c": left out, as its time would count twice`},
	} {
		r, err := csv.NewReader(strings.NewReader(tt.text), "x", csv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ws, err := ingesttest.ReadAll(r)
		if err != nil || len(ws) != 2 {
			t.Fatalf("%s: %d windows, %v", tt.name, len(ws), err)
		}
		for i, w := range ws {
			if got := strings.Join(w.Schema.Stages, ""); got != "abc" || (w.Wall == nil) != (tt.wall == 0) {
				t.Errorf("%s: window %d has stages %s, wall times %v", tt.name, i, got, w.Wall != nil)
			}
		}
		if tt.wall > 0 && ws[0].Wall[0] != tt.wall*1e6 {
			t.Errorf("%s: wall time %d", tt.name, ws[0].Wall[0])
		}
		if !strings.Contains(fmt.Sprint(ws[0].Notes), tt.says) || strings.Contains(fmt.Sprint(ws[1].Notes), "sum") {
			t.Errorf("%s: notes %v, then %v", tt.name, ws[0].Notes, ws[1].Notes)
		}
	}
}

// Times that no training step takes are asked about, and only these.
func TestUnitDoubt(t *testing.T) {
	const row = "step,rank,a\n0,0,%s\n"
	counts := "step,rank,a,mb_done\n"
	rounded := "step,rank,data,forward\n"
	for i := range 16 {
		rounded += fmt.Sprintf("%d,0,10000000,%d\n", i, 60_000_000+i%3*10_000_000)
		counts += fmt.Sprintf("%d,0,%d,32\n", i, 200_000_000+i)
	}
	for _, tt := range []struct {
		name, text string
		unit       csv.Unit
		says       string
	}{
		{"1 ns", fmt.Sprintf(row, "1"), csv.Unsaid, "milliseconds (--unit ms, a step of 1 ms)"},
		{"226 ns", fmt.Sprintf(row, "226"), csv.Unsaid, "milliseconds (--unit ms, a step of 226 ms)"},
		{"226 µs", fmt.Sprintf(row, "226000"), csv.Unsaid, "microseconds (--unit us, a step of 226 ms)"},
		{"1 ms", fmt.Sprintf(row, "1000000"), csv.Unsaid, ""},
		{"226 ms", fmt.Sprintf(row, "226000000"), csv.Unsaid, ""},
		{"50 min", fmt.Sprintf(row, "3000000000000"), csv.Unsaid, ""},
		{"67 min", fmt.Sprintf(row, "4000000000000"), csv.Unsaid, "a step takes 1.11 h"},
		{"67 min, and the caller says so", fmt.Sprintf(row, "4000000000000"), csv.Nanoseconds, ""},
		{"nanoseconds in a column of milliseconds", "step,rank,a_ms,b_ms\n0,0,126000000,100000000\n", csv.Unsaid, "a step takes 62.8 h: are these nanoseconds (a step of 226 ms)?"},
		{"nanoseconds that the caller takes for milliseconds", fmt.Sprintf(row, "226000000"), csv.Milliseconds, "a step takes 62.8 h: are these nanoseconds (--unit ns, a step of 226 ms)?"},
		{"one of two columns says its unit", "step,rank,data_ms,forward\n0,0,55,60000\n", csv.Unsaid,
			`no unit is in the name of "forward", read as nanoseconds: 60 µs of a step of 55.1 ms`},
		{"one of two, in nanoseconds", "step,rank,data_ms,forward\n0,0,55,60000000\n", csv.Unsaid, ""},
		{"one of two, and the caller says it", "step,rank,data_ms,forward\n0,0,55,60000\n", csv.Microseconds, ""},
		{"the same in every row, rounded to 10 ms as all times", rounded, csv.Unsaid, ""},
		{"the same in every row", counts, csv.Unsaid, `"mb_done" is 32 in every row: is it a duration?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := csv.NewReader(strings.NewReader(tt.text), "x", csv.Options{Unit: tt.unit})
			if err != nil {
				t.Fatal(err)
			}
			w, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, n := range w.Notes {
				if n.Kind == input.NoteUnitDoubt {
					text += n.Text
				}
			}
			if tt.says == "" && text != "" || !strings.Contains(text, tt.says) {
				t.Errorf("%q, want %q", text, tt.says)
			}
		})
	}
}

// What is no stage time is refused with its column and what to do.
func TestNoStages(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"text in a row", "step,rank,a\n0,0,1\n0,1,slow\n", "[column a]: \"slow\" is no time: expected a number"},
		{"a time of day in a row", "step,rank,a\n0,0,1\n0,1,1795332777089073000\n", "[column a]: 1795332777089073000 ns is longer than any stage: are times in another unit (--unit), or is this column a clock?"},
		{"fraction", "step,rank,a\n0,0,1.5\n", "or --unit"},
		{"no rank", "step,a\n0,1\n", `no column of the rank among "step", "a"`},
		{"a stage twice", "step,rank,stage,duration\n0,0,a,1\n0,0,a,2\n", `stage "a" of this step and rank a second time, first at x.csv:2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := csv.NewReader(strings.NewReader(tt.text), "x.csv", csv.Options{Unit: csv.Nanoseconds})
			if err == nil {
				_, err = r.Next()
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

// A table in Parquet is read as the same table in CSV is.
func TestParquet(t *testing.T) {
	type row struct {
		Step  int32    `parquet:"step"`
		Rank  int64    `parquet:"rank"`
		A     float64  `parquet:"a"`
		B     *int64   `parquet:"b,optional"`
		Host  string   `parquet:"host,dict"`
		E     *float64 `parquet:"e,optional"`
		Ready *bool    `parquet:"e.ready,optional"`
		Index int64    `parquet:"__index_level_0__"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file, parquet.MaxRowsPerRowGroup(1500))
	text := "step,rank,a,b,host,e,e.ready\n"
	for i := range 4001 { // row groups and batches end at different rows
		a, b, e, ready := 7*i%311, int64(37*i%101), float64(i)/8, i%3 == 0
		x := row{Step: int32(i), A: float64(a), B: &b, Host: "n0"}
		cells := ","
		if i%2 == 0 {
			x.E, x.Ready = &e, &ready
			cells = fmt.Sprintf("%v,%v", e, ready)
		}
		if _, err := w.Write([]row{x}); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%d,0,%d,%d,n0,%s\n", i, a, b, cells)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in := own.Input{R: bytes.NewReader(file.Bytes()), Size: int64(file.Len()), Name: "dir/table.csv"}
	r, err := openParquet(in, csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ingesttest.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	got[0].Notes = nil // the index
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-CSV +Parquet)\n%.2000s", d)
	}
}

// What is wrong with a row of a table in Parquet is at that row.
func TestParquetPlace(t *testing.T) {
	type row struct {
		Step int64 `parquet:"step"`
		Rank int64 `parquet:"rank"`
		A    int64 `parquet:"a"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	if _, err := w.Write([]row{{0, 0, 1}, {0, 1, 2}, {1, 0, -3}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := openParquet(own.Input{R: bytes.NewReader(file.Bytes()), Size: int64(file.Len()), Name: "x"}, csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = ingesttest.ReadAll(r); err == nil || !strings.HasPrefix(err.Error(), "x:3[column a]: ") {
		t.Error(err)
	}
}

// Any bytes are windows or an error with a place.
func FuzzParquet(f *testing.F) {
	type row struct {
		Step int64 `parquet:"step,delta"`
		Rank int64 `parquet:"rank,dict"`
		A    int64 `parquet:"a"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{0, 0, 5}, {0, 1, 6}, {1, 0, 7}, {1, 1, 8}}); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := openParquet(own.Input{R: bytes.NewReader(b), Size: int64(len(b)), Name: "x"}, csv.Options{})
		if err != nil {
			ingesttest.CheckPosition(t, err, "x")
			return
		}
		windows, err := ingesttest.ReadAll(r)
		if err != nil {
			ingesttest.CheckPosition(t, err, "x")
		}
		for _, w := range windows {
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOneColumnInAnotherUnit: one stage in milliseconds among nanoseconds is asked
// about, and one that merely takes next to nothing is not.
func TestOneColumnInAnotherUnit(t *testing.T) {
	table := func(data func(i int) int) string {
		var b strings.Builder
		b.WriteString("step,rank,data,forward,backward\n")
		for i := range 40 {
			fmt.Fprintf(&b, "%d,%d,%d,%d,%d\n", i/2, i%2, data(i), 60_000_000+i*1000, 100_000_000+i*3000)
		}
		return b.String()
	}
	for _, c := range []struct {
		name string
		data func(i int) int
		want string
	}{
		{"milliseconds", func(i int) int { return 15 + i%3 }, `"data" takes 17 ns of a step of 160 ms, read as nanoseconds: are these milliseconds? Then name it data_ms`},
		{"a tenth of a microsecond", func(i int) int { return 90 + i%40 }, `"data" takes 111 ns of a step of 160 ms, read as nanoseconds: are these milliseconds? Then name it data_ms`},
		{"half a microsecond", func(i int) int { return 400 + i }, ""},
		{"microseconds", func(i int) int { return 15_000 + 31*i }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := csv.NewReader(strings.NewReader(table(c.data)), "table.csv", csv.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ingesttest.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			var asked string
			for _, n := range got[0].Notes {
				if n.Kind == input.NoteUnitDoubt {
					asked += n.Text
				}
			}
			if asked != c.want {
				t.Errorf("asked %q, expected %q", asked, c.want)
			}
		})
	}
}

// openParquet opens a table in a Parquet file.
func openParquet(in own.Input, o csv.Options) (*csv.Reader, error) {
	src, err := csv.NewParquet(in, nil, o.Limits)
	if err != nil {
		return nil, err
	}
	return csv.Open(src, o)
}
