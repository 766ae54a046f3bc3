package tables

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
)

// paperTable is a table of StageFrontier (arXiv 2606.06751) that a campaign
// makes, the published figures beside ours.
type paperTable struct {
	Number   int
	families []simulate.Family // that it counts; nil: all that have a fault
	arms     bool              // it sets runs with arrivals beside those without; else it has no runs with them
	of       func(*Score) *table.Table
}

func (p *paperTable) artifact() string { return "table-" + strconv.Itoa(p.Number) }

func (p *paperTable) counts(t *campaign.Task, r *scoredRun) bool {
	if !slices.Contains(t.Tables, p.Number) || r.withArrivals() && !p.arms {
		return false
	}
	if p.families == nil {
		return !r.healthy()
	}
	return slices.Contains(p.families, r.Family)
}

// allFamilies are the faults, and none.
func allFamilies() []simulate.Family {
	var out []simulate.Family
	for f := simulate.NoFault; f <= simulate.OptimizerHost; f++ {
		out = append(out, f)
	}
	return out
}

// paperTables are those that can be made, by number.
var paperTables = []paperTable{
	{Number: 4, arms: true, of: func(s *Score) *table.Table {
		t := s.timesAlone().methodTable()
		if wide := s.timesAlone().widerSets(); wide != "" {
			t.Notes = append(t.Notes, wide)
		}
		s.addArms(t)
		return t
	}},
	{Number: 5, families: []simulate.Family{simulate.ForwardDevice, simulate.ForwardHost},
		of: (*Score).forwardTable},
	{Number: sourceTable, families: allFamilies(), of: func(*Score) *table.Table { return tableOfSources(nil, nil) }}, // Tables knows of recordings
	{Number: 9, arms: true, of: (*Score).spikeTable},
	{Number: 12, families: allFamilies(), of: (*Score).labelTable},
	{Number: 13, families: allFamilies(), of: func(s *Score) *table.Table { return gateTable(s.gates) }},
	{Number: 14, arms: true, of: func(s *Score) *table.Table {
		by := []key{byFamily, byRanks, byDelay}
		if s.inArms() {
			by = append(by, byArrivals)
		}
		t := s.routingTable(by)
		t.Notes = s.otherFirst(by)
		if s.inArms() {
			s.verdictCells(t, by)
		}
		return t
	}},
	{Number: 15, of: (*Score).sweepTable},
}

// sourceTable is the paper's table of profilers.
const (
	sourceTable    = 6
	sourceArtifact = "table-6"
)

// Artifact is a table or a figure of a campaign and what it was made from.
type Artifact struct {
	Name   string // "table-4"
	Table  *table.Table
	Figure *plots.Figure         // nil: it is a table
	Cells  []cell                // of a table: figures that the published text has too
	Inputs []campaign.Provenance // in the order of the plan

	// Where the artifact was written, by whoever did: the name of the file, the
	// SHA-256 of its bytes, and the command, run in the campaign's folder.
	File, Hash, Command string
}

// folder is a campaign's, and what it is judged by.
type folder struct {
	*campaign.Folder
	gates *gates.Gates // nil: the defaults
}

// Evaluation is a finished campaign, scored; runs and where they come from stand in the
// order of the plan.
type Evaluation struct {
	*folder
	score *Score
	rows  []campaign.Provenance
}

// Published reports whether groups of the campaign stand for published ones.
func (f *Evaluation) Published() bool {
	return slices.ContainsFunc(f.Tasks, func(t campaign.Task) bool { return t.Published != "" })
}

// part are the runs that are to be kept, and where they come from.
func (f *Evaluation) part(keep func(*campaign.Task, *scoredRun) bool) (*Score, []campaign.Provenance) {
	i := -1
	var inputs []campaign.Provenance
	part := f.score.only(func(r *scoredRun) bool {
		i++
		kept := keep(&f.Tasks[i], r)
		if kept {
			inputs = append(inputs, f.rows[i])
		}
		return kept
	})
	return part, inputs
}

// Tables makes the tables of the campaign.
func (f *Evaluation) Tables() ([]Artifact, error) {
	recorded, recordings, err := f.recordings()
	if err != nil {
		return nil, err
	}
	costs, err := readCosts(filepath.Join(f.Path, campaign.SourcesName, costsName))
	if err != nil {
		return nil, err
	}
	var out []Artifact
	for i := range paperTables {
		p := &paperTables[i]
		part, inputs := f.part(p.counts)
		a := Artifact{Name: p.artifact(), Inputs: inputs}
		switch {
		case p.Number == sourceTable && len(recorded) > 0:
			a.Table, a.Inputs = tableOfSources(recorded, costs), recordings
		case len(part.Runs) == 0:
			continue
		default:
			a.Table = p.of(part)
		}
		a.Table.Title = "Table " + strconv.Itoa(p.Number) + ". " + a.Table.Title
		out = append(out, a)
	}
	out = append(out, f.healthy()...)
	out = append(out, f.groups()...)
	recording, err := f.overheads()
	if err != nil {
		return nil, err
	}
	for i := range out {
		reason := f.score.reason
		if out[i].Name == sourceArtifact {
			reason = sourceReason(recorded, f.gates)
		}
		out[i].Cells = explained(cellsOf(out[i].Table, out[i].Name), reason)
	}
	out = append(out, recording...)
	return append(f.published(out), out...), nil
}

// published are the tables of runs that stand for groups of the paper, the
// first of them about what the others say.
func (f *Evaluation) published(others []Artifact) []Artifact {
	var out []Artifact
	for _, p := range []struct {
		name, title string
		groups      []string
		of          func(*Score) *table.Table
	}{
		{"completeness", "E0, E1. ", []string{"E0", "E1"}, (*Score).completenessTable},
		{"boundary", "E4. ", []string{"E4"}, (*Score).boundaryTable},
		{"sharding", "E8. ", []string{"E8"}, (*Score).shardingTable},
		{"scale", "Scale. ", []string{"Scale"}, (*Score).scaleTable},
		{"table-8", "Table 8. ", publishedNames(published().Cases), (*Score).caseTable},
		{"table-16", "Table 16. ", campaign.Published, (*Score).configurationTable},
	} {
		part, inputs := f.part(func(t *campaign.Task, _ *scoredRun) bool { return slices.Contains(p.groups, t.Published) })
		if len(inputs) == 0 {
			continue
		}
		a := Artifact{Name: p.name, Table: p.of(part), Inputs: inputs}
		a.Table.Title = p.title + a.Table.Title
		a.Cells = explained(cellsOf(a.Table, a.Name), f.score.reason)
		out = append(out, a)
	}
	if len(out) > 0 {
		out = append([]Artifact{questions(slices.Concat(out, others), f.rows)}, out...)
	}
	return out
}

// Open scores the archives of a finished campaign with the scoring of [Scorer] by the gates of the options. An archive
// that is not the one that its row tells of is an error, and so is a run that is missing.
func Open(dir string, o Options) (*Evaluation, error) {
	f, err := campaign.Open(dir, Rows())
	if err != nil {
		return nil, err
	}
	rows, err := f.Finished()
	if err != nil {
		return nil, err
	}
	truth, err := f.Truth()
	if err != nil {
		return nil, err
	}
	scorer := New(truth, o)
	for i := range f.Tasks {
		if err := campaign.KeepWindows(context.Background(), f.Archive(&f.Tasks[i]), scorer.Add); err != nil {
			return nil, err
		}
	}
	score := scorer.Score()
	for i := range f.Tasks {
		score.Runs[i].task = &f.Tasks[i]
	}
	return &Evaluation{&folder{f, o.Gates}, score, rows}, nil
}

// groups are the tables that follow from what groups are: what each shows, and
// of those with several delays, removed faults or microsteps what that shows.
func (f *Evaluation) groups() []Artifact {
	groups := f.byGroup()
	out := []Artifact{{Name: "groups", Table: groupTable(groups), Inputs: f.rows}}
	for _, g := range groups {
		add := func(kind string, t *table.Table) {
			t.Title = "Group " + g.Name + ". " + t.Title
			out = append(out, Artifact{Name: kind + "-" + g.Name, Table: t, Inputs: g.inputs})
		}
		if severalDelays(g.Runs) {
			add("detectability", g.detectabilityTable())
			add("thresholds", g.thresholdTable())
		}
		if back := g.recoveries(); len(back) > 0 {
			add("recovery", recoveryTable(back))
		}
		if slices.ContainsFunc(g.Runs, func(r *scoredRun) bool { return r.Accumulation > 1 && !r.healthy() }) {
			add("accumulation", g.accumulationTable())
		}
	}
	return out
}
