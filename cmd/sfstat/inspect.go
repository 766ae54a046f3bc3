package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/recorded"
)

// inspection is the JSON form of the command.
type inspection struct {
	Inputs []inspectedInput `json:"inputs"`
	inventory.Inventory
	Problems []inspectedProblem `json:"problems"`

	entered map[string]string // what files of calls that ranks entered hold, by path
}

type inspectedInput struct {
	Path        string `json:"path"`
	Format      string `json:"format"`
	Compression string `json:"compression"`
	Bytes       int64  `json:"bytes"`
	Windows     int    `json:"windows"`
	Operators   int    `json:"operators"`
	MetaOf      string `json:"meta_of"` // the operator trace that this is the meta file of, or the table that it lies beside
	Skipped     string `json:"skipped"` // why it was not read; "" if it was

	monitors bool   // it is of monitoring
	entered  string // what it holds of calls that ranks entered
}

type inspectedProblem struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// described lists the kinds of recordings that have a line.
const described = auto.Windows | auto.Operators | auto.Devices | auto.Entries | auto.Calls

func (p *program) inspect(c *cli.Context) error {
	found := inspection{Inputs: []inspectedInput{}, Problems: []inspectedProblem{},
		Inventory: inventory.Inventory{Runs: []inventory.Run{}, Traces: []*inventory.Trace{}, Entered: []inventory.Entered{}}, entered: map[string]string{}}
	in, err := p.readInputs(c, reading{kinds: described, detail: profiler.Overview, alone: true}, found.add)
	if err != nil {
		return err
	}
	found.Finish()
	for _, i := range in.Read {
		found.Inputs = append(found.Inputs, inspectedInput{i.Path, i.Format.String(), i.Compression.String(), i.Bytes,
			i.Windows, i.Ops, i.MetaOf, i.Skipped, i.Format.Monitors(), found.entered[i.Path]})
	}
	for _, problem := range refusedProblems(in) {
		found.Problems = append(found.Problems, inspectedProblem{problem.Path, oneLine(problem.Err)})
	}
	return p.publish(c, nil, func(to report.Output) error {
		if to.Format == report.JSON {
			return publish.Write(to.W, found)
		}
		return to.Tables(found.tables()...)
	})
}

func (i *inspection) add(j recorded.Job) error {
	for _, w := range j.Windows {
		if err := windowError(w, i.Add(w)); err != nil {
			return err
		}
	}
	if j.Operators != nil {
		i.AddTrace(j.Path, j.Operators)
	}
	if j.Calls != nil {
		if e := i.AddEntered(j.Calls); e != nil {
			i.entered[j.Path] = enteredWords(e)
		}
	}
	return nil
}

// contents returns the contents of an input in words.
func (i *inspectedInput) contents() string {
	switch {
	case i.Format == auto.NCCLLog.String(), i.Format == auto.InspectorDump.String():
		return "calls of NCCL, which sfstat comm lists"
	case i.entered != "":
		return i.entered
	case i.monitors:
		return "readings, for sfstat diagnose beside a recording of the job"
	case i.Skipped != "":
		return "skipped: " + i.Skipped
	case i.Format == auto.Arrivals.String():
		return "epochs and arrivals of " + i.MetaOf
	case i.MetaOf != "":
		return "layout of " + i.MetaOf
	case i.Format == auto.OperatorTrace.String():
		return table.Counted(i.Operators, "operator")
	case i.Format == auto.Kineto.String() && i.Operators > 0:
		return "a rank of " + table.Counted(i.Windows, "window") + ", " + table.Counted(i.Operators, "operator")
	case i.Format == auto.SQLite.String() && i.Operators > 0:
		return "a part of " + table.Counted(i.Windows, "window") + ", " + table.Counted(i.Operators, "operator")
	}
	return table.Counted(i.Windows, "window")
}

// listing returns a table; the names of its columns of whole numbers end with a # behind.
func listing(title string, columns ...string) *table.Table {
	t := &table.Table{Title: title}
	for _, name := range columns {
		if number, is := strings.CutSuffix(name, "#"); is {
			t.Columns = append(t.Columns, table.Heads(table.Integer, number)...)
		} else {
			t.Columns = append(t.Columns, table.Words(name)...)
		}
	}
	return t
}

// tables returns the tables of text, Markdown and CSV; those without rows are left out.
func (i *inspection) tables() []*table.Table {
	in := listing(table.Counted(len(i.Inputs), "input"), "path", "format", "size", "holds")
	for _, each := range i.Inputs {
		as := each.Format
		if each.Compression != ingest.Plain.String() {
			as += ", " + each.Compression
		}
		in.Row(each.Path, as, cmp.Or(report.Size(each.Bytes), "unknown"), each.contents())
	}
	out := []*table.Table{in, runTable(i.Runs), traceTable(i.Traces), enteredTable(i.Entered)}
	var notes ordered.List[[2]string, []string] // runs, by what is said of them
	for k := range i.Runs {                     // each once
		sayOf(&notes, i.Runs[k].Run, i.Runs[k].Notes)
	}
	for _, o := range i.Traces {
		sayOf(&notes, o.Run, o.Notes)
	}
	refused := listing("refused", "path", "why")
	for _, problem := range i.Problems {
		refused.Row(problem.Path, problem.Error)
	}
	out = append(out, stageTable(i.Runs), operatorTable(i.Traces), noteTable(notes.All), refused)
	return slices.DeleteFunc(out, func(t *table.Table) bool { return len(t.Rows) == 0 && t != in })
}

// sayOf notes of a run what is said of several once: the kind, and the sentence.
func sayOf(all *ordered.List[[2]string, []string], run string, notes []inventory.Note) {
	for _, n := range notes {
		x, first := all.Of([2]string{n.Kind, n.Text})
		if first {
			*x = []string{n.Kind, n.Text}
		}
		if n := len(*x); n == 2 || (*x)[n-1] != run {
			*x = append(*x, run)
		}
	}
}

// noteTable returns a table with a line for each incomplete part.
func noteTable(all [][]string) *table.Table {
	t := listing("incomplete", "run", "kind", "what")
	for _, x := range all {
		run := x[2]
		if n := len(x) - 2; n > 1 {
			run = fmt.Sprintf("%d runs", n)
		}
		t.Row(run, x[0], x[1])
	}
	return t
}

// runTable returns a table with a line for each run of windows.
func runTable(runs []inventory.Run) *table.Table {
	t := listing(table.Counted(len(runs), "run"), "run", "windows#", "steps#", "from", "to", "ranks", "missing", "hosts#", "stages", "wall#", "roles", "side channels")
	for _, r := range runs {
		var lists, groups, side []string
		for _, l := range r.StageLists {
			lists = append(lists, l.Hash)
		}
		for _, g := range r.Groups {
			if g.Group != "" {
				groups = append(groups, g.Group+": "+g.Ranks)
			}
		}
		for _, c := range r.Side {
			side = append(side, fmt.Sprintf("%s (%d of %d ready)", c.Name, c.Ready, c.Samples))
		}
		t.Row(r.Run, r.Windows, r.Steps, fmt.Sprint(r.FirstStep), fmt.Sprint(r.LastStep), fmt.Sprintf("%d of %d", r.Reporting[1], r.WorldSize), r.Missing,
			r.Hosts, strings.Join(lists, " "), r.Wall, strings.Join(groups, "; "), strings.Join(side, ", "))
	}
	return t.Tidy()
}

// traceTable returns a table with a line for each operator trace.
func traceTable(traces []*inventory.Trace) *table.Table {
	t := listing(table.Counted(len(traces), "operator trace"), "run", "layout", "workers", "steps#", "from", "to", "operators#", "groups#", "in groups#", "good to, ns#", "times")
	for _, o := range traces {
		layout := fmt.Sprintf("dp %d × pp %d", o.Layout.DP, o.Layout.PP)
		if o.Layout.TP > 0 {
			layout += fmt.Sprintf(" × tp %d", o.Layout.TP*max(1, o.Layout.DSP))
		}
		t.Row(o.Run, layout, fmt.Sprintf("%d of %d", o.Workers, max(o.Workers, o.Layout.DP*o.Layout.PP)), o.Steps, fmt.Sprint(o.FirstStep), fmt.Sprint(o.LastStep),
			o.Operators, o.Groups, o.Joined, o.Resolution, o.Units)
	}
	return t.Tidy()
}

// enteredTable returns a table with a line for each kind of file of entered calls.
func enteredTable(kinds []inventory.Entered) *table.Table {
	t := listing("calls that ranks entered", "source", "files#", "ranks", "calls#", "not completed#", "lost#", "stacks#", "tells")
	for _, e := range kinds {
		var calls, open, lost table.Cell
		if e.Calls > 0 {
			calls, open, lost = table.WholeCell(e.Calls), table.WholeCell(e.Open), table.WholeCell(e.Lost)
		}
		if e.Lost < 0 {
			lost = table.TextCell("some")
		}
		t.Row(e.Source, e.Files, e.Ranks, calls, open, lost, e.Stacks, e.Tells)
	}
	return t.Tidy()
}

// enteredWords returns the contents of a file of entered calls in words.
func enteredWords(e *inventory.Entered) string {
	of := " of ranks " + e.Ranks
	if len(e.Ranks) == 1 {
		of = " of rank " + e.Ranks
	}
	switch {
	case e.Calls > 0:
		return table.Counted(e.Calls, "call") + of
	case e.Stacks > 0:
		return table.Counted(e.Stacks, "stack") + of
	}
	return "counts of calls" + of
}

// operatorTable returns a table with a line for each kind of operator, by which zscore --op and others name it.
func operatorTable(traces []*inventory.Trace) *table.Table {
	t := listing("operators", "run", "name", "kind", "count#", "total")
	for _, o := range traces {
		for _, n := range o.Names {
			t.Row(o.Run, n.Name, string(n.Kind), n.Count, report.Length(n.TotalNS))
		}
	}
	return t
}

// stageTable returns a table with the stages of each list once, in the order of the step.
func stageTable(runs []inventory.Run) *table.Table {
	t := listing("stages, in order", "list", "stage")
	seen := make(map[string]bool)
	for _, r := range runs {
		for _, l := range r.StageLists {
			for _, stage := range l.Stages {
				if !seen[l.Hash] {
					t.Row(l.Hash, stage)
				}
			}
			seen[l.Hash] = true
		}
	}
	return t
}
