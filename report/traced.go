package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/operator"
)

// Traced is an operator trace that an engine was run on.
type Traced struct {
	View     *operators.View
	Launched *operator.Totals // of a profiler's trace, its operators by name and stage; else nil
}

// tracesOf returns the document of what an engine makes of traces.
func tracesOf[T any](form string, traces []T, problems []Problem) publish.Traces[T] {
	return publish.Traces[T]{Schema: form, Traces: traces, Problems: problemsOf(problems)}
}

func (t Traced) worker(w int) publish.Worker { return publish.WorkerOf(t.View, w) }
func (t Traced) ranksOf(workers []int) []int { return publish.RanksOf(t.View, workers) }

// title returns "AR · 44 steps from 16 to 1238 · 16 workers, dp 4 × pp 4".
func (t Traced) title() heading {
	v := t.View
	return heading(sayTrace(&crew{run: v.Trace.Run, steps: v.Steps(), workers: v.Workers(), all: v.Trace.Layout.DP * v.Trace.Layout.PP,
		replicas: v.Grid.Replicas, stages: v.Grid.Stages, alike: v.Trace.Serial && v.Grid.Stages == 1}))
}

// basis returns the sentences that every account of a trace ends with.
func (t Traced) basis() bullets {
	var b bullets
	if t.View.Offset > 0 {
		b = append(b, sayAligned(t.View.Offset))
	}
	return append(b, publish.TraceOf(t.View).Notes...)
}

// operatorName returns "forward-compute 3", or "forward-compute" for all of a step together.
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

// capRows returns the number of rows shown, of how many.
func capRows(t *table.Table, most int, where string) *table.Table {
	if n := len(t.Rows); n > most {
		t.Rows = t.Rows[:most]
		t.Caption = strings.TrimSpace(fmt.Sprintf("%s The first %d of %s are shown; all are in %s.", t.Caption, most, table.Grouped(int64(n)), where))
	}
	return t
}
