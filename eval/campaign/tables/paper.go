package tables

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace"
)

// paperTable is a table that a campaign makes of some of its runs, most of them of
// StageFrontier (arXiv 2606.06751) with the published figures beside ours.
type paperTable struct {
	name, title string // of the artifact; what its title begins with
	counts      func(*campaign.Task, *scoredRun) bool
	of          func(*Score) *table.Table
}

// sourceArtifact is the paper's table of profilers, which is made of their recordings.
const sourceArtifact = "table-6"

// paperTables are those that can be made, in their order on the page.
var paperTables = []paperTable{
	{"completeness", "E0, E1. ", stand("E0", "E1"), (*Score).completenessTable},
	{"boundary", "E4. ", stand("E4"), (*Score).boundaryTable},
	{"sharding", "E8. ", stand("E8"), (*Score).shardingTable},
	{"scale", "Scale. ", stand("Scale"), (*Score).scaleTable},
	{"table-8", "Table 8. ", stand(campaign.PublishedCases...), (*Score).caseTable},
	{"table-16", "Table 16. ", stand(slices.Concat(campaign.PublishedGroups, campaign.PublishedCases)...), (*Score).configurationTable},
	{"table-4", "Table 4. ", runsForTable(4, isFaulty), (*Score).methodTable},
	{"table-5", "Table 5. ", runsForTable(5, isForward, isAlone), (*Score).forwardTable},
	{sourceArtifact, "Table 6. ", runsForTable(6, isAlone), func(*Score) *table.Table { return tableOfSources(nil) }},
	{"table-9", "Table 9. ", runsForTable(9, isFaulty), (*Score).spikeTable},
	{"table-12", "Table 12. ", runsForTable(12, isAlone), (*Score).labelTable},
	{"table-13", "Table 13. ", runsForTable(13, isAlone), func(s *Score) *table.Table { return gateTable(s.gates) }},
	{"table-14", "Table 14. ", runsForTable(14, isFaulty), (*Score).routingTable},
	{"table-15", "Table 15. ", runsForTable(15, isFaulty, isAlone), (*Score).sweepTable},
	{"healthy", "", func(_ *campaign.Task, r *scoredRun) bool {
		return slices.ContainsFunc(r.tableWindows(), func(w scoredWindow) bool { return !w.Fault })
	}, (*Score).healthyTable},
}

// stand returns the runs that stand for published groups or cases.
func stand(published ...string) func(*campaign.Task, *scoredRun) bool {
	return func(t *campaign.Task, _ *scoredRun) bool { return slices.Contains(published, t.Published) }
}

// runsForTable returns the runs of groups that a table is about and counts.
func runsForTable(number int, counts ...func(*scoredRun) bool) func(*campaign.Task, *scoredRun) bool {
	return func(t *campaign.Task, r *scoredRun) bool {
		return slices.Contains(t.Tables, number) && !slices.ContainsFunc(counts, func(is func(*scoredRun) bool) bool { return !is(r) })
	}
}

func isFaulty(r *scoredRun) bool { return !r.healthy() }

// isAlone returns a condition for tables that do not set runs with arrivals beside runs without.
func isAlone(r *scoredRun) bool { return !r.hasArrivals() }

func isForward(r *scoredRun) bool {
	return r.Family == forwardFamilies[0].family || r.Family == forwardFamilies[1].family
}

func tableNamed(name string) *paperTable {
	return &paperTables[slices.IndexFunc(paperTables, func(p paperTable) bool { return p.name == name })]
}

// Artifact is a table or a figure of a campaign and what it was made from.
type Artifact struct {
	Name   string // "table-4"
	Table  *table.Table
	Figure plots.Drawing         // nil: it is a table
	Cells  []Cell                // of a table: figures that the published text has too
	Inputs []campaign.Provenance // in the order of the plan

	// Where the artifact was written, by whoever did: the name of the file, the
	// SHA-256 of its bytes, and the command, run in the campaign's folder.
	File, Hash, Command string
}

// Evaluation is a finished campaign, scored; runs and where they come from stand in the
// order of the plan.
type Evaluation struct {
	*campaign.Folder
	gates *gates.Gates // nil: the defaults
	cases map[string]*runCase
	score *Score
	rows  []campaign.Provenance
	// settings are under which the same runs were scored once more.
	settings []settingScore

	own bool // recordings that no campaign made
	// Unread is what could not be read of such recordings.
	Unread []string
}

// Open scores on a disk, nil: that of this machine, the archives of a finished campaign, or the recordings beside a truth.csv, with the scoring of [Scorer] by
// gates, nil: the defaults. An archive that is not the one that its row tells of is an error, and so is a run that is
// missing.
func Open(on disk.Disk, dir string, by *gates.Gates) (*Evaluation, error) {
	holds, err := campaign.HasSpecification(on, dir)
	if err != nil {
		return nil, err
	}
	if !holds {
		if own, err := campaign.Exists(on, filepath.Join(dir, campaign.TruthName)); err != nil || own {
			return openOwn(on, dir, by)
		}
	}
	f, err := campaign.Open(on, dir)
	if err != nil {
		return nil, err
	}
	rows, err := f.Provenances()
	if err != nil {
		return nil, err
	}
	truth, err := f.Truth()
	if err != nil {
		return nil, err
	}
	of := cases(truth)
	base := newScorer(of, by)
	settings, err := settingScorers(base, f.Settings)
	if err != nil {
		return nil, err
	}
	all := append([]*Scorer{base}, settings...)
	for i := range f.Tasks {
		t := &f.Tasks[i]
		if err := f.Keep(context.Background(), t, func(x trace.Recording) error { return addTo(all, t.ID, x) }); err != nil {
			return nil, err
		}
		for _, s := range all {
			s.close(t.ID)
		}
	}
	scores := scoresOf(all, f.Tasks)
	e := &Evaluation{Folder: f, gates: by, cases: of, score: scores[0], rows: rows}
	for i, s := range scores[1:] {
		e.settings = append(e.settings, settingScore{f.Settings[i].Name, s})
	}
	return e, nil
}

// IsPublished reports whether groups of the campaign stand for published ones.
func (e *Evaluation) IsPublished() bool {
	return slices.ContainsFunc(e.Tasks, func(t campaign.Task) bool { return t.Published != "" })
}

// part returns the runs to keep, and their origin.
func (e *Evaluation) part(keep func(*campaign.Task, *scoredRun) bool) (*Score, []campaign.Provenance) {
	i := -1
	var inputs []campaign.Provenance
	part := e.score.selectRuns(func(r *scoredRun) bool {
		i++
		kept := keep(r.task, r)
		if kept {
			inputs = append(inputs, e.rows[i])
		}
		return kept
	})
	return part, inputs
}

// Tables makes the tables of the campaign.
func (e *Evaluation) Tables() ([]Artifact, error) {
	runs, recordings, err := e.recordings()
	if err != nil {
		return nil, err
	}
	costs, err := readCosts(e.Disk, filepath.Join(e.Path, campaign.SourcesName, costsName))
	if err != nil {
		return nil, err
	}
	sources := sourcesOf(runs, costs)
	var out []Artifact
	for _, p := range paperTables {
		part, inputs := e.part(p.counts)
		a, reason := Artifact{Name: p.name, Inputs: inputs}, e.score.reason
		switch {
		case p.name == sourceArtifact && len(runs) > 0:
			a.Table, a.Inputs, reason = tableOfSources(sources), recordings, sourceReason(sources, e.gates)
		case len(part.Runs) == 0:
			continue
		default:
			a.Table = p.of(part)
		}
		a.Table.Title = p.title + a.Table.Title
		out = append(out, a.CompareCells(reason))
	}
	out = append(out, e.groupArtifacts()...)
	out = append(out, e.settingArtifact()...)
	recording, err := e.overheads()
	if err != nil {
		return nil, err
	}
	out = append(out, recording...)
	if e.IsPublished() {
		out = append([]Artifact{questions(out, e.rows)}, out...)
	}
	return out, nil
}

// groupRuns is the runs of one group of a campaign, and where they come from.
type groupRuns struct {
	row
	inputs []campaign.Provenance
}

func (g *groupRuns) name() string { return g.names[0] }

// runsByGroup divides the runs of a plan, whose groups follow each other.
func (e *Evaluation) runsByGroup() []groupRuns {
	var out []groupRuns
	for i := range e.Tasks {
		if name := e.Tasks[i].Group; i == 0 || name != e.Tasks[i-1].Group {
			part, inputs := e.part(func(t *campaign.Task, _ *scoredRun) bool { return t.Group == name })
			out = append(out, groupRuns{row{names: []string{name}, Score: part}, inputs})
		}
	}
	return out
}

// groupArtifacts returns the tables that follow from what groups are: what each shows, and
// of those with several delays, removed faults or microsteps what that shows.
func (e *Evaluation) groupArtifacts() []Artifact {
	var rows []row
	out := []Artifact{{Name: "groups", Inputs: e.rows}}
	for _, g := range e.runsByGroup() {
		rows = append(rows, g.row)
		add := func(kind string, t *table.Table) {
			t.Title = "Group " + g.name() + ". " + t.Title
			a := Artifact{Name: kind + "-" + g.name(), Table: t, Inputs: g.inputs}
			if !e.own {
				a = a.CompareCells(e.score.reason)
			}
			out = append(out, a)
		}
		if g.hasCurve() || e.own && len(g.groupBy(byFamily)) > 0 {
			add("detectability", g.detectabilityTable())
		}
		if g.hasCurve() {
			add("thresholds", g.thresholdTable())
		}
		if back := g.recoveries(); len(back) > 0 {
			add("recovery", recoveryTable(back))
		}
		if g.count(func(r *scoredRun) bool { return r.Accumulation > 1 && !r.healthy() }) > 0 {
			add("accumulation", g.accumulationTable())
		}
	}
	out[0].Table = groupTable(rows)
	return out
}
