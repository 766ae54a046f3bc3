package tables

import (
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// question is a line of the paper's Table 3: what it asks, and by which cells
// that is answered here.
type question struct {
	name, evidence string
	cells          []string // ARTIFACT|ROW|COLUMN; joined
	published      string
}

// paperQuestions are the questions RQ1 to RQ5.
var paperQuestions = []question{
	{"RQ1", "accounts are exact (E7, to the nanosecond)", []string{"accumulation|data|exact"}, "to round-off"},
	{"RQ1", "frontier, per-stage max, per-stage mean: top-1", []string{"table-4|frontier|top-1", "table-4|stage_max|top-1", "table-4|stage_mean|top-1"}, "40/50, 22/50, 20/50"},
	{"RQ2", "five families at 8 and 32 ranks: top-2, top-1", []string{"table-4|frontier|top-2", "table-4|frontier|top-1"}, "50/50, 40/50"},
	{"RQ2", "forward attributed to device or host", []string{"table-5|forward_device|labelled", "table-5|forward_host|labelled"}, "separated, without a count"},
	{"RQ3", "accumulation: data, backward top-1", []string{"accumulation|data|top-1", "accumulation|backward|top-1"}, "all"},
	{"RQ3", "FSDP and ZeRO-1: top-2, top-1", []string{"sharding|ranks synchronise after the delay|top-2", "sharding|ranks synchronise after the delay|top-1"}, "90/90, 87/90"},
	{"RQ4", "no strong label without a fault", []string{"completeness|E1|runs with a strong label"}, "0/105"},
	{"RQ5", "field cases: Vision-B's rank", []string{"table-8|Vision-B|rank right"}, "one intermittent rank"},
}

// questions has the shape of the paper's Table 3: each research question with
// what answers it here, from the other tables.
func questions(tables []Artifact, rows []campaign.Provenance) Artifact {
	t := &table.Table{Title: "Table 3. Research questions and their evidence", Keys: 2, Columns: table.Words("question", "evidence", "ours", "paper", "table")}
	for _, q := range paperQuestions {
		var ours []string
		from := ""
		for _, address := range q.cells {
			artifact, rest, _ := strings.Cut(address, "|")
			row, column, _ := strings.Cut(rest, "|")
			name, cell := find(tables, artifact, row, column)
			from = name
			ours = append(ours, cell)
		}
		t.Add(table.Texts(q.name, q.evidence, strings.Join(ours, ", "), q.published, from)...)
	}
	t.Notes = []string{"RQ1 has fixtures besides, which sfstat selfcheck runs: 100 % of the sync-wait rows against 0 % for max and mean, there and here. " +
		"RQ2 with profilers is Table 6, RQ4's overhead Table 7, where the folder has what they need."}
	return Artifact{Name: "table-3", Table: t, Inputs: rows}
}

// find is a cell of the first table whose name begins so, by row and column.
func find(tables []Artifact, artifact, row, column string) (name, cell string) {
	for i := range tables {
		t := tables[i].Table
		if !strings.HasPrefix(tables[i].Name, artifact) {
			continue
		}
		for _, r := range t.Records() {
			for j, head := range t.Heads() {
				if r[0] == row && head == column {
					return tables[i].Name, r[j]
				}
			}
		}
	}
	return none, none
}
