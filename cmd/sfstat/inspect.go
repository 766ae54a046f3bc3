package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

func (p *program) inspectCommand() *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "show what the inputs contain, and which analyses need more data", ArgsUsage: "PATH...",
		Description: "Reads everything and analyses nothing: formats and sizes, runs, windows, steps, ranks, roles, stages, " +
			"side channels, operators and their groups, calls of NCCL, what is incomplete. CSV is one row per run or operator trace.",
		Flags: join([]cli.Flag{strictFlag()}, selectionFlags(), profileFlags(), resultFlags()),
		UsageText: `sfstat inspect run/
sfstat inspect run.parquet --format json | jq '.runs[].stage_lists'
sfstat inspect trace-a.csv --format json | jq '.operator_traces[].names'`,
		Action: p.inspect,
	}
}

// inspection is the JSON form of the command.
type inspection struct {
	Inputs []inspectedInput `json:"inputs"`
	inventory.Inventory
	Communication *inventory.Communication `json:"communication"` // null where there are neither logs of NCCL nor dumps of its Inspector
	Problems      []inspectedProblem       `json:"problems"`
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

	monitors bool // it is of monitoring
}

type inspectedProblem struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

func (p *program) inspect(c *cli.Context) error {
	found := inspection{Inputs: []inspectedInput{}, Problems: []inspectedProblem{},
		Inventory: inventory.Inventory{Runs: []*inventory.Run{}, Traces: []*inventory.Trace{}}}
	in, err := p.read(c, auto.Described, found.add)
	if err != nil {
		if told, _ := p.addCommunication(c, &found); !told {
			return err
		}
	}
	found.Finish()
	for _, i := range in.read {
		found.Inputs = append(found.Inputs, inspectedInput{i.Path, i.Format.String(), i.Compression.String(), i.Bytes,
			i.Windows, i.Ops, i.MetaOf, i.Skipped, i.Format.Monitors()})
	}
	if slices.ContainsFunc(in.read, func(i auto.Input) bool { return i.Format == auto.NCCLLog || i.Format == auto.InspectorDump }) {
		if _, err := p.addCommunication(c, &found); err != nil {
			return err
		}
	}
	for _, problem := range in.refused() {
		found.Problems = append(found.Problems, inspectedProblem{problem.Path, oneLine(problem.Err)})
	}
	return p.publish(c, nil, func(to report.Output) error {
		switch to.Format {
		case report.JSON:
			return to.JSON(found)
		case report.CSV:
			return to.Tables(found.runTable())
		}
		return to.Tables(found.tables()...)
	})
}

func (i *inspection) add(item auto.Item) error {
	if item.Ops != nil {
		i.AddTrace(item.Path, item.Ops)
		return nil
	}
	return i.Add(item.Window)
}

// holds says what an input contributed.
func (i *inspectedInput) holds() string {
	switch {
	case i.Format == auto.NCCLLog.String():
		return "calls of NCCL"
	case i.Format == auto.InspectorDump.String():
		return "records of calls"
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

// runTable has a row for each run of windows and for each operator trace, in
// base units. What the one or the other has not is empty.
func (i *inspection) runTable() *table.Table {
	t := &table.Table{Columns: slices.Concat(table.Words("run"),
		table.Heads(table.Integer, "windows", "steps", "first_step", "last_step", "world_size", "ranks_min", "ranks_max", "stages"), table.Words("stage_hash"),
		table.Heads(table.Integer, "accumulation", "windows_with_wall_time", "durations", "total_ns"), table.Words("notes"),
		table.Heads(table.Integer, "operators", "operator_names", "dp", "pp", "tp", "dsp", "vpp", "groups", "joined", "resolution_ns"))}
	for _, r := range i.Runs {
		var hashes, notes []string
		for _, l := range r.StageLists {
			hashes = append(hashes, l.Hash)
		}
		for _, n := range r.Notes {
			notes = append(notes, n.Kind)
		}
		t.Add(table.TextCell(r.Run), table.WholeCell(r.Windows), table.WholeCell(r.Steps), table.WholeCell(r.FirstStep), table.WholeCell(r.LastStep),
			table.WholeCell(r.WorldSize), table.WholeCell(r.Reporting[0]), table.WholeCell(r.Reporting[1]),
			table.WholeCell(len(r.StageLists[0].Stages)), table.TextCell(strings.Join(hashes, " ")), table.WholeCell(r.Accumulation),
			table.WholeCell(r.Wall), table.WholeCell(r.Durations), table.WholeCell(r.TotalNS), table.TextCell(strings.Join(notes, " ")))
	}
	for _, o := range i.Traces {
		t.Add(opsRow(o)...)
	}
	return t
}

// tables is the inspection for a person: the inputs, then a block per run.
func (i *inspection) tables() []*table.Table {
	in := &table.Table{Title: counted(len(i.Inputs), "input"), Columns: table.Words("path", "format", "size", "holds")}
	for _, each := range i.Inputs {
		as := each.Format
		if each.Compression != ingest.Plain.String() {
			as += ", " + each.Compression
		}
		in.Add(table.Texts(each.Path, as, cmp.Or(report.Size(each.Bytes), "unknown"), each.holds())...)
	}
	out := []*table.Table{in}
	for _, r := range i.Runs {
		out = append(out, runFacts(r))
	}
	for _, o := range i.Traces {
		out = append(out, opsFacts(o), opsNames(o))
	}
	if i.Communication != nil {
		out = append(out, commFacts(i.Communication))
	}
	if len(i.Runs) > 0 {
		out = append(out, stageTable(i.Runs))
	}
	if len(i.Problems) > 0 {
		t := &table.Table{Title: "refused", Columns: table.Words("path", "why")}
		for _, problem := range i.Problems {
			t.Add(table.Texts(problem.Path, problem.Error)...)
		}
		out = append(out, t)
	}
	return out
}

func runFacts(r *inventory.Run) *table.Table {
	ranks := fmt.Sprintf("%d of %d", r.Reporting[1], r.WorldSize)
	if r.Reporting[0] != r.Reporting[1] {
		ranks = fmt.Sprintf("%d to %d of %d", r.Reporting[0], r.Reporting[1], r.WorldSize)
	}
	if r.Missing != "" {
		ranks += ", missing " + r.Missing
	}
	if r.Hosts > 0 {
		ranks += ", on " + counted(r.Hosts, "host")
	}
	t := &table.Table{Title: "run " + r.Run}
	t.Fact("windows", "%d", r.Windows)
	t.Fact("steps", "%d, from %d to %d", r.Steps, r.FirstStep, r.LastStep)
	t.Fact("ranks", "%s", ranks)
	for _, g := range r.Groups {
		if len(r.Groups) > 1 || g.Group != "" {
			t.Fact("group "+g.Group, "ranks %s", g.Ranks)
		}
	}
	for _, l := range r.StageLists {
		t.Fact("stages", "%d, list %s, in %s", len(l.Stages), l.Hash, counted(l.Windows, "window"))
	}
	if r.Accumulation > 1 {
		t.Fact("accumulation", "%s", counted(r.Accumulation, "microstep"))
	}
	t.Fact("durations", "%d, %s of rank time", r.Durations, report.Length(r.TotalNS))
	t.Fact("wall time", "in %d of %s", r.Wall, counted(r.Windows, "window"))
	for _, c := range r.Side {
		t.Fact("side channel", "%s: %d of %s ready%s", c.Name, c.Ready, counted(int(c.Samples), "sample"), timing(c))
	}
	for _, n := range r.Notes {
		t.Fact("incomplete", "%s in %s: %s", n.Kind, counted(n.Windows, "window"), n.Text)
	}
	for _, n := range r.Needs {
		t.Fact("lacks", "%s: %s", n.Analysis, n.Lacks)
	}
	return t
}

func timing(c inventory.Channel) string {
	if len(c.Times) == 0 {
		return ""
	}
	return ", times " + strings.Join(c.Times, ", ")
}

// stageTable lists every stage list of the runs once.
func stageTable(runs []*inventory.Run) *table.Table {
	t := &table.Table{Title: "stage lists, in order"}
	seen := make(map[string]bool)
	for _, r := range runs {
		for _, l := range r.StageLists {
			for i, stage := range l.Stages {
				hash := ""
				if i == 0 {
					hash = l.Hash
				}
				if !seen[l.Hash] {
					t.Add(table.Texts(hash, stage)...)
				}
			}
			seen[l.Hash] = true
		}
	}
	return t
}
