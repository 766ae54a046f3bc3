package ingest_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// given is a reader of windows that are there.
type given []*trace.Window

func (g *given) Next() (*trace.Window, error) {
	if len(*g) == 0 {
		return nil, io.EOF
	}
	w := (*g)[0]
	*g = (*g)[1:]
	return w, nil
}

func (g *given) Close() error { return nil }

func TestOnce(t *testing.T) {
	// window has a step for each duration, on one rank.
	window := func(run string, rank int, first int64, durations ...int64) *trace.Window {
		return &trace.Window{Run: run, FirstStep: first, WorldSize: 2, Ranks: []trace.Rank{{ID: rank}}, Schema: trace.Schema{Stages: []string{"a"}},
			Durations: durations, Wall: durations, Epochs: []int64{1},
			Side: []trace.SideChannel{{Name: "c", Samples: []trace.Sample{{Step: first}, {Step: first + int64(len(durations)) - 1}}}}}
	}
	tests := []struct {
		name string
		in   given
		want string // run, steps, durations, whether it is noted
	}{
		{"one after the other", given{window("r", 0, 0, 1, 2), window("r", 0, 2, 3)}, "r 0+2 [1 2] false; r 2+1 [3] false"},
		{"overlapping, the same times", given{window("r", 0, 0, 1, 2, 3), window("r", 0, 1, 2, 3, 4)}, "r 0+3 [1 2 3] false; r 3+1 [4] true"},
		{"overlapping, as after a restart", given{window("r", 0, 0, 1, 2, 3), window("r", 0, 2, 9, 4)}, "r 0+3 [1 2 3] false; r 3+1 [4] true"},
		{"contained", given{window("r", 0, 0, 1, 2, 3), window("r", 0, 1, 2, 3), window("r", 0, 3, 4)}, "r 0+3 [1 2 3] true; r 3+1 [4] false"},
		{"contained in two", given{window("r", 0, 0, 1, 2), window("r", 0, 2, 3), window("r", 0, 1, 2, 3)}, "r 0+2 [1 2] false; r 2+1 [3] true"},
		{"numbered from 0 again", given{window("r", 0, 0, 1, 2), window("r", 0, 0, 3, 4)}, "r 0+2 [1 2] false; r 0+2 [3 4] true"},
		{"other ranks", given{window("r", 0, 0, 1, 2), window("r", 1, 0, 1, 2)}, "r 0+2 [1 2] false; r 0+2 [1 2] false"},
		{"other runs", given{window("r", 0, 0, 1, 2), window("s", 0, 0, 1, 2)}, "r 0+2 [1 2] false; s 0+2 [1 2] false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			once := ingest.NewOnce(&tt.in)
			for {
				w, err := once.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Validate(); err != nil {
					t.Error(err)
				}
				got = append(got, fmt.Sprintf("%s %d+%d %v %v", w.Run, w.FirstStep, w.Steps(), w.Durations, w.Has(input.NoteStepsRepeated)))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

// TestOnceOfManyRuns: a window is known again though tens of thousands of runs came between, and what is remembered of
// them does not grow with them.
func TestOnceOfManyRuns(t *testing.T) {
	var in given
	window := func(run int) {
		in = append(in, &trace.Window{Run: fmt.Sprint(run), WorldSize: 1, Ranks: []trace.Rank{{ID: 0}}, Schema: trace.Schema{Stages: []string{"a"}}, Durations: []int64{1, 2}})
	}
	const runs = 200_000
	for i := range runs {
		if window(i); i%30_000 == 29_999 {
			window(i - 29_999)
		}
	}
	once := ingest.NewOnce(&in)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n, before := 0, heap()
	for ; ; n++ {
		if _, err := once.Next(); err == io.EOF {
			break
		}
	}
	if n != runs {
		t.Errorf("%d windows, want %d", n, runs)
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("%d MB are kept", grown>>20)
	}
	runtime.KeepAlive(once)
}
