package report

import (
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Slack writes the slack of windows: CSV and text have a row per rank and boundary.
func (o Output) Slack(windows []publish.Slack) error {
	return o.write(forms{
		json:     func() any { return publish.SlacksOf(windows, problemsOf(o.Problems)) },
		rows:     func() *publish.Rows { return publish.SlackTable(windows) },
		document: func() document { return document{slackTable(windows)} },
	})
}

func slackTable(windows []publish.Slack) *table.Table {
	t := slackColumns()
	for _, r := range publish.SlackRows(windows) {
		t.Row(r.Run, r.Window, r.Stage, r.Rank, r.Prefix, r.Frontier, r.Slack)
	}
	return t
}

func slackColumns() *table.Table {
	return &table.Table{OneUnit: true, Caption: "prefix: when the rank ends the stage, since the step began, mean over the steps. slack: how long before the last rank.", Columns: []table.Column{
		{Head: "run", Kind: table.Name},
		{Head: "window", Kind: table.ID},
		{Head: "stage", Kind: table.Name},
		{Head: "rank", Kind: table.ID},
		{Head: "prefix %s/step", Kind: table.Length},
		{Head: "frontier", Kind: table.Length},
		{Head: "slack", Kind: table.Length},
	}}
}
