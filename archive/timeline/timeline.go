// Package timeline writes windows as one timeline of all ranks for Perfetto and chrome://tracing (Trace Event Format, JSON object
// form).
//
// A rank is a process with a track of steps and one of stages; where ranks synchronise, the time in which a rank waits for the last
// one stands inside of the stage, and an arrow leads from that rank, where it arrives, to each that waited. Steps begin at their
// recorded time where all ranks of a window recorded it, and follow one another from 0 otherwise. Times are microseconds since the
// first step. Windows go out one by one: memory is that of a window.
package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// Writer writes windows. Start with New; Close must be called.
type Writer struct {
	out    *bufio.Writer
	o      frontier.Options
	runs   []string
	series map[string]*frontier.Series
	named  map[[2]int]bool  // processes, by run and rank
	ends   map[[2]int]int64 // of what was written of a process, ns since its beginning
	origin map[string]int64 // when the first step of a run began, ns since 1970; 0: not recorded
	flows  int
	any    bool
	err    error
}

// The tracks of a rank.
const (
	steps = iota
	stages
)

// mostRanks tells the processes of runs apart by their numbers.
const mostRanks = 1 << 20

// event is one event: X has a length, M names a process or track, s and f begin and end an arrow.
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Start    *float64       `json:"ts,omitempty"`
	Length   *float64       `json:"dur,omitempty"`
	Flow     int            `json:"id,omitempty"`
	Binding  string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// New begins a timeline.
func New(w io.Writer) *Writer {
	t := &Writer{out: bufio.NewWriter(w), series: make(map[string]*frontier.Series), named: make(map[[2]int]bool),
		ends: make(map[[2]int]int64), origin: make(map[string]int64)}
	_, t.err = t.out.WriteString(`{"displayTimeUnit":"ms","otherData":{"format":"sfstat timeline"},"traceEvents":[`)
	return t
}

// Close ends the timeline; it does not close what it is written to.
func (t *Writer) Close() error {
	if t.err == nil {
		_, t.err = t.out.WriteString("\n]}\n")
	}
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

// Write writes a window.
func (t *Writer) Write(w *trace.Window) error {
	if t.series[w.Run] == nil {
		t.series[w.Run] = frontier.NewSeries(t.o)
		t.runs = append(t.runs, w.Run)
	}
	run := slices.Index(t.runs, w.Run)
	_, detail, err := t.series[w.Run].AddDetailed(w)
	if err != nil {
		return err
	}
	meet := -1 // the stage in which ranks wait
	if detail.Sync >= 0 {
		meet = slices.Index(w.Schema.Stages, detail.Stages[detail.Stage[detail.Sync]].Name)
	}
	R := len(w.Ranks)
	begins := make([]int64, R)
	for r, rank := range w.Ranks {
		begins[r] = t.begin(w, run, r)
		t.name(run, len(t.runs) > 1, w.Run, rank)
	}
	for at := range w.Steps() {
		times, wall := w.Step(at), w.WallOf(at)
		arrivals := slices.Clone(begins)
		for s := range max(0, meet) {
			for r := range R {
				arrivals[r] += times[s*R+r]
			}
		}
		last := 0
		for r := range arrivals {
			if arrivals[r] > arrivals[last] {
				last = r
			}
		}
		for r, rank := range w.Ranks {
			end := begins[r]
			for s, name := range w.Schema.Stages {
				length := times[s*R+r]
				t.slice(run, rank.ID, stages, name, end, length, nil)
				if s == meet {
					t.wait(run, w.Ranks, r, last, arrivals, length)
				}
				end += length
			}
			whole := end - begins[r]
			if wall != nil {
				whole = max(whole, wall[r])
			}
			t.slice(run, rank.ID, steps, fmt.Sprintf("step %d", w.StepAt(at)), begins[r], whole, map[string]any{"step": w.StepAt(at)})
			begins[r] += whole
		}
	}
	for r, rank := range w.Ranks {
		t.ends[[2]int{run, rank.ID}] = begins[r]
	}
	return t.err
}

// begin returns when the first step of a window begins on a rank, ns since the run did.
func (t *Writer) begin(w *trace.Window, run, r int) int64 {
	if w.Epochs == nil || slices.Contains(w.Epochs, 0) {
		return t.ends[[2]int{run, w.Ranks[r].ID}]
	}
	if t.origin[w.Run] == 0 {
		t.origin[w.Run] = slices.Min(w.Epochs)
	}
	return max(t.ends[[2]int{run, w.Ranks[r].ID}], w.Epochs[r]-t.origin[w.Run])
}

// name names the process of a rank and its tracks, once.
func (t *Writer) name(run int, several bool, of string, rank trace.Rank) {
	key := [2]int{run, rank.ID}
	if t.named[key] {
		return
	}
	t.named[key] = true
	name := fmt.Sprintf("rank %d", rank.ID)
	if rank.Host != "" {
		name += " (" + rank.Host + ")"
	}
	if several {
		name = of + ", " + name
	}
	process := run*mostRanks + rank.ID
	t.emit(event{Phase: "M", Name: "process_name", Process: process, Args: map[string]any{"name": name}})
	t.emit(event{Phase: "M", Name: "process_sort_index", Process: process, Args: map[string]any{"sort_index": process}})
	for thread, track := range []string{"steps", "stages"} {
		t.emit(event{Phase: "M", Name: "thread_name", Process: process, Thread: thread, Args: map[string]any{"name": track}})
	}
}

// slice writes what takes time; what takes none is left out.
func (t *Writer) slice(run, rank, track int, name string, at, length int64, args map[string]any) {
	if length > 0 {
		t.emit(event{Phase: "X", Name: name, Process: run*mostRanks + rank, Thread: track, Start: micros(at), Length: micros(length), Args: args})
	}
}

// wait writes the part of a stage in which a rank waits for the last one, and the arrow from there.
func (t *Writer) wait(run int, ranks []trace.Rank, r, last int, arrivals []int64, length int64) {
	waited := min(length, arrivals[last]-arrivals[r])
	if waited <= 0 {
		return
	}
	t.slice(run, ranks[r].ID, stages, fmt.Sprintf("wait for rank %d", ranks[last].ID), arrivals[r], waited, nil)
	t.flows++
	t.emit(event{Phase: "s", Name: "arrives last", Category: "sync", Process: run*mostRanks + ranks[last].ID, Thread: stages, Start: micros(arrivals[last]), Flow: t.flows})
	t.emit(event{Phase: "f", Name: "arrives last", Category: "sync", Process: run*mostRanks + ranks[r].ID, Thread: stages, Start: micros(arrivals[r] + waited), Flow: t.flows, Binding: "e"})
}

func micros(ns int64) *float64 {
	us := float64(ns) / 1e3
	return &us
}

// emit writes an event.
func (t *Writer) emit(e event) {
	if t.err != nil {
		return
	}
	text, err := json.Marshal(e)
	if t.err = err; err != nil {
		return
	}
	between := ",\n"
	if !t.any {
		between, t.any = "\n", true
	}
	if _, t.err = t.out.WriteString(between); t.err == nil {
		_, t.err = t.out.Write(text)
	}
}
