package csv_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	own "github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// only returns the only window of a reader.
func only(t *testing.T, r *csv.Reader, err error) *trace.Window {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Next(); err == nil {
		t.Fatalf("a second window: %+v", again)
	}
	return w
}

// TestOperators: hand counts of one rank's first step, of two. Times are of nobody twice, and leave what no
// operator covers.
func TestOperators(t *testing.T) {
	const head = "rank,step,op,start,duration\n"
	for _, c := range []struct {
		name, text string
		unit       csv.Unit
		stages     string
		times      []int64
		wall       int64 // to the first operator of the next step
		notes      string
	}{
		{"one after the other, with a gap", head + "0,0,a,100,10\n0,0,b,115,20\n0,1,a,140,10\n0,1,b,155,20\n", csv.Nanoseconds, "a b", []int64{10, 20}, 40, ""},
		{"rows in another order", head + "0,1,b,155,20\n0,0,b,115,20\n0,1,a,140,10\n0,0,a,100,10\n", csv.Nanoseconds, "a b", []int64{10, 20}, 40, ""},
		{"units by name", "step,global_rank,operator,start_s,duration_us,stream\n0,0,a,0.0001,10,7\n0,0,b,0.000115,20,7\n1,0,a,0.00014,10,7\n1,0,b,0.000155,20,7\n",
			csv.Unsaid, "a b", []int64{10e3, 20e3}, 40e3, "columns_ignored"},
		{"units by the caller", head + "0,0,a,0.1,0.01\n0,0,b,0.115,0.02\n0,1,a,0.14,0.01\n0,1,b,0.155,0.02\n", csv.Milliseconds, "a b", []int64{10e3, 20e3}, 40e3, ""},
		{"ends instead of durations", "rank,step,name,begin,end\n0,0,a,100,110\n0,0,b,115,135\n0,1,a,140,150\n0,1,b,155,175\n", csv.Nanoseconds, "a b", []int64{10, 20}, 40, ""},
		{"one inside the other", head + "0,0,all,100,50\n0,0,a,110,10\n0,0,b,120,20\n0,1,all,160,50\n0,1,a,170,10\n0,1,b,180,20\n", csv.Nanoseconds, "all a b", []int64{20, 10, 20}, 60, ""},
		{"several of a name", head + "0,0,a,100,10\n0,0,a,110,15\n0,1,a,130,10\n0,1,a,140,15\n", csv.Nanoseconds, "a@0 a@1", []int64{10, 15}, 30, ""},
		{"a collective beside computation", head + "0,0,f,100,10\n0,0,backward,110,40\n0,0,all_reduce,130,10\n0,0,all_reduce,145,25\n0,0,o,170,5\n" +
			"0,1,f,180,10\n0,1,backward,190,40\n0,1,all_reduce,210,10\n0,1,all_reduce,225,25\n0,1,o,250,5\n", csv.Nanoseconds, "f backward all_reduce o", []int64{10, 40, 20, 5}, 80, ""},
		{"a clock for each step", head + "0,0,a,3,10\n0,0,b,15,20\n0,1,a,2,10\n0,1,b,15,20\n0,2,a,2,10\n0,2,b,15,20\n", csv.Nanoseconds, "a b", []int64{10, 20}, 35, ""},
	} {
		r, err := csv.NewReader(strings.NewReader(c.text), "t", csv.Options{Unit: c.unit})
		w := only(t, r, err)
		if got := strings.Join(w.Schema.Stages, " "); got != c.stages || !slices.Equal(w.Step(0), c.times) || w.WallOf(0)[0] != c.wall {
			t.Errorf("%s: %s %v of %d, want %s %v of %d", c.name, got, w.Step(0), w.WallOf(0)[0], c.stages, c.times, c.wall)
		}
		if got := strings.Join(kinds(w), " "); got != c.notes {
			t.Errorf("%s: notes %q, want %q", c.name, got, c.notes)
		}
	}
}

// table returns a table of operators of ranks: a, allreduce, b in each of n steps of 100 ns; late reports by how much
// longer a takes, lost whether a row is missing.
func table(ranks, n int, late func(rank, step int) int, lost func(rank, step int, op string) bool) string {
	var b strings.Builder
	b.WriteString("rank,step,op,start,duration\n")
	for step := range n {
		last := 0
		for rank := range ranks {
			last = max(last, late(rank, step))
		}
		for rank := range ranks {
			own := late(rank, step)
			begin := 1000*(rank+1) + 100*step
			row := func(op string, start, took int) {
				if !lost(rank, step, op) {
					fmt.Fprintf(&b, "%d,%d,%s,%d,%d\n", rank, step, op, begin+start, took)
				}
			}
			row("a", 0, 20+own)
			row("allreduce", 20+own, 10+last-own)
			row("b", 30+last, 10)
		}
	}
	return b.String()
}

// TestAbsentRows: an operator of which one of four ranks has no row at all is told. Of a collective, of which all are members, the
// time between its neighbours is the rank's time there; of others the time is outside operators. Of two ranks nobody knows which
// is right.
func TestAbsentRows(t *testing.T) {
	late := func(rank, step int) int { return (step*7 + rank*3) % 5 }
	read := func(ranks int, without string) *trace.Window {
		text := table(ranks, 20, late, func(rank, _ int, op string) bool { return rank == 1 && op == without })
		r, err := csv.NewReader(strings.NewReader(text), "t", csv.Options{Unit: csv.Nanoseconds})
		return only(t, r, err)
	}
	note := func(w *trace.Window) string {
		var out []string
		for _, n := range w.Notes {
			out = append(out, n.Text)
		}
		return strings.Join(out, "; ")
	}
	whole := read(4, "")
	for without, want := range map[string]string{
		"":          "",
		"allreduce": `rank 1 has no rows of "allreduce", which 3 others run: the time between what runs before and behind stands for it`,
		"b":         `rank 1 has no rows of "b", which 3 others run`,
	} {
		w := read(4, without)
		if note(w) != want || !slices.Equal(w.Schema.Stages, whole.Schema.Stages) {
			t.Errorf("without %q: %q, stages %q", without, note(w), w.Schema.Stages)
		}
		for step := range w.Steps() {
			for i, d := range whole.Step(step) {
				if rank, op := i%4, i/4; rank == 1 && op == 2 && without == "b" {
					d = 0
				}
				if got := w.Step(step)[i]; got != d {
					t.Fatalf("without %q, step %d, rank %d, operator %d: %d ns, want %d", without, step, i%4, i/4, got, d)
				}
			}
		}
	}
	if w := read(2, "allreduce"); note(w) != "" {
		t.Errorf("of two ranks: %q", note(w))
	}
}

// TestLostRows: a row without which a step of a rank stands leaves its time between its neighbours; of the first and
// last it is what they usually take, and what is left is outside operators. The rest of the table stays as it is.
func TestLostRows(t *testing.T) {
	late := func(rank, step int) int { return (step*7 + rank*3) % 5 }
	none := func(int, int, string) bool { return false }
	read := func(lost func(int, int, string) bool) *trace.Window {
		r, err := csv.NewReader(strings.NewReader(table(2, 20, late, lost)), "t", csv.Options{Unit: csv.Nanoseconds})
		return only(t, r, err)
	}
	whole := read(none)
	if want := []string{"a", "wait.allreduce", "b"}; !slices.Equal(whole.Schema.Stages, want) {
		t.Fatalf("stages %q, want %q", whole.Schema.Stages, want)
	}
	w := read(func(rank, step int, op string) bool {
		return op == "allreduce" && rank == 1 && (step == 3 || step == 8)
	})
	if d := cmp.Diff(whole.Durations, w.Durations); d != "" || !w.Has(w.Notes[0].Kind) || !strings.HasPrefix(w.Notes[0].Text, "2 of 120 operators have no row") {
		t.Errorf("two rows less: %s, %+v", d, w.Notes)
	}
	for _, op := range []string{"a", "b"} {
		w := read(func(rank, step int, at string) bool { return at == op && rank == 0 && step == 5 })
		for i, d := range w.Durations {
			if off := d - whole.Durations[i]; off < -4 || off > 4 {
				t.Errorf("without %s of step 5: time %d is %d ns off", op, i, off)
			}
		}
	}
}

// TestGaps: where no operator is one in which ranks wait, the time outside operators is the rest of the step if they
// wait there, and else not known: nobody is late by it.
func TestGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for _, c := range []struct {
		name         string
		waits, walls bool
		ranks        int
		stages       string
	}{
		{"waiting outside", true, false, 4, "a b step.rest"},
		{"no waiting", false, false, 4, "a b"},
		{"one rank", false, true, 1, "a b"},
	} {
		var b strings.Builder
		b.WriteString("rank,step,op,start,duration\n")
		begin := make([]int, c.ranks)
		for step := range 30 {
			end, last := make([]int, c.ranks), 0
			for rank := range c.ranks {
				a, d := 1000+rng.IntN(200), 2000+rng.IntN(400)
				fmt.Fprintf(&b, "%d,%d,a,%d,%d\n%d,%d,b,%d,%d\n", rank, step, begin[rank], a, rank, step, begin[rank]+a, d)
				end[rank] = begin[rank] + a + d
				last = max(last, end[rank])
			}
			for rank := range c.ranks {
				if begin[rank] = last + 50; !c.waits {
					begin[rank] = end[rank] + 50 + rng.IntN(300)
				}
			}
		}
		r, err := csv.NewReader(strings.NewReader(b.String()), "t", csv.Options{Unit: csv.Nanoseconds})
		if w := only(t, r, err); strings.Join(w.Schema.Stages, " ") != c.stages || (w.Wall != nil) != c.walls {
			t.Errorf("%s: stages %q, wall times: %v, want %s, %v", c.name, w.Schema.Stages, w.Wall != nil, c.stages, c.walls)
		}
	}
}

// TestManyOperators: of many short operators neighbours are one stage, up to where ranks wait, or may in the only collective of its name; a long one
// stays by itself. The times of a step stay what they are.
func TestManyOperators(t *testing.T) {
	var b strings.Builder
	b.WriteString("rank,step,op,start,duration\n")
	rng := rand.New(rand.NewPCG(7, 8))
	begin := [2]int{1000, 90000}
	for step := range 12 {
		var came [2]int
		for rank := range 2 {
			for k := range 24 {
				name, took := fmt.Sprintf("op%d", k), 100+rng.IntN(10)
				switch {
				case k == 20:
					took *= 10
				case k == 13:
					name = "all_reduce"
				case k > 20:
					name = "same"
				}
				fmt.Fprintf(&b, "%d,%d,%s,%d,%d\n", rank, step, name, begin[rank]+came[rank], took)
				came[rank] += took
			}
		}
		for rank := range 2 {
			end := max(came[0], came[1]) + 50
			fmt.Fprintf(&b, "%d,%d,barrier,%d,%d\n", rank, step, begin[rank]+came[rank], end-came[rank])
			begin[rank] += end
		}
	}
	r, err := csv.NewReader(strings.NewReader(b.String()), "t", csv.Options{Unit: csv.Nanoseconds})
	w := only(t, r, err)
	// A step takes 20 · 104 + 1040 + 3 · 104 + 50 ns, of which an eighth is four operators.
	want := "op0…op3 op4…op7 op8…op11 op12…all_reduce op14…op17 op18…op19 op20 same@0…2 wait.barrier"
	if got := strings.Join(w.Schema.Stages, " "); got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
	for step := range w.Steps() - 1 {
		sum := int64(0)
		for i, d := range w.Step(step) {
			if i%2 == 0 {
				sum += d
			}
		}
		if sum != w.WallOf(step)[0] {
			t.Errorf("step %d: operators take %d ns of %d", step, sum, w.WallOf(step)[0])
		}
	}
}

// TestConstantOperators: an operator that always takes as long is no column that may hold something else.
func TestConstantOperators(t *testing.T) {
	var b strings.Builder
	b.WriteString("rank,step,op,start,duration\n")
	for step := range 20 {
		fmt.Fprintf(&b, "0,%d,a,%d,2000000\n0,%d,b,%d,%d\n", step, 9000000*step, step, 9000000*step+2000000, 5000000+step)
	}
	r, err := csv.NewReader(strings.NewReader(b.String()), "t", csv.Options{})
	if w := only(t, r, err); len(w.Notes) > 0 {
		t.Errorf("notes %+v", w.Notes)
	}
}

// TestCollectives: a collective is a measured wait where its name and its times say so: not under another name, and
// not where nobody waits in it.
func TestCollectives(t *testing.T) {
	late := func(rank, step int) int { return (step*7 + rank*3) % 5 }
	none := func(int, int, string) bool { return false }
	waits := table(2, 12, late, none)
	var alone strings.Builder
	alone.WriteString("rank,step,op,start,duration\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 40 {
		for rank := range 2 {
			a, c := 20+rng.IntN(5), 10+rng.IntN(5)
			fmt.Fprintf(&alone, "%d,%d,a,%d,%d\n%d,%d,allreduce,%d,%d\n", rank, step, 100*step, a, rank, step, 100*step+a, c)
		}
	}
	for _, c := range []struct{ text, want string }{
		{waits, "wait.allreduce"},
		{strings.ReplaceAll(waits, "allreduce", "phase"), "phase"},
		{alone.String(), "allreduce"},
	} {
		r, err := csv.NewReader(strings.NewReader(c.text), "t", csv.Options{Unit: csv.Nanoseconds})
		if w := only(t, r, err); w.Schema.Stages[1] != c.want {
			t.Errorf("stage %q, want %q", w.Schema.Stages[1], c.want)
		}
	}
}

// TestJSONLines: objects are read as the rows of a table, with keys in any order, and a line that breaks off ends it.
func TestJSONLines(t *testing.T) {
	const text = `{"rank":0,"step":0,"op":"a","start_us":100,"dur_us":10.5}
{"step":0,"rank":0,"op":"b","dur_us":20,"start_us":115}

{"rank":0,"step":1,"op":"a","start_us":140,"dur_us":10}
{"rank":0,"step":1,"op":"b","start_us":155,"dur_us":20}
{"rank":0,"step":2,"op":"a","sta`
	r, err := openJSON(strings.NewReader(text))
	w := only(t, r, err)
	if !slices.Equal(w.Durations, []int64{10500, 20000, 10000, 20000}) || !slices.Contains(kinds(w), "truncated") {
		t.Errorf("%v, %v", w.Durations, kinds(w))
	}
	for _, bad := range []string{"[1]\n", `{"rank":0,"step":0,"op":"a","start":1.5,"duration":3}`, `{"rank":0,"step":0,"op":"a","start":-1,"duration":3}`, `{"rank":0,"step":0,"op":"","start":1,"duration":3}`} {
		if _, err := openJSON(strings.NewReader(bad + "\n" + bad + "\n")); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// TestParquetOperators: columns of timestamps say when operators began, in their own unit.
func TestParquetOperators(t *testing.T) {
	type row struct {
		Rank  int64   `parquet:"rank"`
		Step  int32   `parquet:"step"`
		Op    string  `parquet:"op,dict"`
		Start int64   `parquet:"start,timestamp(microsecond)"`
		Took  float64 `parquet:"duration_ms"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{0, 0, "a", 100, 0.01}, {0, 0, "b", 115, 0.02}, {0, 1, "a", 140, 0.0105}, {0, 1, "b", 155, 0.02}}); err != nil {
		t.Fatal(err)
	}
	r, err := openParquet(own.Input{R: bytes.NewReader(file.Bytes()), Size: int64(file.Len()), Name: "t"}, csv.Options{})
	if w := only(t, r, err); !slices.Equal(w.Durations, []int64{10000, 20000, 10500, 20000}) || !slices.Equal(w.Wall, []int64{40000, 35000}) {
		t.Errorf("%v of %v", w.Durations, w.Wall)
	}
}

// TestOperatorTrace: an operator trace without a schedule gives the window of the same table.
func TestOperatorTrace(t *testing.T) {
	text := table(2, 8, func(rank, step int) int { return (step*7 + rank*3) % 5 }, func(int, int, string) bool { return false })
	r, err := csv.NewReader(strings.NewReader(text), "t", csv.Options{Unit: csv.Nanoseconds})
	want := only(t, r, err)
	o := &operator.Trace{Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Layout: operator.Layout{PP: 1}}
	for line := range strings.Lines(text) {
		var rank, step, start, took int
		name := ""
		if n, _ := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%d %d %s %d %d", &rank, &step, &name, &start, &took); n < 5 {
			continue
		}
		o.Rank, o.Step = append(o.Rank, int32(rank)), append(o.Step, int32(step))
		o.Name = append(o.Name, operator.Number(map[string]int32{"a": 0, "allreduce": 1, "b": 2}, &o.Names, name))
		o.Start, o.Dur = append(o.Start, int64(start)), append(o.Dur, int64(took))
	}
	o.Names = []string{"a", "allreduce", "b"}
	for step := range 8 {
		o.Steps = append(o.Steps, int64(step))
	}
	r, err = csv.NewOperatorReader(o, "t", csv.Options{})
	got := only(t, r, err)
	if d := cmp.Diff(want.Durations, got.Durations); d != "" || !slices.Equal(want.Schema.Stages, got.Schema.Stages) || !slices.Equal(want.Wall, got.Wall) {
		t.Errorf("(-table +trace)\n%s%q", d, got.Schema.Stages)
	}
}

// FuzzOperators: whatever a table of operators holds, its windows are valid, and no step's operators take longer
// than it.
func FuzzOperators(f *testing.F) {
	f.Add("rank,step,op,start,duration\n0,0,all,100,50\n0,0,a,110,10\n0,1,all,160,50\n")
	f.Add(table(2, 8, func(rank, step int) int { return step % 3 }, func(rank, step int, op string) bool { return (step+rank)%5 == 2 && op == "a" }))
	f.Add("rank,step,op,start,end\n0,0,nccl:all_reduce,5,9\n0,0,b,1,7\n1,0,b,1,7\n1,0,nccl:all_reduce,2,3\n0,2,b,3,4\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := csv.NewReader(strings.NewReader(text), "t", csv.Options{Unit: csv.Nanoseconds})
		if err != nil {
			return
		}
		for {
			w, err := r.Next()
			if err != nil {
				return
			}
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
			if w.Wall == nil || !strings.HasPrefix(text, "rank,step,op,start,duration\n") {
				continue
			}
			S, R := len(w.Schema.Stages), len(w.Ranks)
			for step := range w.Steps() {
				for rank := range R {
					sum := int64(0)
					for s := range S {
						sum += w.Step(step)[s*R+rank]
					}
					if sum > w.WallOf(step)[rank] {
						t.Fatalf("step %d, rank %d: operators take %d ns of %d", step, rank, sum, w.WallOf(step)[rank])
					}
				}
			}
		}
	})
}

// openJSON opens a table of JSON objects.
func openJSON(r io.Reader) (*csv.Reader, error) {
	return csv.Open(csv.NewJSON(r, "t", ingest.Limits{}), csv.Options{})
}
