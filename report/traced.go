package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/operator"
)

// Traced is an operator trace that an engine was run on.
type Traced struct {
	View     *operators.View
	Launched *operator.Totals // of a profiler's trace, its operators by name and stage; else nil
}

// tracesJSON is the JSON of all commands over operator traces.
type tracesJSON[T any] struct {
	Traces []T `json:"traces" doc:"one for each operator trace, in the order of the input"`
}

// traceJSON is what is known of a trace before any engine.
type traceJSON struct {
	Run       string   `json:"run" doc:"name of the trace: its own, else that of its file"`
	DP        int      `json:"dp_size" doc:"replicas"`
	PP        int      `json:"pp_size" doc:"pipeline stages"`
	World     int      `json:"world_size" doc:"ranks of the job; 0 where it is not known"`
	Operators int      `json:"operators" doc:"operators in the trace"`
	Steps     []int64  `json:"step_ids" doc:"indices of the steps that were analysed, ascending; lists per step are in this order"`
	Offset    int64    `json:"clock_offset_ns" doc:"largest offset of a rank's clock before clocks were aligned; 0: clocks were left as they are"`
	Notes     []string `json:"notes" doc:"what is incomplete, in sentences"`
}

func (t Traced) wire() traceJSON {
	v := t.View
	return traceJSON{v.Trace.Run, v.Grid.Replicas, v.Grid.Stages, v.Trace.Layout.World, v.Trace.Len(), v.Steps(), v.Offset, t.notes()}
}

// notes are what is incomplete, each once; never nil.
func (t Traced) notes() []string {
	out := []string{}
	for _, n := range t.View.Notes() {
		if !slices.Contains(out, n.Text) {
			out = append(out, n.Text)
		}
	}
	return out
}

// placeJSON is a worker and its place.
type placeJSON struct {
	Rank int `json:"rank" doc:"global rank"`
	DP   int `json:"dp" doc:"its replica"`
	PP   int `json:"pp" doc:"its pipeline stage"`
}

func (t Traced) worker(w int) placeJSON {
	return placeJSON{t.View.Rank(w).ID, t.View.Replica(w), t.View.Stage(w)}
}

// ranksOf are the IDs of workers, never nil.
func (t Traced) ranksOf(workers []int) []int {
	return each(workers, func(w int) int { return t.View.Rank(w).ID })
}

// title is "AR · 44 steps from 16 to 1238 · 16 workers, dp 4 × pp 4".
func (t Traced) title() heading {
	v := t.View
	return heading(say("trace title", struct {
		*operators.View
		Run          string
		Steps        []int64
		Workers, All int
		Alone        bool // stage times of ranks that do the same work
	}{v, v.Trace.Run, v.Steps(), v.Workers(), v.Trace.Layout.DP * v.Trace.Layout.PP, v.Trace.Serial && v.Grid.Stages == 1}))
}

// basis are the sentences that every account of a trace ends with.
func (t Traced) basis() bullets {
	var b bullets
	if t.View.Offset > 0 {
		b = append(b, say("clocks aligned", t.View.Offset))
	}
	return append(b, t.notes()...)
}

// operatorName is "forward-compute 3", or "forward-compute" for all of a step
// together.
func operatorName(name string, seq int) string {
	if seq == operators.Total {
		return opnames.Label(name)
	}
	return fmt.Sprintf("%s %d", opnames.Label(name), seq)
}

// ends keeps the first and the last rows where there are more than so many.
func ends(t *table.Table, most int) *table.Table {
	if n := len(t.Rows); n > most {
		t.Rows = slices.Concat(t.Rows[:most/2], t.Rows[n-most/2:])
		t.Caption = strings.TrimSpace(fmt.Sprintf("%s The first and the last %d of %d are shown.", t.Caption, most/2, n))
	}
	return t
}

// mostRows is how many lines of a table of a large job text and Markdown show.
const mostRows = 64

// capped says how many rows a table shows of how many there are.
func capped(t *table.Table, most int, where string) *table.Table {
	if n := len(t.Rows); n > most {
		t.Rows = t.Rows[:most]
		t.Caption = strings.TrimSpace(fmt.Sprintf("%s The first %d of %s are shown; all are in %s.", t.Caption, most, table.Grouped(int64(n)), where))
	}
	return t
}
