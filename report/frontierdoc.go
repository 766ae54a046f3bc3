package report

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/table"
)

// detailLimit is how many windows are shown stage by stage.
const detailLimit = 8

// frontierDocument returns the accounts of windows: one line each where there are several, then stage by stage, then the words
// explained once.
func frontierDocument(all []*frontier.Result) document {
	results := all
	var d document
	if len(results) == 0 {
		d = append(d, prose("No window could be read."))
	}
	if len(results) > 1 {
		d = section(table.Counted(len(results), "account")+" of windows", windowTable(results, nil, ""))
	}
	if len(results) > detailLimit {
		d = append(d, prose("The stages of so many windows are in the formats csv and json."))
		results = nil
	}
	for _, r := range results {
		b := basis(r)
		if len(results) > 1 && len(r.Labels) > 0 {
			b = append(bullets{"Labels: " + strings.Join(strs(r.Labels), ", ")}, b...)
		}
		d = put(d, accountBlocks(r, ""), b)
	}
	if len(results) == 1 {
		d = append(d, methodBlocks(results[0])...)
	}
	var given []labels.Label
	var reasons []labels.Reason
	for _, r := range all {
		given = append(given, r.Labels...)
		reasons = append(reasons, r.Reasons...)
	}
	slices.Sort(given)
	slices.Sort(reasons)
	return put(d, wordBlocks(slices.Compact(given), slices.Compact(reasons)))
}

// methodBlocks returns the routing set and the choices of simpler accounts side by side.
func methodBlocks(r *frontier.Result) document {
	if len(r.Baselines) == 0 || len(r.Ranks) < 2 {
		return nil
	}
	t := methodColumns()
	add := func(name string, stages []int) {
		names := stageNames(r, stages)
		if len(names) == 0 {
			names = []string{"none"}
		}
		t.Row(name, names)
	}
	add("frontier", r.Routing)
	for _, b := range r.Baselines {
		add(wordsOfName(b.Method), b.Candidates)
	}
	return document{heading("Beside simpler accounts"), t}
}

func methodColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "account", Kind: table.Text},
		{Head: "stages to look into, best first", Kind: table.List},
	}}
}
