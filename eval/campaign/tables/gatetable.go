package tables

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/table"
	"go.yaml.in/yaml/v3"
)

// gateValue returns the value of a gate by its name, as in a table.
func gateValue(g gates.Gates, name string) string {
	var at yaml.Node
	if at.Encode(g) != nil {
		return none
	}
	for part := range strings.SplitSeq(name, ".") {
		i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == part })
		if i < 0 {
			return none
		}
		at = *at.Content[i+1]
	}
	if x, err := strconv.ParseFloat(at.Value, 64); err == nil && at.Tag == "!!float" {
		return twoDecimals(x)
	}
	return at.Value
}

// gateTable returns the gates in the shape of the paper's Table 13: the defaults of sfstat --print-gates, and beside them the
// scored value where it differs.
func gateTable(given gates.Gates) *table.Table {
	t := &table.Table{Title: "Gates: our defaults", Columns: table.Words("gate", "default", "paper", "why this value")}
	g := gates.Default()
	var changed []string
	for _, row := range published().Gates {
		value, now := gateValue(g, row.Gate), gateValue(given, row.Gate)
		t.Add(table.Texts(row.Gate, value, cmp.Or(row.Paper, none), row.Why)...)
		if now != value {
			changed = append(changed, row.Gate+" "+now)
		}
	}
	t.Notes = []string{countSentence("gates")}
	if len(changed) > 0 {
		t.Notes = append(t.Notes, "These tables were made with others: "+strings.Join(changed, ", ")+".")
	}
	return t
}
