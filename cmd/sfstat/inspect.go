package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// inspection is the JSON form of the command.
type inspection struct {
	Inputs []inspectedInput `json:"inputs"`
	inventory.Inventory
	Communication *inventory.Communication `json:"communication"` // null where there are neither logs of NCCL nor dumps of its Inspector
	Problems      []inspectedProblem       `json:"problems"`

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

func (p *program) inspect(c *cli.Context) error {
	found := inspection{Inputs: []inspectedInput{}, Problems: []inspectedProblem{},
		Inventory: inventory.Inventory{Runs: []*inventory.Run{}, Traces: []*inventory.Trace{}, Entered: []*inventory.Entered{}}, entered: map[string]string{}}
	in, err := p.read(c, auto.Described, found.add)
	if err != nil {
		return err
	}
	found.Finish()
	for _, i := range in.read {
		found.Inputs = append(found.Inputs, inspectedInput{i.Path, i.Format.String(), i.Compression.String(), i.Bytes,
			i.Windows, i.Ops, i.MetaOf, i.Skipped, i.Format.Monitors(), found.entered[i.Path]})
	}
	for _, problem := range in.refused() {
		found.Problems = append(found.Problems, inspectedProblem{problem.Path, oneLine(problem.Err)})
	}
	return p.publish(c, nil, func(to report.Output) error {
		if to.Format == report.JSON {
			return to.JSON(found)
		}
		return to.Tables(found.tables()...)
	})
}

func (i *inspection) add(item auto.Item) error {
	switch {
	case item.Ops != nil:
		i.AddTrace(item.Path, item.Ops)
	case item.Window != nil:
		return i.Add(item.Window)
	case item.Comm != nil:
		if e := i.AddEntered(item.Comm); e != nil {
			i.entered[item.Path] = enteredWords(e)
			return nil
		}
		r, err := comm.Analyze(item.Comm, comm.Options{})
		if err != nil {
			return badInput(err)
		}
		i.Communication = inventory.CommunicationOf(r)
	}
	return nil
}

// holds says what an input contributed.
func (i *inspectedInput) holds() string {
	switch {
	case i.Format == auto.NCCLLog.String():
		return "calls of NCCL"
	case i.Format == auto.InspectorDump.String():
		return "records of calls"
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
		return counted(i.Operators, "operator")
	case i.Format == auto.Kineto.String() && i.Operators > 0:
		return "a rank of " + counted(i.Windows, "window") + ", " + counted(i.Operators, "operator")
	case i.Format == auto.SQLite.String() && i.Operators > 0:
		return "a part of " + counted(i.Windows, "window") + ", " + counted(i.Operators, "operator")
	}
	return counted(i.Windows, "window")
}

// tables are what text, Markdown and CSV have; those without rows are left out.
func (i *inspection) tables() []*table.Table {
	in := &table.Table{Title: counted(len(i.Inputs), "input"), Columns: table.Words("path", "format", "size", "holds")}
	for _, each := range i.Inputs {
		as := each.Format
		if each.Compression != ingest.Plain.String() {
			as += ", " + each.Compression
		}
		in.Add(table.Texts(each.Path, as, cmp.Or(report.Size(each.Bytes), "unknown"), each.holds())...)
	}
	out := []*table.Table{in, runTable(i.Runs), traceTable(i.Traces), enteredTable(i.Entered)}
	if i.Communication != nil {
		out = append(out, commFacts(i.Communication))
	}
	out = append(out, stageTable(i.Runs), operatorTable(i.Traces))
	lacks, notes := sayings{title: "lacks", of: "for"}, sayings{title: "incomplete", of: "kind"}
	about := func(run string, n []inventory.Note, needs []inventory.Need) {
		for _, x := range n {
			notes.add(run, x.Kind, x.Text)
		}
		for _, x := range needs {
			lacks.add(run, x.Analysis, x.Lacks)
		}
	}
	for _, r := range i.Runs {
		about(r.Run, r.Notes, r.Needs)
	}
	for _, o := range i.Traces {
		about(o.Run, o.Notes, o.Needs)
	}
	refused := &table.Table{Title: "refused", Columns: table.Words("path", "why")}
	for _, problem := range i.Problems {
		refused.Add(table.Texts(problem.Path, problem.Error)...)
	}
	out = append(out, notes.table(), lacks.table(), refused)
	return slices.DeleteFunc(out, func(t *table.Table) bool { return len(t.Rows) == 0 && t != in })
}

// sayings are what is said of runs, each once.
type sayings struct {
	title, of string
	said      [][2]string
	runs      [][]string
}

func (s *sayings) add(run, of, what string) {
	i := slices.Index(s.said, [2]string{of, what})
	if i < 0 {
		i = len(s.said)
		s.said, s.runs = append(s.said, [2]string{of, what}), append(s.runs, nil)
	}
	if !slices.Contains(s.runs[i], run) {
		s.runs[i] = append(s.runs[i], run)
	}
}

func (s *sayings) table() *table.Table {
	t := &table.Table{Title: s.title, Columns: table.Words("run", s.of, "what")}
	for i, x := range s.said {
		run := s.runs[i][0]
		if n := len(s.runs[i]); n > 1 {
			run = fmt.Sprintf("%d runs", n)
		}
		t.Add(table.Texts(run, x[0], x[1])...)
	}
	return t
}

// runTable has a line for each run of windows.
func runTable(runs []*inventory.Run) *table.Table {
	t := &table.Table{Title: counted(len(runs), "run"), Columns: slices.Concat(table.Words("run"), table.Heads(table.Integer, "windows", "steps"), table.Words("from", "to", "ranks", "missing"),
		table.Heads(table.Integer, "hosts"), table.Words("stages"), table.Heads(table.Integer, "wall"), table.Words("roles", "side channels"))}
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
		t.Add(table.TextCell(r.Run), table.WholeCell(r.Windows), table.WholeCell(r.Steps), table.TextCell(fmt.Sprint(r.FirstStep)), table.TextCell(fmt.Sprint(r.LastStep)),
			table.TextCell(fmt.Sprintf("%d of %d", r.Reporting[1], r.WorldSize)), table.TextCell(r.Missing), table.WholeCell(r.Hosts), table.TextCell(strings.Join(lists, " ")),
			table.WholeCell(r.Wall), table.TextCell(strings.Join(groups, "; ")), table.TextCell(strings.Join(side, ", ")))
	}
	return t.Tidy()
}

// traceTable has a line for each operator trace.
func traceTable(traces []*inventory.Trace) *table.Table {
	t := &table.Table{Title: counted(len(traces), "operator trace"), Columns: slices.Concat(table.Words("run", "layout", "workers"), table.Heads(table.Integer, "steps"),
		table.Words("from", "to"), table.Heads(table.Integer, "operators", "groups", "in groups", "good to, ns"), table.Words("times"))}
	for _, o := range traces {
		layout := fmt.Sprintf("dp %d × pp %d", o.Layout.DP, o.Layout.PP)
		if o.Layout.TP > 0 {
			layout += fmt.Sprintf(" × tp %d", o.Layout.TP*max(1, o.Layout.DSP))
		}
		t.Add(table.TextCell(o.Run), table.TextCell(layout), table.TextCell(fmt.Sprintf("%d of %d", o.Workers, max(o.Workers, o.Layout.DP*o.Layout.PP))),
			table.WholeCell(o.Steps), table.TextCell(fmt.Sprint(o.FirstStep)), table.TextCell(fmt.Sprint(o.LastStep)), table.WholeCell(o.Operators),
			table.WholeCell(o.Groups), table.WholeCell(o.Joined), table.WholeCell(o.Resolution), table.TextCell(o.Units))
	}
	return t.Tidy()
}

// enteredTable has a line for each kind of file of calls that ranks entered.
func enteredTable(kinds []*inventory.Entered) *table.Table {
	t := &table.Table{Title: "calls that ranks entered", Columns: slices.Concat(table.Words("source"), table.Heads(table.Integer, "files"), table.Words("ranks"),
		table.Heads(table.Integer, "calls", "not completed", "lost", "stacks"), table.Words("tells"))}
	for _, e := range kinds {
		var calls, open, lost table.Cell
		if e.Calls > 0 {
			calls, open, lost = table.WholeCell(e.Calls), table.WholeCell(e.Open), table.WholeCell(e.Lost)
		}
		if e.Lost < 0 {
			lost = table.TextCell("some")
		}
		t.Add(table.TextCell(e.Source), table.WholeCell(e.Files), table.TextCell(e.Ranks), calls, open, lost, table.WholeCell(e.Stacks), table.TextCell(e.Tells))
	}
	return t.Tidy()
}

// enteredWords are what a file of calls that ranks entered holds.
func enteredWords(e *inventory.Entered) string {
	of := " of ranks " + e.Ranks
	if len(e.Ranks) == 1 {
		of = " of rank " + e.Ranks
	}
	switch {
	case e.Calls > 0:
		return counted(e.Calls, "call") + of
	case e.Stacks > 0:
		return counted(e.Stacks, "stack") + of
	}
	return "counts of calls" + of
}

// operatorTable has a line for each kind of operator, by which zscore --op and others name it.
func operatorTable(traces []*inventory.Trace) *table.Table {
	t := &table.Table{Title: "operators", Columns: slices.Concat(table.Words("run", "name", "kind"), table.Heads(table.Integer, "count"), table.Words("total"))}
	for _, o := range traces {
		for _, n := range o.Names {
			t.Add(table.TextCell(o.Run), table.TextCell(n.Name), table.TextCell(n.Kind.String()), table.WholeCell(n.Count), table.TextCell(report.Length(n.TotalNS)))
		}
	}
	return t
}

// stageTable has the stages of each list once, in the order of the step.
func stageTable(runs []*inventory.Run) *table.Table {
	t := &table.Table{Title: "stages, in order", Columns: table.Words("list", "stage")}
	seen := make(map[string]bool)
	for _, r := range runs {
		for _, l := range r.StageLists {
			for _, stage := range l.Stages {
				if !seen[l.Hash] {
					t.Add(table.Texts(l.Hash, stage)...)
				}
			}
			seen[l.Hash] = true
		}
	}
	return t
}
