package tables

import (
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// questions returns a table in the shape of the paper's Table 3: each research question with its answer here, from the other
// tables.
func questions(tables []Artifact, rows []campaign.Provenance) Artifact {
	t := &table.Table{Title: "Table 3. Research questions and their evidence", Keys: 2, Columns: table.Words("question", "evidence", "ours", "paper", "table")}
	for _, q := range published().Questions {
		var ours []string
		from := ""
		for _, address := range q.Cells {
			artifact, rest, _ := strings.Cut(address, "|")
			row, column, _ := strings.Cut(rest, "|")
			name, cell := find(tables, artifact, row, column)
			from = name
			ours = append(ours, cell)
		}
		t.Add(table.Texts(q.Name, q.Evidence, strings.Join(ours, ", "), q.Paper, from)...)
	}
	return Artifact{Name: "table-3", Table: addPublished(t, "table-3"), Inputs: rows}
}

// find returns a cell of the first table whose name has the prefix, by row and column.
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
