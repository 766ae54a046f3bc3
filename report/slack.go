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
	t := tableOf("slack")
	for _, r := range publish.SlackRows(windows) {
		t.Row(r.Run, r.Window, r.Stage, r.Rank, r.Prefix, r.Frontier, r.Slack)
	}
	return t
}
