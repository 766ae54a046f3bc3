package csv_test

import (
	"bytes"
	stdcmp "cmp"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

var nan = math.NaN()

// bitwise compares float64 by bits, so that NaN equals itself.
var bitwise = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

func write(t testing.TB, windows ...*trace.Window) []byte {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, x := range windows {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContract(t *testing.T) {
	want := ingesttest.Windows(1, 5, ingesttest.Shape{Ranks: 6, Steps: 9, Stages: 3})
	b := write(t, want...)
	open := func(data []byte) (ingest.WindowReader, error) {
		return csv.NewReader(bytes.NewReader(data), "x", csv.Options{Unit: csv.Nanoseconds})
	}
	ingesttest.Reader(t, want, func() (ingest.WindowReader, error) { return open(b) })
	short := write(t, ingesttest.Windows(2, 2, ingesttest.Shape{Ranks: 2, Steps: 3, Stages: 2})...)
	ingesttest.Cut(t, short, open)
}

// random makes windows of one table in which everything varies that a table
// can hold: names that need quotes or prefixes, hosts, roles, missing ranks.
func random(g *rand.Rand) []*trace.Window {
	names := []string{"run", "stage:a", "side:b", "a,b", "c;d", "\"q\"", " x ", "e.ready", "Step", "data.next_wait@1", "new\nline", "ε", "wall_ns", "tab\t"}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	stages, channels := names[:1+g.IntN(5)], []string{"e", "e.ready.ready", "rank", "ready:z"}[:g.IntN(5)]
	var windows []*trace.Window
	step := g.Int64N(1 << 40)
	for i := range 1 + g.IntN(6) {
		R, T := 1+g.IntN(7), 1+g.IntN(9)
		w := &trace.Window{Run: names[g.IntN(len(names))], Index: int64(i) - 2, FirstStep: step, Accumulation: g.IntN(3),
			DataWait: trace.DataWait(g.IntN(3)), Schema: trace.Schema{Stages: stages}}
		step += int64(T) + g.Int64N(2)
		for range R {
			w.WorldSize++
			rank := trace.Rank{ID: w.WorldSize - 1, Host: names[g.IntN(len(names))], LocalRank: g.IntN(9) - 1}
			if g.IntN(2) == 0 {
				rank.Role = trace.Role{{Axis: " a=b,%", Index: g.IntN(9)}, {Axis: "dp", Index: g.IntN(99)}}
			}
			if g.IntN(4) == 0 {
				w.GatherFailed = append(w.GatherFailed, rank.ID)
			}
			w.Ranks = append(w.Ranks, rank)
		}
		for range T * len(stages) * R {
			w.Durations = append(w.Durations, g.Int64()>>(g.IntN(53)+11))
		}
		for range T * R * g.IntN(2) {
			w.Wall = append(w.Wall, g.Int64()>>(g.IntN(53)+11))
		}
		for _, name := range channels {
			c := trace.SideChannel{Name: name}
			for k := range T * R {
				if s := (trace.Sample{Step: w.FirstStep + int64(k/R), Rank: k % R, Value: g.ExpFloat64(), Ready: true}); g.IntN(2) == 0 {
					if g.IntN(3) == 0 {
						s.Value, s.Ready = []float64{nan, math.Inf(1), math.Copysign(0, -1), 5e-324}[g.IntN(4)], false
					}
					c.Samples = append(c.Samples, s)
				}
			}
			if c.Samples != nil || i == 0 {
				w.Side = append(w.Side, c)
			}
		}
		windows = append(windows, w)
	}
	return windows
}

func TestRoundTripRandom(t *testing.T) {
	for seed := range uint64(300) {
		windows := random(rand.New(rand.NewPCG(seed, 2)))
		b := write(t, windows...)
		r, err := csv.NewReader(bytes.NewReader(b), "x", csv.Options{Unit: csv.Nanoseconds})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		got, err := ingesttest.ReadAll(r)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		for _, w := range windows { // a channel without samples leaves no trace
			var side []trace.SideChannel
			for _, c := range w.Side {
				if c.Samples != nil {
					side = append(side, c)
				}
			}
			w.Side = side
			if w.GatherFailed != nil {
				w.Notes = append(w.Notes, input.Note{Kind: input.NoteGatherFailed, Text: "the recorder could not gather the window on " + trace.Ranks(w.GatherFailed)})
			}
		}
		if d := cmp.Diff(windows, got, bitwise); d != "" {
			t.Fatalf("seed %d (-written +read)\n%.3000s\n%s", seed, d, b)
		}
	}
}

// Windows that closed because ranks or steps were missing close again where
// they did.
func TestRoundTripPatchy(t *testing.T) {
	first, err := read("window,step,rank,world_size,a,b,wall_ns\n" +
		"0,1,0,3,1,2,3\n0,1,1,3,4,5,6\n0,2,0,3,1,2,3\n0,3,0,3,1,2,3\n0,3,1,3,8,9,9\n0,6,0,3,1,1,1\n0,6,1,3,1,1,1\n1,7,2,3,1,2,3\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 5 {
		t.Fatalf("%d windows, want 5: %s", len(first), shapeOf(first))
	}
	again, err := read(string(write(t, first...)))
	if d := cmp.Diff(first, again); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func TestWriterRefuses(t *testing.T) {
	base := func() *trace.Window {
		return ingesttest.Windows(3, 1, ingesttest.Shape{Ranks: 2, Steps: 3, Stages: 2})[0]
	}
	tests := []struct {
		name string
		edit func(w *trace.Window)
		want error
	}{
		{"other stages", func(w *trace.Window) { w.Schema.Stages = []string{"x", "y"} }, csv.ErrSchemaChanged},
		{"other channel", func(w *trace.Window) { w.Side[0].Name = "x" }, csv.ErrSchemaChanged},
		{"channel twice", func(w *trace.Window) { w.Side = append(w.Side, w.Side[0]) }, input.ErrDuplicate},
		{"sample twice", func(w *trace.Window) { w.Side[0].Samples = append(w.Side[0].Samples, w.Side[0].Samples[0]) }, input.ErrDuplicate},
		{"negative", func(w *trace.Window) { w.Durations[0] = -1 }, input.ErrNegative},
		{"run not UTF-8", func(w *trace.Window) { w.Run = "\xff" }, input.ErrFormat},
		{"host with a carriage return", func(w *trace.Window) { w.Ranks[0].Host = "a\r\nb" }, input.ErrFormat},
		{"local rank", func(w *trace.Window) { w.Ranks[0].LocalRank = -2 }, input.ErrNegative},
		{"axis twice", func(w *trace.Window) { w.Ranks[0].Role = trace.Role{{Axis: "dp"}, {Axis: "dp"}} }, input.ErrDuplicate},
		{"step too far", func(w *trace.Window) { w.FirstStep, w.Side = math.MaxInt64/2, nil }, input.ErrOverflow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := csv.NewWriter(&b)
			bad, other := base(), base()
			tt.edit(bad)
			other.Index, other.Side = 1, nil
			if err := w.Write(base()); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(bad); !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err := w.Write(other); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := read(b.String())
			if d := cmp.Diff([]*trace.Window{base(), other}, got); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// full is an output without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterReportsOutputErrors(t *testing.T) {
	w := csv.NewWriter(full{})
	err := w.Write(ingesttest.Windows(3, 1, ingesttest.Shape{Ranks: 2, Steps: 3, Stages: 2})[0])
	if err = stdcmp.Or(err, w.Close()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}

// Packets of real runs become a table and the same windows again.
func TestPackets(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/ddp/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	shared, err := filepath.Glob(largedata.Path(t, "data/ddp/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, shared...) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ingesttest.ReadAll(packet.NewReader([]packet.Stream{{R: f, Name: path}}, packet.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(string(write(t, want...)))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %.1000s", path, err, d)
		}
	}
}

// Any text is windows or an error that names the file; what was read is
// written and read the same.
func FuzzReader(f *testing.F) {
	for _, data := range largedata.Seeds(f, "data/cases", 64<<10, ".csv") {
		f.Add(string(data))
	}
	f.Add("step,rank,a,b\n5,0,10,11\n5,1,20,21\n6,0,30,31\n")
	f.Add("run;window;step;rank;a;wall_ns;e;e.ready\nx;0;5;0;10;11;1.5;true\nx;0;7;0;10;;;\n")
	f.Add("step\trank\t\"a\"\"\n\"\thost\trole\n1\t0\t1\t\" h\"\t\"dp=1,pp=2\"\n")
	f.Add(string(write(f, ingesttest.Windows(2, 2, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})...)))
	f.Fuzz(func(t *testing.T, text string) {
		windows, err := read(text)
		if err != nil {
			ingesttest.CheckPosition(t, err, "dir/table.csv")
		}
		var b strings.Builder
		w := csv.NewWriter(&b)
		var kept []*trace.Window
		for _, x := range windows {
			if err := x.Validate(); err != nil {
				t.Fatalf("an invalid window was read: %v", err)
			}
			if err := w.Write(x); err == nil {
				kept = append(kept, x)
			} else if !errors.Is(err, csv.ErrSchemaChanged) && !errors.Is(err, input.ErrFormat) {
				t.Fatalf("a window that was read is refused: %v", err)
			}
		}
		if w.Close(); err != nil || len(windows) == 0 || len(kept) < len(windows) {
			return // parts of a table may come together differently
		}
		again, err := read(b.String())
		if err != nil {
			t.Fatalf("written, but not read: %v\n%s", err, b.String())
		}
		for _, x := range append(slicesOf(kept), again...) {
			x.Notes = nil
		}
		if d := cmp.Diff(kept, again, bitwise); d != "" {
			t.Fatalf("(-first +again)\n%s\n%s", d, b.String())
		}
	})
}

func slicesOf(w []*trace.Window) []*trace.Window { return append([]*trace.Window(nil), w...) }
