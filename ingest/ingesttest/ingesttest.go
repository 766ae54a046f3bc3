// Package ingesttest holds what every window reader must keep, as checks that
// a reader's tests call, and the synthetic windows that they feed it.
package ingesttest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Shape is the size of synthetic windows.
type Shape struct {
	Ranks, Steps, Stages int
}

// Windows makes n consecutive windows of one run: every stage has a typical
// length of 1 to 300 ms and varies by a tenth of it; wall time, a side channel with samples that are not ready, roles and
// hosts. The same seed gives the same windows.
func Windows(seed uint64, n int, shape Shape) []*trace.Window {
	rng := rand.New(rand.NewPCG(seed, 0))
	stages := make([]string, shape.Stages)
	typical := make([]float64, shape.Stages) // nanoseconds
	for s := range stages {
		stages[s] = fmt.Sprintf("stage.%d_cpu_wall", s)
		typical[s] = 1e6 * math.Pow(300, rng.Float64())
	}
	windows := make([]*trace.Window, n)
	for i := range windows {
		w := &trace.Window{Run: fmt.Sprintf("run-%d", seed), Index: int64(i), FirstStep: int64(i * (shape.Steps + 2)),
			WorldSize: shape.Ranks, Accumulation: 1, Schema: trace.Schema{Stages: stages}}
		for r := range shape.Ranks {
			role := trace.Role{{Axis: "dp", Index: r / 2}, {Axis: "pp", Index: r % 2}}
			w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: fmt.Sprintf("node%d", r/8), LocalRank: r % 8, Role: role})
		}
		w.Durations = make([]int64, shape.Steps*shape.Stages*shape.Ranks)
		for k := range w.Durations {
			w.Durations[k] = int64(typical[k/shape.Ranks%shape.Stages] * (0.9 + 0.2*rng.Float64()))
		}
		w.Wall = make([]int64, shape.Steps*shape.Ranks)
		for k := range w.Wall {
			w.Wall[k] = int64(shape.Stages)*1e9 + rng.Int64N(1e6)
		}
		w.Side = []trace.SideChannel{sideChannel(rng, w)}
		windows[i] = w
	}
	return windows
}

func sideChannel(rng *rand.Rand, w *trace.Window) trace.SideChannel {
	c := trace.SideChannel{Name: "stage.0_cuda_event_ms"}
	for t := 0; t < w.Steps(); t += 4 {
		for r := range w.Ranks {
			s := trace.Sample{Step: w.FirstStep + int64(t), Rank: r, Ready: rng.IntN(5) > 0}
			if s.Ready {
				s.Value = float64(rng.IntN(1e6)) / 1000
			}
			c.Samples = append(c.Samples, s)
		}
	}
	return c
}

// ReadAll reads r to its end or first error and closes it.
func ReadAll(r ingest.WindowReader) ([]*trace.Window, error) {
	defer r.Close()
	var windows []*trace.Window
	for {
		w, err := r.Next()
		if err == io.EOF {
			return windows, nil
		}
		if err != nil {
			return windows, err
		}
		windows = append(windows, w)
	}
}

// Reader checks what ingest.WindowReader promises, on a good input: the
// windows are want, valid, in order, owned by the caller, and the end stays
// the end. open must open the same input each time.
func Reader(t *testing.T, want []*trace.Window, open func() (ingest.WindowReader, error)) {
	t.Helper()
	r, err := open()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	var got []*trace.Window
	for {
		w, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("window %d: %v", len(got), err)
		}
		if err := w.Validate(); err != nil {
			t.Errorf("window %d is not valid: %v", len(got), err)
		}
		got = append(got, w)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("windows differ (-want +got):\n%s", diff)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("Next after the end: %v, want io.EOF", err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	early, err := open()
	if err != nil {
		t.Fatalf("open again: %v", err)
	}
	if _, err := early.Next(); err != nil && err != io.EOF {
		t.Errorf("first window on the second reading: %v", err)
	}
	if err := early.Close(); err != nil {
		t.Errorf("Close before the end: %v", err)
	}
}

// NoBug checks that err is no panic that was contained, which would be a finding of a fuzz target.
func NoBug(t testing.TB, err error) {
	t.Helper()
	if b := bug.PanicOf(err); b != nil {
		t.Errorf("%v\n%s", b, b.Stack)
	}
}

// CheckPosition checks that err is one that a person can act on: one line, with the
// name of the file.
func CheckPosition(t *testing.T, err error, file string) {
	t.Helper()
	var placed *input.Error
	if !errors.As(err, &placed) {
		t.Errorf("error without a position: %v", err)
		return
	}
	if placed.Pos.File != file {
		t.Errorf("error names file %q, want %q: %v", placed.Pos.File, file, err)
	}
	for _, c := range err.Error() {
		if c < ' ' {
			t.Errorf("error with a control character: %q", err)
			return
		}
	}
}

// Cut checks that no beginning of data makes a reader panic or hang, that its
// refusals have a position, and that what it does read is valid.
func Cut(t *testing.T, data []byte, open func(data []byte) (ingest.WindowReader, error)) {
	t.Helper()
	for n := range data {
		r, err := open(data[:n])
		if err != nil {
			var placed *input.Error
			if !errors.As(err, &placed) {
				t.Fatalf("first %d bytes: open: error without a position: %v", n, err)
			}
			continue
		}
		windows, err := ReadAll(r)
		for _, w := range windows {
			if err := w.Validate(); err != nil {
				t.Fatalf("first %d bytes: invalid window: %v", n, err)
			}
		}
		var placed *input.Error
		if err != nil && !errors.As(err, &placed) {
			t.Fatalf("first %d bytes: error without a position: %v", n, err)
		}
	}
}
