package packet

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// oddName is a name of characters that are easily written wrong.
func oddName(rng *rand.Rand) string {
	alphabet := []rune("ab\"\\/\b\f\n\r\t\x00\x1f\u007f\u2028é€😀\U0010FFFF{}[]:,")
	r := make([]rune, 1+rng.IntN(8))
	for i := range r {
		r[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(r)
}

// oddWindow has everything that a window can have.
func oddWindow(rng *rand.Rand) *trace.Window {
	shape := ingesttest.Shape{Ranks: 1 + rng.IntN(5), Steps: 1 + rng.IntN(4), Stages: 1 + rng.IntN(4)}
	w := ingesttest.Windows(1, 1, shape)[0]
	w.Run, w.Index, w.FirstStep = oddName(rng), rng.Int64N(math.MaxInt64), rng.Int64N(math.MaxInt64/2)
	w.DataWait, w.Accumulation = trace.DataWait(rng.IntN(3)), rng.IntN(5)
	w.Schema.Stages[0] = oddName(rng) + "@3"
	w.Side = nil
	for n := range rng.IntN(3) {
		c := trace.SideChannel{Name: string(rune('a'+n)) + oddName(rng)}
		for step := range shape.Steps {
			for r := range shape.Ranks {
				s := trace.Sample{Step: w.FirstStep + int64(step), Rank: r, Ready: rng.IntN(2) > 0}
				if s.Ready {
					s.Value = math.Float64frombits(rng.Uint64() >> 2) // any below 2
				}
				c.Samples = append(c.Samples, s)
			}
		}
		w.Side = append(w.Side, c)
	}
	if rng.IntN(2) == 0 {
		w.Wall = nil
	}
	for k := range w.Durations {
		w.Durations[k] = rng.Int64() >> (7 + rng.IntN(56))
	}
	for r := range w.Ranks {
		w.Ranks[r] = trace.Rank{ID: r, Host: oddName(rng), LocalRank: rng.IntN(4) - 1}
		for _, axis := range []string{"a", "dp", "p" + oddName(rng)}[:rng.IntN(4)] {
			w.Ranks[r].Role = append(w.Ranks[r].Role, trace.Coord{Axis: axis, Index: rng.IntN(1000)})
		}
		if rng.IntN(3) == 0 {
			w.GatherFailed = append(w.GatherFailed, r)
		}
	}
	if len(w.GatherFailed) > 0 {
		w.Notes = []input.Note{{Kind: input.NoteGatherFailed,
			Text: "the recorder could not gather the window on " + trace.Ranks(w.GatherFailed)}}
	}
	for n := range rng.IntN(3) {
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteRecorder, Text: oddName(rng) + string(rune('0'+n))})
	}
	return w
}

// TestRoundTrip writes random windows and reads them again.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		w := oddWindow(rng)
		var b strings.Builder
		if err := NewWriter(&b).Write(w); err != nil {
			t.Fatalf("%+v: %v", w, err)
		}
		got, err := ingesttest.ReadAll(open(map[string]string{"x": b.String()}, Options{}))
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		if diff := gocmp.Diff([]*trace.Window{w}, got); diff != "" {
			t.Fatalf("%s\nwindows differ (-want +got):\n%s", b.String(), diff)
		}
	}
}

// TestWriteRefuses: nothing is written of a window that could not be read
// again.
func TestWriteRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(w *trace.Window)
		kind   error
	}{
		"run not UTF-8":     {func(w *trace.Window) { w.Run = "\xff" }, input.ErrFormat},
		"run too long":      {func(w *trace.Window) { w.Run = strings.Repeat("x", trace.MaxName+1) }, input.ErrTooLarge},
		"stage not UTF-8":   {func(w *trace.Window) { w.Schema.Stages[1] = "\xc3(" }, input.ErrFormat},
		"channel not UTF-8": {func(w *trace.Window) { w.Side[0].Name = "\xff" }, input.ErrFormat},
		"host not UTF-8":    {func(w *trace.Window) { w.Ranks[1].Host = "\xff" }, input.ErrFormat},
		"note not UTF-8": {func(w *trace.Window) {
			w.Notes = []input.Note{{Kind: input.NoteRecorder, Text: "\xff"}}
		}, input.ErrFormat},
		"axis not UTF-8":       {func(w *trace.Window) { w.Ranks[1].Role[0].Axis = "\xff" }, input.ErrFormat},
		"too many coordinates": {func(w *trace.Window) { w.Ranks[1].Role = make(trace.Role, trace.MaxAxes+1) }, input.ErrTooLarge},
		"invalid":              {func(w *trace.Window) { w.Durations[3] = -1 }, input.ErrNegative},
	} {
		t.Run(name, func(t *testing.T) {
			w := ingesttest.Windows(1, 1, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})[0]
			tt.change(w)
			var b strings.Builder
			if err := NewWriter(&b).Write(w); !errors.Is(err, tt.kind) {
				t.Errorf("error %v, want %v", err, tt.kind)
			}
			if b.Len() > 0 {
				t.Errorf("%d bytes written", b.Len())
			}
		})
	}
}
