package csv_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

func read(text string) ([]*trace.Window, error) {
	r, err := csv.NewReader(strings.NewReader(text), "dir/table.csv", csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		return nil, err
	}
	return ingesttest.ReadAll(r)
}

// two is the window that most tables below spell: steps 5 and 6 of two ranks,
// stages a and b.
func two(edit func(w *trace.Window)) *trace.Window {
	w := &trace.Window{Run: "table.csv", FirstStep: 5, WorldSize: 2, Accumulation: 1, Schema: trace.Schema{Stages: []string{"a", "b"}},
		Ranks: []trace.Rank{{ID: 0, LocalRank: -1}, {ID: 1, LocalRank: -1}}, Durations: []int64{10, 20, 11, 21, 30, 40, 31, 41}}
	if edit != nil {
		edit(w)
	}
	return w
}

func TestTables(t *testing.T) {
	wall := func(w *trace.Window) { w.Wall = []int64{100, 200, 300, 400} }
	tests := []struct {
		name, text string
		want       []*trace.Window
	}{
		{"least", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", []*trace.Window{two(nil)}},
		{"by rank", "rank,step,a,b\n0,5,10,11\n0,6,30,31\n1,5,20,21\n1,6,40,41\n", []*trace.Window{two(nil)}},
		{"any order", "step,rank,a,b\n6,1,40,41\n5,0,10,11\n6,0,30,31\n5,1,20,21\n", []*trace.Window{two(nil)}},
		{"semicolons", "step;rank;a;b\n5;0;10;11\n5;1;20;21\n6;0;30;31\n6;1;40;41\n", []*trace.Window{two(nil)}},
		{"tabs", "step\trank\ta\tb\n5\t0\t10\t11\n5\t1\t20\t21\n6\t0\t30\t31\n6\t1\t40\t41\n", []*trace.Window{two(nil)}},
		{"CRLF and byte-order mark", "\xEF\xBB\xBFstep,rank,a,b\r\n5,0,10,11\r\n5,1,20,21\r\n6,0,30,31\r\n6,1,40,41\r\n", []*trace.Window{two(nil)}},
		{"no last line end", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41", []*trace.Window{two(nil)}},
		{"empty lines", "\nstep,rank,a,b\n\n5,0,10,11\n5,1,20,21\n  \n6,0,30,31\n6,1,40,41\n\n\n", []*trace.Window{two(nil)}},
		{"quotes", "\"step\",\"rank\",\"a\",b\n\"5\",0,\"10\",11\n5,\"1\",20,\"21\"\n6,0,30,31\n6,1,40,41\n", []*trace.Window{two(nil)}},
		{"blanks", "step, rank , a ,b\n5, 0,10 ,11\n 5,1,20,21\n6,0, \"30\",31\n6,1,40,41 \n", []*trace.Window{two(nil)}},
		{"capitals", "Step,RANK,a,b,Wall_NS\n5,0,10,11,100\n5,1,20,21,200\n6,0,30,31,300\n6,1,40,41,400\n", []*trace.Window{two(wall)}},
		{"leading zeros and signs", "step,rank,a,b\n05,00,+10,0000000000000000000000011\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", []*trace.Window{two(nil)}},
		{"empty wall", "step,rank,a,wall_ns,b\n5,0,10,,11\n5,1,20,,21\n6,0,30,,31\n6,1,40,,41\n", []*trace.Window{two(nil)}},
		{"some walls", "step,rank,a,b,wall_ns\n5,0,10,11,1\n5,1,20,21,\n6,0,30,31,3\n6,1,40,41,4\n", []*trace.Window{two(func(w *trace.Window) {
			w.Notes = []input.Note{{Kind: input.NoteWallMissing, Text: "some ranks recorded no wall time: it is not used, and there is no residual stage"}}
		})}},
		{"attributes", "run,window,step,rank,world_size,a,b,host,local_rank,role,accumulation,gather_ok,data_wait\n" +
			"j,-3,5,0,3,10,11,n0,0,\"dp=0,pp=1\",4,true,preceding\nj,-3,5,2,3,20,21,\"n,\"\"1\"\"\n\",1,\"pp=1, dp=1\",4,FALSE,preceding\n" +
			"j,-3,6,0,3,30,31,n0,0,\"dp=0,pp=1\",4,true,preceding\nj,-3,6,2,3,40,41,\"n,\"\"1\"\"\n\",1,\"pp=1, dp=1\",4,FALSE,preceding\n",
			[]*trace.Window{two(func(w *trace.Window) {
				w.Run, w.Index, w.WorldSize, w.Accumulation, w.DataWait, w.GatherFailed = "j", -3, 3, 4, trace.DataWaitPreceding, []int{2}
				w.Ranks = []trace.Rank{{ID: 0, Host: "n0", Role: trace.Role{{Axis: "dp"}, {Axis: "pp", Index: 1}}},
					{ID: 2, Host: "n,\"1\"\n", LocalRank: 1, Role: trace.Role{{Axis: "dp", Index: 1}, {Axis: "pp", Index: 1}}}}
				w.Notes = []input.Note{{Kind: input.NoteGatherFailed, Text: "the recorder could not gather the window on rank 2"},
					{Kind: input.NoteMissingRanks, Text: "1 of 3 ranks did not report steps 5 to 6: 1"}}
			})}},
		{"side channels", "step,rank,a,b,e,e.ready,ready:f,side:f\n5,0,10,11,1.5,true,,\n5,1,20,21,NaN,false,,\n6,0,30,31,,,1,0.1\n6,1,40,41,7e-3,1,,\n",
			[]*trace.Window{two(func(w *trace.Window) {
				w.Side = []trace.SideChannel{{Name: "e", Samples: []trace.Sample{{Step: 5, Value: 1.5, Ready: true}, {Step: 5, Rank: 1, Value: nan}, {Step: 6, Rank: 1, Value: 0.007, Ready: true}}},
					{Name: "f", Samples: []trace.Sample{{Step: 6, Value: 0.1, Ready: true}}}}
			})}},
		{"stages with taken names", "step,rank,stage:rank,stage:stage:x\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n", []*trace.Window{two(func(w *trace.Window) {
			w.Schema.Stages = []string{"rank", "stage:x"}
		})}},
		{"cut in the last row", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n7,0,5", []*trace.Window{two(func(w *trace.Window) {
			w.Notes = []input.Note{{Kind: input.NoteTruncated, Text: "dir/table.csv:6: the input ends inside of a row, as when a job is killed (truncated)"}}
		})}},
		{"cut in quotes", "step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n6,1,40,41\n7,\"0,5,6\n", []*trace.Window{two(func(w *trace.Window) {
			w.Notes = []input.Note{{Kind: input.NoteTruncated, Text: "dir/table.csv:6: the input ends inside of a row, as when a job is killed (truncated)"}}
		})}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, bitwise); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// shapeOf tells what was read in a line: per window its number, steps, ranks
// and the kinds of its notes.
func shapeOf(windows []*trace.Window) string {
	var b strings.Builder
	for _, w := range windows {
		var ids []int
		for _, r := range w.Ranks {
			ids = append(ids, r.ID)
		}
		fmt.Fprintf(&b, "%s/%d %d+%d of %s", w.Run, w.Index, w.FirstStep, w.Steps(), trace.RankList(ids))
		for _, n := range w.Notes {
			fmt.Fprintf(&b, " %s", n.Kind)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestSplitting(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"windows", "window,step,rank,a\n0,1,0,1\n0,2,0,1\n1,3,0,1\n1,4,0,1\n", "table.csv/0 1+2 of 0; table.csv/1 3+2 of 0"},
		{"runs", "run,step,rank,a\nx,1,0,1\ny,1,0,1\n", "x/0 1+1 of 0; y/0 1+1 of 0"},
		{"step gap", "step,rank,a\n1,0,1\n1,1,1\n2,0,1\n2,1,1\n5,0,1\n5,1,1\n", "table.csv/0 1+2 of 0-1 step_gap; table.csv/0 5+1 of 0-1"},
		{"two gaps by rank", "step,rank,a\n1,0,1\n3,0,1\n5,0,1\n1,1,1\n3,1,1\n5,1,1\n", "table.csv/0 1+1 of 0-1 step_gap; table.csv/0 3+1 of 0-1 step_gap; table.csv/0 5+1 of 0-1"},
		{"rank starts late", "step,rank,a\n1,0,1\n2,0,1\n2,1,1\n3,0,1\n3,1,1\n", "table.csv/0 1+1 of 0 missing_ranks missing_ranks; table.csv/0 2+2 of 0-1"},
		{"rank misses a step", "step,rank,a\n1,0,1\n1,1,1\n2,0,1\n3,0,1\n3,1,1\n",
			"table.csv/0 1+1 of 0-1 missing_ranks; table.csv/0 2+1 of 0 missing_ranks missing_ranks; table.csv/0 3+1 of 0-1"},
		{"rank missing by world size", "world_size,step,rank,a\n4,1,1,1\n4,1,3,1\n", "table.csv/0 1+1 of 1,3 missing_ranks"},
		{"host changes", "step,rank,a,host\n1,0,1,x\n2,0,1,y\n", "table.csv/0 1+2 of 0 topology_changed"},
		{"world sizes differ", "step,rank,world_size,a\n1,0,3,1\n1,1,3,1\n1,2,4,1\n", "table.csv/0 1+1 of 0-1 world_size_changed missing_ranks"},
		{"accumulation differs", "step,rank,accumulation,a\n1,0,1,1\n1,1,1,1\n1,2,2,1\n", "table.csv/0 1+1 of 0-1 accumulation_changed missing_ranks"},
		{"an empty cell", "step,rank,a\n1,0,1\n1,1,1\n2,0,1\n2,1,\n3,0,1\n3,1,1\n",
			"table.csv/0 1+1 of 0-1 missing_ranks rows_empty; table.csv/0 2+1 of 0 missing_ranks missing_ranks; table.csv/0 3+1 of 0-1"},
		{"empty cells of a step", "step,rank,a,b\n1,0,1,1\n1,1,1,1\n2,0,,1\n2,1,1,\n3,0,1,1\n3,1,1,1\n", "table.csv/0 1+1 of 0-1 step_gap rows_empty; table.csv/0 3+1 of 0-1"},
		{"window number again later", "window,step,rank,a\n0,1,0,1\n1,2,0,1\n0,3,0,1\n", "table.csv/0 1+1 of 0; table.csv/1 2+1 of 0; table.csv/0 3+1 of 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			windows, err := read(tt.text)
			if got := shapeOf(windows); err != nil || got != tt.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, tt.want)
			}
		})
	}
}

// The rows of a table that is patchy keep their values, samples and walls.
func TestPatchyKeepsValues(t *testing.T) {
	got, err := read("step,rank,a,b,wall_ns,e,e.ready\n1,1,3,4,9,,\n1,0,1,2,8,0.5,true\n2,1,5,6,7,0.25,false\n")
	if err != nil {
		t.Fatal(err)
	}
	base := trace.Window{Run: "table.csv", WorldSize: 2, Accumulation: 1, Schema: trace.Schema{Stages: []string{"a", "b"}}}
	first, second := base, base
	first.FirstStep, first.Ranks = 1, []trace.Rank{{ID: 0, LocalRank: -1}, {ID: 1, LocalRank: -1}}
	first.Durations, first.Wall = []int64{1, 3, 2, 4}, []int64{8, 9}
	first.Side = []trace.SideChannel{{Name: "e", Samples: []trace.Sample{{Step: 1, Value: 0.5, Ready: true}}}}
	second.FirstStep, second.Ranks = 2, []trace.Rank{{ID: 1, LocalRank: -1}}
	second.Durations, second.Wall = []int64{5, 6}, []int64{7}
	second.Side = []trace.SideChannel{{Name: "e", Samples: []trace.Sample{{Step: 2, Value: 0.25}}}}
	for _, w := range got {
		w.Notes = nil
	}
	if d := cmp.Diff([]*trace.Window{&first, &second}, got); d != "" {
		t.Error(d)
	}
}

func TestHostile(t *testing.T) {
	const head = "step,rank,a,wall_ns\n1,0,5,6\n"
	tests := []struct {
		name, text string
		want       error
		says       string
	}{
		{"empty", "", input.ErrEmpty, "no header"},
		{"blank", " \n\t\n", input.ErrEmpty, "no header"},
		{"header only", "step,rank,a\n", io.EOF, ""},
		{"no step", "rank,a\n", input.ErrMissing, `no column of the step among "rank", "a"`},
		{"no rank", "step,a\n", input.ErrMissing, "no column of the rank"},
		{"no stage", "step,rank,window\n", input.ErrMissing, "no stage"},
		{"whole steps alone, not all", "step,rank,step_time_ms\n1,0,\n", input.ErrMissing, ":2[column step_time_ms]"},
		{"no header", "1,0,5,6\n", input.ErrMissing, "no column of the step"},
		{"column twice", "step,rank,a,a\n", input.ErrDuplicate, `"a"`},
		{"column twice in other letters", "step,rank,Rank,a\n", input.ErrDuplicate, `"rank"`},
		{"residual stage", "step,rank," + stagename.Residual + "\n", input.ErrDuplicate, "derived"},
		{"nothing but nameless columns", "step,rank,,\n", input.ErrMissing, "no stage"},
		{"long name", "step,rank," + strings.Repeat("x", 600) + "\n", input.ErrTooLarge, "600 bytes"},
		{"too many columns", "step,rank" + strings.Repeat(",a", 20000) + "\n", input.ErrTooLarge, "columns"},
		{"too many stages", "step,rank" + func() (s string) {
			for i := range 5000 {
				s += fmt.Sprintf(",a%d", i)
			}
			return s
		}() + "\n", input.ErrTooLarge, "5000 stages"},
		{"channel without readiness", "step,rank,a,side:x\n", input.ErrRagged, `"x"`},
		{"header not UTF-8", "step,rank,a\xff\n", input.ErrFormat, "UTF-8"},
		{"UTF-16", "s\x00t\x00e\x00p\x00,\x00r\x00a\x00n\x00k\x00\n", input.ErrMissing, "no column of the step"},
		{"operator trace", "dp_rank,stage,rank,step,optype,start_ts,duration\n", io.EOF, ""}, // all others would be stages; ingest/auto knows better
		{"negative", head + "1,1,-5,6\n", input.ErrNegative, ":3[column a]"},
		{"negative fraction", head + "1,1,-0.5,6\n", input.ErrNegative, ":3[column a]"},
		{"fraction", head + "1,1,5,6.5\n", input.ErrType, ":3[column wall_ns]"},
		{"exponent", head + "1,1,5e6,6\n", input.ErrType, `"5e6"`},
		{"nothing but NaN", "step,rank,a\n1,0,NaN\n1,1,null\n", input.ErrMissing, "column a"},
		{"infinity", head + "1,1,-inf,6\n", input.ErrNotFinite, "column a"},
		{"huge exponent", head + "1,1,1e999,6\n", input.ErrNotFinite, "column a"},
		{"nothing but empty cells", "step,rank,a,b\n1,0,5,\n1,1,5,\n", input.ErrMissing, ":2[column b]: no row has a value in every stage"},
		{"empty step", head + ",1,5,6\n", input.ErrMissing, "column step"},
		{"text", head + "1,1,fast,6\n", input.ErrType, `"fast"`},
		{"hexadecimal", head + "1,1,0x10,6\n", input.ErrType, `"0x10"`},
		{"thousands", head + "1,1,\"1,000,5\",6\n", input.ErrType, `"1,000,5"`},
		{"overflow", head + "1,1,9223372036854775808,6\n", input.ErrOverflow, "column a"},
		{"overflow by far", head + "1,1," + strings.Repeat("9", 1000) + ",6\n", input.ErrOverflow, "column a"},
		{"sum overflows", head + "1,1,9223372036854775807,6\n", input.ErrOverflow, "table.csv:3[column a]"},
		{"too few cells", head + "1,1,5\n2,0,5,6\n", input.ErrRagged, "3 cells, the header has 4"},
		{"too few cells at the end", head + "1,1,5\n", input.ErrRagged, ":3"},
		{"too many cells", head + "1,1,5,6,7\n", input.ErrRagged, "4 columns"},
		{"text after quotes", head + "1,1,\"5\"6,6\n", input.ErrFormat, "closing quote"},
		{"quote in the middle", head + "1,1,5\"\",6\n", input.ErrFormat, "quotes inside of a cell"},
		{"open quote", head + "1,1,\"5,6\n" + strings.Repeat("1,1,5,6\n", 200000), input.ErrTooLarge, ":3"},
		{"row twice", head + "1,1,5,6\n1,0,5,6\n", input.ErrDuplicate, ":4: rank 0 reports step 1 of window 0 of run \"table.csv\" twice, first at line 2: after a restart, number the launches in a column run, or window"},
		{"row twice and nothing else", head + "1,0,5,6\n", input.ErrDuplicate, ":3"},
		{"row twice where another is missing", head + "1,0,5,6\n2,0,5,6\n1,1,5,6\n", input.ErrDuplicate, ":3"},
		{"negative step", "step,rank,a\n-1,0,1\n", input.ErrNegative, "column step"},
		{"step overflows", "step,rank,a\n9223372036854775807,0,1\n", input.ErrOverflow, "column step"},
		{"steps far apart", "step,rank,a\n0,0,1\n2305843009213693951,0,1\n", nil, ""},
		{"rank too large", "step,rank,a\n0,1048576,1\n", input.ErrTooLarge, "column rank"},
		{"rank outside the world", "step,rank,a,world_size\n0,2,1,2\n", input.ErrTooLarge, "world of 2"},
		{"world of none", "step,rank,a,world_size\n0,2,1,0\n", input.ErrTooLarge, "column world_size"},
		{"bad role", "step,rank,a,role\n0,0,1,first\n", input.ErrFormat, "column role"},
		{"role twice", "step,rank,a,role\n0,0,1,\"dp=1,dp=2\"\n", input.ErrDuplicate, "dp"},
		{"negative role", "step,rank,a,role\n0,0,1,dp=-1\n", input.ErrNegative, "dp"},
		{"bad flag", "step,rank,a,gather_ok\n0,0,1,maybe\n", input.ErrType, "column gather_ok"},
		{"bad data wait", "step,rank,a,data_wait\n0,0,1,maybe\n", input.ErrType, "column data_wait"},
		{"bad local rank", "step,rank,a,local_rank\n0,0,1,-2\n", input.ErrNegative, "column local_rank"},
		{"bad accumulation", "step,rank,a,accumulation\n0,0,1,5000\n", input.ErrTooLarge, "column accumulation"},
		{"host not UTF-8", "step,rank,a,host\n0,0,1,\xff\n", input.ErrFormat, "column host"},
		{"run not UTF-8", "step,rank,a,run\n0,0,1,\xff\n", input.ErrFormat, "column run"},
		{"bad sample", "step,rank,a,e,e.ready\n0,0,1,x,true\n", input.ErrType, "column e"},
		{"sample without readiness", "step,rank,a,e,e.ready\n0,0,1,3,\n", input.ErrRagged, `"e"`},
		{"readiness without sample", "step,rank,a,e,e.ready\n0,0,1,,true\n", input.ErrRagged, `"e"`},
		{"sample negative", "step,rank,a,e,e.ready\n0,0,1,-3,true\n", input.ErrNegative, `"e"`},
		{"sample not finite", "step,rank,a,e,e.ready\n0,0,1,Inf,true\n", input.ErrNotFinite, `"e"`},
		{"by rank across windows", "window,step,rank,a\n0,1,0,1\n1,2,0,1\n0,1,1,1\n1,2,1,1\n", input.ErrDuplicate, "order the rows by run and window"},
		{"cut in the first row", "step,rank,a\n1,0", input.ErrTruncated, ":2"},
		{"control characters", "step,rank,a\x1b[2J\n1,0,x\n", input.ErrType, `\x1b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			windows, err := read(tt.text)
			if tt.want == nil || tt.want == io.EOF {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				if tt.want == io.EOF && len(windows) > 0 {
					t.Fatalf("%d windows of a table without rows", len(windows))
				}
				return
			}
			if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Fatalf("error %q, want kind %q and the words %q", err, tt.want, tt.says)
			}
			ingesttest.CheckPosition(t, err, "dir/table.csv")
		})
	}
}

// Windows that came before the bad row are read.
func TestGoodBeforeBad(t *testing.T) {
	windows, err := read("window,step,rank,a\n0,1,0,1\n1,2,0,1\n2,3,0,x\n")
	if shapeOf(windows) != "table.csv/0 1+1 of 0" || !errors.Is(err, input.ErrType) {
		t.Errorf("%s, %v", shapeOf(windows), err)
	}
}

// A compressed input that is cut off may end inside of the last number: that
// row is dropped.
func TestCutCompressed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "step,rank,a\n1,0,1000\n2,0,1000\n3,0,10")
	z.Flush()
	src, err := ingest.NewSource(&packed, "x.csv.gz", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := csv.NewReader(src, "x.csv.gz", csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := ingesttest.ReadAll(r)
	if err != nil || shapeOf(windows) != "x.csv.gz/0 1+2 of 0 truncated" {
		t.Errorf("%s, %v", shapeOf(windows), err)
	}
}

// What is cut off may be all that there was of a rank.
func TestCutDropsRank(t *testing.T) {
	r, err := csv.NewReader(io.MultiReader(strings.NewReader("step,rank,a\n1,0,5\n1,0,5\n1,1,5"), iotest.ErrReader(input.ErrTruncated)), "x", csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, input.ErrDuplicate) {
		t.Errorf("error %v, want that of the row that is there twice", err)
	}
}

// Attributes that begin like those of the row before, or change with the set
// of ranks, are told apart.
func TestAttributesChange(t *testing.T) {
	windows, err := read("window,step,rank,a,host\n0,1,0,5,n1\n1,2,0,5,n12\n1,3,0,5,n12\n2,4,0,5,n1\n")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, w := range windows {
		hosts = append(hosts, w.Ranks[0].Host)
	}
	if d := cmp.Diff([]string{"n1", "n12", "n1"}, hosts); d != "" {
		t.Error(d)
	}
	windows, err = read("step,rank,a,host,role\n1,0,5,n1,dp=1\n2,0,5,n1,dp=12\n")
	if got := shapeOf(windows); err != nil || got != "table.csv/0 1+2 of 0 topology_changed" {
		t.Errorf("%s, %v", got, err)
	}
	windows, err = read("step,rank,a,host\n1,0,5,n1\n1,1,5,n1\n2,0,5,n2\n")
	if err != nil || len(windows) != 2 || windows[1].Ranks[0].Host != "n2" || windows[1].Has(input.NoteTopologyChanged) {
		t.Errorf("a rank that moves as another leaves: %s, %v", shapeOf(windows), err)
	}
}

func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("step,rank,a\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "%d,0,1\n", i)
	}
	r, err := csv.NewReader(strings.NewReader(b.String()), "x", csv.Options{Limits: ingest.Limits{Pending: 10000}, Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Next(); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("pending: %v", err)
	}
	if _, again := r.Next(); again != err {
		t.Errorf("the error does not stay: %v", again)
	}
	if _, err := csv.NewReader(strings.NewReader("step,rank,"+strings.Repeat("a", 100)+"\n"), "x", csv.Options{Limits: ingest.Limits{Line: 50}, Unit: csv.Nanoseconds}); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("line: %v", err)
	}
}

// What a few bytes claim, and tables full of holes, are refused or read in a
// time that their size explains. Without bounds these take minutes.
func TestAbsurdClaims(t *testing.T) {
	var far, holes strings.Builder
	far.WriteString("step,rank,a\n")
	holes.WriteString("step,rank,a\n")
	for i := range 20000 {
		fmt.Fprintf(&far, "%d,%d,1\n", 3*i, 1<<20-1)
		fmt.Fprintf(&holes, "%d,%d,1\n", i, i%2)
	}
	if windows, err := read(far.String()); err != nil || len(windows) != 20000 {
		t.Errorf("windows of one rank in a world of a million: %d, %v", len(windows), err)
	}
	if _, err := read(holes.String()); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("ranks that take turns: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	r, err := csv.NewReader(io.MultiReader(strings.NewReader("step,rank,a\n1,0,1\n"), iotest.ErrReader(broken)), "x", csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

// packed says that it is stored in 1000 bytes, as a file that was compressed does.
type packed struct{ io.Reader }

func (packed) Size() int64 { return 1000 }

// TestRowsInStretches: rows that take more memory than may be held are read in stretches of steps, whatever order they come in, and have all that stands in them.
func TestRowsInStretches(t *testing.T) {
	const ranks, steps = 4, 20_000
	for name, at := range map[string]func(i int) (step, rank int){
		"by step":  func(i int) (int, int) { return i / ranks, i % ranks },
		"by rank":  func(i int) (int, int) { return i % steps, i / steps },
		"reversed": func(i int) (int, int) { return steps - 1 - i/ranks, i % ranks },
	} {
		var text strings.Builder
		text.WriteString("step,rank,host,a,b,e,e.ready\n")
		for i := range ranks * steps {
			step, rank := at(i)
			sampled := ","
			if step%1000 == 7 {
				sampled = fmt.Sprintf("%d.5,%v", step, rank == 2)
			}
			fmt.Fprintf(&text, "%d,%d,h%d,%d,%d,%s\n", step, rank, rank/2, 1_000_000+step*389%977, rank, sampled)
		}
		r, err := csv.NewReader(strings.NewReader(text.String()), "x", csv.Options{Unit: csv.Nanoseconds, Limits: ingest.Limits{Pending: 2 << 20, Table: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		next, samples, windows := int64(0), 0, 0
		for ; ; windows++ {
			w, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil || w.Index != int64(windows) || w.FirstStep != next || len(w.Ranks) != ranks || w.Ranks[3].Host != "h1" || len(w.Durations) > ranks*steps/4 {
				t.Fatalf("%s, window %d: %v, %+v", name, windows, err, w.Ranks)
			}
			for row := range w.Steps() {
				for rank, v := range w.Step(row)[:ranks] {
					if v != 1_000_000+(next+int64(row))*389%977 || w.Step(row)[ranks+rank] != int64(rank) {
						t.Fatalf("%s: step %d of rank %d takes %d", name, next+int64(row), rank, v)
					}
				}
			}
			for _, c := range w.Side {
				for _, x := range c.Samples {
					if samples++; x.Step%1000 != 7 || x.Value != float64(x.Step)+.5 || x.Ready != (x.Rank == 2) {
						t.Fatalf("%s: sample %+v", name, x)
					}
				}
			}
			next += int64(w.Steps())
		}
		if windows < 8 || next != steps || samples != ranks*steps/1000 {
			t.Errorf("%s: %d windows, %d steps, %d samples", name, windows, next, samples)
		}
	}
}

// TestRowsTwiceInSmallFile: a row that comes again is told from those of other steps, though both are held compressed.
func TestRowsTwiceInSmallFile(t *testing.T) {
	var text strings.Builder
	text.WriteString("step,rank,a\n")
	for step := range 600_000 {
		fmt.Fprintf(&text, "%d,0,1\n", step)
	}
	text.WriteString("1234,0,1\n")
	r, err := csv.NewReader(packed{strings.NewReader(text.String())}, "x", csv.Options{Unit: csv.Nanoseconds})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, input.ErrDuplicate) || !strings.Contains(err.Error(), "first at line 1236") {
		t.Errorf("error %v", err)
	}
}

// TestRowsOverAll: what is held compressed has a limit too, and so has what it stands for.
func TestRowsOverAll(t *testing.T) {
	var text strings.Builder
	text.WriteString("step,rank,a\n")
	for step := range 200_000 {
		fmt.Fprintf(&text, "%d,0,%d\n", step, rand.Int64N(1e17))
	}
	for _, lim := range []ingest.Limits{{Pending: 1 << 20, Table: 1 << 30}, {Pending: 1 << 20, Table: 1 << 21}} {
		r, err := csv.NewReader(strings.NewReader(text.String()), "x", csv.Options{Unit: csv.Nanoseconds, Limits: lim})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); !errors.Is(err, input.ErrTooLarge) {
			t.Errorf("%+v: error %v", lim, err)
		}
	}
}
