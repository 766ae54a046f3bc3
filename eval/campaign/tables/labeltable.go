package tables

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/table"
)

// labelTable counts the labels of the paper's Table 12 over the windows of a
// campaign, by the paper's cut.
func (s *Score) labelTable() *table.Table {
	t := &table.Table{Title: "Labels: windows that carry each, the paper's cut",
		Columns: slices.Concat(table.Words("label", "strong"), table.Heads(table.Part, "windows with a fault", "windows without"), table.Words("families"))}
	silent := 0
	for l := labels.FrontierAccounting; l <= labels.TelemetryLimited; l++ {
		with, without, faults, healthy := 0, 0, 0, 0
		var families []string
		for _, r := range s.Runs {
			for _, w := range r.Windows {
				has := slices.Contains(w.Labels, l.String())
				count(&faults, w.Fault)
				count(&healthy, !w.Fault)
				count(&with, w.Fault && has)
				count(&without, !w.Fault && has)
				if name := r.Family.String(); has && !slices.Contains(families, name) {
					families = append(families, name)
				}
			}
		}
		count(&silent, with+without == 0)
		t.Add(table.TextCell(l.String()), table.TextCell(yes(l.Strong())), table.PartCell(with, faults), table.PartCell(without, healthy), table.TextCell(listed(families)))
	}
	t.Notes = []string{says("labels", silent)}
	return t
}

func listed(names []string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
