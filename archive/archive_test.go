package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

var stages = []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "callbacks.cpu_wall", "optim.step_cpu_wall"}

// shape is the size and the noise of a synthetic window.
type shape struct {
	ranks, steps int
	sigma        float64 // of the logarithm of every stage time
	tick         int64   // resolution of the clock in nanoseconds
}

// synthesize makes a window of a job that synchronises at the end of the backward
// pass: its ranks finish it within 20 µs of the slowest.
func synthesize(s shape, seed uint64) *trace.Window {
	g := rand.New(rand.NewPCG(seed, 1))
	typical := []float64{16e6, 60e6, 230e6, 6e6, 14e6}
	w := &trace.Window{Run: "synthetic", FirstStep: 20, WorldSize: s.ranks, Accumulation: 1, Schema: trace.Schema{Stages: stages}}
	for r := range s.ranks {
		role, err := trace.NewRole(trace.Coord{Axis: "dp", Index: r / 4}, trace.Coord{Axis: "tp", Index: r % 4})
		if err != nil {
			panic(err)
		}
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: fmt.Sprintf("node%d", r/8), LocalRank: r % 8, Role: role})
	}
	R := s.ranks
	for range s.steps {
		step := make([]float64, 5*R)
		last := 0.0
		for r := range R {
			for k := range 5 {
				step[k*R+r] = typical[k] * math.Exp(s.sigma*g.NormFloat64())
			}
			last = max(last, step[r]+step[R+r]+step[2*R+r])
		}
		for r := range R {
			step[2*R+r] = last + 20e3*math.Abs(g.NormFloat64()) - step[r] - step[R+r]
		}
		ticks := func(x float64) int64 { return int64(x) / s.tick * s.tick }
		for _, x := range step {
			w.Durations = append(w.Durations, ticks(x))
		}
		for r := range R {
			sum := 60e3 + 8e3*g.NormFloat64()
			for k := range 5 {
				sum += step[k*R+r]
			}
			w.Wall = append(w.Wall, ticks(sum))
		}
	}
	return w
}

func write(t testing.TB, windows ...*trace.Window) []byte {
	t.Helper()
	return writeWith(t, 0, windows...)
}

func writeWith(t testing.TB, groupValues int, windows ...*trace.Window) []byte {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewSmallWriter(&b, groupValues)
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

func readAll(b []byte) (windows []*trace.Window, err error) {
	r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "test.parquet", ingest.Limits{})
	if err != nil {
		return nil, err
	}
	for {
		w, err := r.Next()
		if err == io.EOF {
			return windows, r.Close()
		}
		if err != nil {
			return windows, err
		}
		windows = append(windows, w)
	}
}

// random makes a window of a few steps and ranks in which everything that may
// vary does, by the draws of g. The stages are the caller's.
func random(g *rand.Rand, stages []string) *trace.Window {
	R, T := 1+g.IntN(9), 1+g.IntN(12)
	w := &trace.Window{Run: []string{"a", "job-42", "", "läufe/7 \"x\""}[g.IntN(4)], Index: g.Int64N(1 << 40), FirstStep: g.Int64N(1 << 50),
		Accumulation: g.IntN(3), DataWait: trace.DataWait(g.IntN(3)), Schema: trace.Schema{Stages: stages}}
	for range R {
		w.WorldSize += 1 + g.IntN(3)
		rank := trace.Rank{ID: w.WorldSize - 1, Host: []string{"", "n0", "n1", "node\x00\n"}[g.IntN(4)], LocalRank: g.IntN(4) - 1}
		for _, axis := range []string{"dp", "pp", "ε="} {
			if g.IntN(2) == 0 {
				rank.Role = append(rank.Role, trace.Coord{Axis: axis, Index: g.IntN(1000)})
			}
		}
		w.Ranks = append(w.Ranks, rank)
	}
	duration := func() int64 { return g.Int64() >> (g.IntN(53) + 11) }
	for range T * len(stages) * R {
		w.Durations = append(w.Durations, duration())
	}
	for range T * R * g.IntN(2) {
		w.Wall = append(w.Wall, duration())
	}
	for _, name := range []string{"model.fwd_loss_cuda_event_ms", "run", "β", stages[0]} {
		if g.IntN(2) == 0 {
			w.Side = append(w.Side, randomChannel(g, name, w.FirstStep, T, R))
		}
	}
	if g.IntN(3) == 0 {
		w.GatherFailed = []int{w.Ranks[0].ID, w.WorldSize + 3}
		w.Notes = []input.Note{{Kind: input.NoteGatherFailed, Text: "ranks 0"}, {Kind: input.NoteStepGap, Text: "\"gap\" at 7"}}
	}
	return w
}

func randomChannel(g *rand.Rand, name string, first int64, T, R int) trace.SideChannel {
	c := trace.SideChannel{Name: name}
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1}
	for i := range T * R {
		s := trace.Sample{Step: first + int64(i/R), Rank: i % R, Value: g.Float64(), Ready: true}
		switch g.IntN(5) {
		case 0:
			continue
		case 1:
			s.Value, s.Ready = odd[g.IntN(len(odd))], false
		}
		c.Samples = append(c.Samples, s)
	}
	return c
}

// bitwise compares float64 by bits, so that NaN and −0 count too.
var bitwise = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// numbers compares slices of numbers at once, which is many times as fast as one number after the other.
var numbers = cmp.Options{
	cmp.Comparer(func(a, b []int64) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }),
	cmp.Comparer(func(a, b []float64) bool {
		return (a == nil) == (b == nil) && slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}),
}

// diff returns how windows differ, "" where they are equal.
func diff(want, got any) string {
	if cmp.Equal(want, got, bitwise, numbers) {
		return ""
	}
	return cmp.Diff(want, got, bitwise)
}

func checkRoundTrip(t *testing.T, groupValues int, windows ...*trace.Window) {
	t.Helper()
	got, err := readAll(writeWith(t, groupValues, windows...))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(windows, got); d != "" {
		t.Fatalf("written and read again (-written +read):\n%.2000s", d)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, s := range []shape{{1, 1, .01, 1}, {8, 60, .01, 1}, {128, 300, .05, 1}, {16, 300, .01, 1000}, {3, 20000, .01, 100}} {
		t.Run(fmt.Sprintf("ranks=%d/steps=%d/tick=%d", s.ranks, s.steps, s.tick), func(t *testing.T) {
			checkRoundTrip(t, 0, synthesize(s, 1), synthesize(s, 2))
		})
	}
}

func TestContract(t *testing.T) {
	want := ingesttest.Windows(1, 5, ingesttest.Shape{Ranks: 6, Steps: 9, Stages: 3})
	b := write(t, want...)
	ingesttest.Reader(t, want, func() (ingest.WindowReader, error) {
		return archive.NewReader(bytes.NewReader(b), int64(len(b)), "x", ingest.Limits{})
	})
}

// Windows of every kind in one file, in row groups of one step, of a few, and
// one for all: side channels come and go, so do hosts, roles and wall times. A
// side channel that comes after the first row group needs another file.
func TestRoundTripRandom(t *testing.T) {
	for seed := range uint64(25) {
		g := rand.New(rand.NewPCG(seed, 9))
		names := []string{"step", "wall_ns", "run", "run_", "β", "β.ready", "data.next_wait@0", "data.next_wait@1", " "}[:1+g.IntN(9)]
		var windows []*trace.Window
		for range g.IntN(20) {
			windows = append(windows, random(g, names))
		}
		for _, values := range []int{1, 300, 1 << 20} {
			var b bytes.Buffer
			a := archive.NewSmallWriter(&b, values)
			var kept []*trace.Window
			for _, w := range windows {
				err := a.Write(w)
				if err == nil {
					kept = append(kept, w)
				} else if values == 1<<20 || w.Side == nil || !errors.Is(err, archive.ErrSchemaChanged) {
					t.Fatalf("groups of %d values: %v", values, err)
				}
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(b.Bytes())
			if d := diff(kept, got); err != nil || d != "" {
				t.Fatalf("%v, written and read again (-written +read):\n%.2000s", err, d)
			}
		}
	}
}

// Durations as large as a window may have, whose differences overflow.
func TestRoundTripLargest(t *testing.T) {
	w := &trace.Window{WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Schema: trace.Schema{Stages: []string{"a"}},
		Durations: []int64{trace.MaxTotal/2 - 7, 0, 3, 4}, Wall: []int64{0, trace.MaxTotal / 2, 0, 0}, FirstStep: math.MaxInt64 - 2, Index: math.MinInt64}
	checkRoundTrip(t, 0, w)
}

// A channel whose samples are not in order comes back in order.
func TestSamplesAreSorted(t *testing.T) {
	w := synthesize(shape{2, 2, .01, 1}, 1)
	w.Side = []trace.SideChannel{{Name: "c", Samples: []trace.Sample{{Step: 21, Rank: 0, Value: 3}, {Step: 20, Rank: 1, Value: 2}, {Step: 20, Rank: 0, Value: 1, Ready: true}}}}
	got, err := readAll(write(t, w))
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Sample{{Step: 20, Rank: 0, Value: 1, Ready: true}, {Step: 20, Rank: 1, Value: 2}, {Step: 21, Rank: 0, Value: 3}}
	if d := cmp.Diff(want, got[0].Side[0].Samples); d != "" {
		t.Error(d)
	}
}

func TestWriterRefuses(t *testing.T) {
	base := func() *trace.Window { return synthesize(shape{2, 3, .01, 1}, 1) }
	twice := trace.Sample{Step: 20}
	tests := []struct {
		name string
		edit func(w *trace.Window)
		want error
	}{
		{"other stages", func(w *trace.Window) {
			w.Schema = trace.Schema{Stages: []string{"a", "b", "c", "d", "e"}}
		}, archive.ErrSchemaChanged},
		{"stages in another order", func(w *trace.Window) {
			w.Schema = trace.Schema{Stages: []string{stages[1], stages[0], stages[2], stages[3], stages[4]}}
		}, archive.ErrSchemaChanged},
		{"negative", func(w *trace.Window) { w.Durations[3] = -1 }, input.ErrNegative},
		{"no steps", func(w *trace.Window) { w.Durations = nil }, input.ErrEmpty},
		{"channel twice", func(w *trace.Window) { w.Side = []trace.SideChannel{{Name: "c"}, {Name: "c"}} }, input.ErrDuplicate},
		{"sample twice", func(w *trace.Window) {
			w.Side = []trace.SideChannel{{Name: "c", Samples: []trace.Sample{twice, twice}}}
		}, input.ErrDuplicate},
		{"run not UTF-8", func(w *trace.Window) { w.Run = "\xff" }, input.ErrFormat},
		{"host not UTF-8", func(w *trace.Window) { w.Ranks[1].Host = "n\xff" }, input.ErrFormat},
		{"note not UTF-8", func(w *trace.Window) { w.Notes = []input.Note{{Text: "\xff"}} }, input.ErrFormat},
		{"channel not UTF-8", func(w *trace.Window) { w.Side = []trace.SideChannel{{Name: "\xff"}} }, input.ErrFormat},
		{"axis twice", func(w *trace.Window) { w.Ranks[0].Role = trace.Role{{Axis: "dp"}, {Axis: "dp"}} }, input.ErrDuplicate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := archive.NewWriter(&b)
			bad := base()
			tt.edit(bad)
			if err := w.Write(base()); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(bad); !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err := w.Write(base()); err != nil {
				t.Fatalf("the refused window broke the writer: %v", err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(b.Bytes())
			if d := cmp.Diff([]*trace.Window{base(), base()}, got); err != nil || d != "" {
				t.Fatalf("%v %s", err, d)
			}
		})
	}
}

// failing is an output that fails after n bytes.
type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestWriterReportsOutputErrors(t *testing.T) {
	w := synthesize(shape{2, 3, .01, 1}, 1)
	size := len(write(t, w))
	for n := 0; n < size; n += 61 {
		a := archive.NewWriter(&failing{n})
		err := a.Write(w)
		if err == nil {
			err = a.Close()
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("output full after %d of %d bytes: error %v", n, size, err)
		}
	}
}

// Many windows of one job cost their rows and little else.
func TestManyWindowsStaySmall(t *testing.T) {
	w := synthesize(shape{8, 1, .01, 1}, 1)
	var b bytes.Buffer
	a := archive.NewWriter(&b)
	const n = 10000
	for i := range n {
		w.Index, w.FirstStep = int64(i), int64(20+i)
		if err := a.Write(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if per := b.Len() / n; per > 24 {
		t.Errorf("%d bytes for a window whose rows repeat, want at most 24", per)
	}
	got, err := readAll(b.Bytes())
	if err != nil || len(got) != n {
		t.Fatalf("%d windows, %v", len(got), err)
	}
	if d := cmp.Diff(w, got[n-1]); d != "" {
		t.Error(d)
	}
}

// The reader holds one window: the heap after the hundredth window is not
// larger than after the tenth.
func TestReaderHoldsOneWindow(t *testing.T) {
	var windows []*trace.Window
	for i := range 100 {
		windows = append(windows, synthesize(shape{16, 200, .01, 1}, uint64(i)))
	}
	b := write(t, windows...)
	size := int64(8 * (len(windows[0].Durations) + len(windows[0].Wall)))
	windows = nil
	r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var tenth int64
	for i := range 100 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if i == 9 {
			tenth = heap()
		}
	}
	if grown := heap() - tenth; grown > 4*size {
		t.Errorf("the heap grew by %d bytes over 90 windows of %d", grown, size)
	}
	runtime.KeepAlive(b)
}

// What archives have no columns for is at least said to be elsewhere.
func TestHasArrivals(t *testing.T) {
	for _, want := range []bool{false, true} {
		w := ingesttest.Windows(1, 1, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})[0]
		if want {
			w.Arrivals = []*comms.Record{{Run: w.Run, Processes: []comms.Process{{Rank: 1}}}}
		}
		b := write(t, w)
		r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "x", ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.HasArrivals(); got != want {
			t.Errorf("arrivals %t, want %t", got, want)
		}
	}
}

// TestEpochs: when windows began on each rank comes back, where it was known.
func TestEpochs(t *testing.T) {
	windows := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 3, Steps: 4, Stages: 2})
	want := [][]int64{nil, {1795330273984564426, 0, 1795330273984564999}, {1795330283984564426, 1795330283984564427, -5}}
	for i, w := range windows {
		w.Epochs = want[i]
	}
	b := write(t, windows...)
	r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range windows {
		w, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.Epochs, want[i]) {
			t.Errorf("window %d: epochs %d, want %d", i, w.Epochs, want[i])
		}
	}
}

// TestLateEpochs: a file whose columns are fixed takes no epochs.
func TestLateEpochs(t *testing.T) {
	windows := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 3, Steps: 4, Stages: 2})
	a := archive.NewSmallWriter(io.Discard, 1)
	for i, w := range windows {
		var want error
		if i == 2 {
			w.Epochs, want = []int64{1, 2, 3}, archive.ErrSchemaChanged
		}
		if err := a.Write(w); !errors.Is(err, want) {
			t.Errorf("window %d: %v, want %v", i, err, want)
		}
	}
}

// TestAscends: a window that begins within the one before it is told, in its run alone.
func TestAscends(t *testing.T) {
	at := func(run string, first int64) *trace.Window {
		w := synthesize(shape{2, 10, .01, 1}, 1)
		w.Run, w.FirstStep = run, first
		return w
	}
	for _, test := range []struct {
		windows []*trace.Window
		want    bool
	}{
		{nil, true},
		{[]*trace.Window{at("a", 0), at("b", 5), at("a", 10), at("b", 30)}, true},
		{[]*trace.Window{at("a", 0), at("b", 0), at("a", 9)}, false},
		{[]*trace.Window{at("a", 20), at("a", 0)}, false},
	} {
		b := write(t, test.windows...)
		r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "test.parquet", ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Ascends(); got != test.want {
			t.Errorf("%d windows: %v, want %v", len(test.windows), got, test.want)
		}
	}
}

// TestMostChannels: an archive has so many side channels and no more, which the error says.
func TestMostChannels(t *testing.T) {
	var b bytes.Buffer
	a := archive.NewSmallWriter(&b, 1<<20)
	w := synthesize(shape{1, 1, 0, 1}, 1)
	for i := range archive.MostChannels {
		w.Side = append(w.Side, trace.SideChannel{Name: fmt.Sprint("c", i)})
	}
	if err := a.Write(w); err != nil {
		t.Fatal(err)
	}
	w.Side, w.Index = []trace.SideChannel{{Name: "one more"}}, w.Index+1
	if err := a.Write(w); !errors.Is(err, archive.ErrSchemaChanged) || !strings.Contains(err.Error(), "1025 side channels, an archive has 1024 at most") {
		t.Errorf("error %v", err)
	}
}
