package campaign

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/simulate"
)

// PaperTable is a table of StageFrontier (arXiv 2606.06751) that a campaign
// makes, the published figures beside ours.
type PaperTable struct {
	Number   int
	families []simulate.Family // that it counts; nil: all
	of       func(*Score) Table
}

func (p *PaperTable) counts(t *Task, r *Run) bool {
	return slices.Contains(t.Tables, p.Number) && !r.healthy() && (p.families == nil || slices.Contains(p.families, r.Family))
}

// PaperTables are those that can be made, by number.
var PaperTables = []PaperTable{
	{Number: 4, of: func(s *Score) Table { return s.MethodTable(View{Published: true}) }},
	{Number: 5, families: []simulate.Family{simulate.ForwardDevice, simulate.ForwardHost},
		of: func(s *Score) Table { return s.ForwardTable(View{Published: true}) }},
	{Number: 14, of: func(s *Score) Table {
		return s.RoutingTable(View{By: []Key{ByFamily, ByRanks, ByDelay}, Published: true})
	}},
	{Number: 15, of: func(s *Score) Table { return s.SweepTable(View{Published: true}) }},
}

// Artifact is a table of a campaign and what it was made from.
type Artifact struct {
	Name   string // "table-4"
	Table  Table
	Inputs []Provenance // in the order of the plan

	// Where the table was written, by whoever did: the name of the file, the
	// SHA-256 of its bytes, and the command, run in the campaign's folder.
	File, Hash, Command string
}

// Tables makes the tables of a finished campaign from its archives, with the
// scoring of [Scorer]. An archive that is not the one that its row tells of is
// an error, and so is a run that is missing.
func Tables(dir string) ([]Artifact, error) {
	f, err := open(dir)
	if err != nil {
		return nil, err
	}
	rows, err := f.finished()
	if err != nil {
		return nil, err
	}
	score, err := f.score(f.tasks)
	if err != nil {
		return nil, err
	}
	var out []Artifact
	for _, p := range PaperTables {
		part := Score{Tau: score.Tau}
		a := Artifact{Name: "table-" + strconv.Itoa(p.Number)}
		for i := range f.tasks {
			if p.counts(&f.tasks[i], score.Runs[i]) {
				part.Runs = append(part.Runs, score.Runs[i])
				a.Inputs = append(a.Inputs, rows[i])
			}
		}
		if len(part.Runs) == 0 {
			continue
		}
		a.Table = p.of(&part)
		a.Table.Title = "Table " + strconv.Itoa(p.Number) + ". " + a.Table.Title
		out = append(out, a)
	}
	out = append(out, f.healthy(score, rows)...)
	return append(out, f.curves(score, rows)...), nil
}

// curves are the detectability of every group that has several delays.
func (f *folder) curves(score *Score, rows []Provenance) []Artifact {
	var out []Artifact
	for from := 0; from < len(f.tasks); {
		to := from
		for to < len(f.tasks) && f.tasks[to].Group == f.tasks[from].Group {
			to++
		}
		part := Score{Tau: score.Tau, Runs: score.Runs[from:to]}
		if severalDelays(part.Runs) {
			table := part.DetectabilityTable()
			table.Title = "Group " + f.tasks[from].Group + ". " + table.Title
			out = append(out, Artifact{Name: "detectability-" + f.tasks[from].Group, Table: table, Inputs: rows[from:to]})
		}
		from = to
	}
	return out
}

// WriteManifest writes which table was made from what: CSV, a row for each
// table and input.
func WriteManifest(w io.Writer, artifacts []Artifact) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"table", "file", "file_sha256", "command", "input", "input_sha256", "spec_sha256", "made_by"}); err != nil {
		return err
	}
	for _, a := range artifacts {
		for _, in := range a.Inputs {
			if err := out.Write([]string{a.Name, a.File, a.Hash, a.Command, in.Input, in.InputHash, in.SpecHash, in.Version}); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
