package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
)

// Slack is for how long each rank was ahead of the last one at every boundary
// of a window, summed over its steps.
type Slack struct {
	Run    string   `json:"run"`
	Window int64    `json:"window"`
	Cut    string   `json:"cut"`
	Steps  int      `json:"steps"`
	Ranks  []int    `json:"ranks"`
	Stages []string `json:"stages"` // that end at the boundaries, in the order of the cut
	// Frontier is the last rank's prefix at each boundary, Prefix that of each
	// rank, [boundary][rank], Slack what is between: nanoseconds over all steps.
	Frontier []int64   `json:"frontier_ns"`
	Prefix   [][]int64 `json:"prefix_ns"`
	Slack    [][]int64 `json:"slack_ns"`
}

// SlackOf sums the account of one window. O(T·B·R).
func SlackOf(d *frontier.Detail) Slack {
	out := Slack{Run: d.Run, Window: d.Window, Cut: d.Cut.String(), Steps: d.Steps, Ranks: d.Ranks, Stages: d.Boundaries}
	for b := range d.Boundaries {
		slack, prefix, last := d.Slack(b), make([]int64, len(d.Ranks)), int64(0)
		for t := range d.Steps {
			last += d.Frontier(t, b)
		}
		for r := range slack {
			prefix[r] = last - slack[r]
		}
		out.Frontier, out.Prefix, out.Slack = append(out.Frontier, last), append(out.Prefix, prefix), append(out.Slack, slack)
	}
	return out
}

// slackRow is one rank at one boundary.
type slackRow struct {
	*Slack
	boundary, rank int
}

// ofStep is a sum as its mean over the steps.
func (r slackRow) ofStep(sum int64) cell { return realCell(float64(sum) / float64(max(r.Steps, 1))) }

// Slack writes the slack of windows: CSV and text have a row per rank and boundary.
func (o Output) Slack(windows []Slack) error {
	return o.write(forms{
		"sfstat.slack/1",
		func() any { return windowsJSON[Slack]{windows} },
		func() *table { return slackTable(windows) },
		func() document {
			t := slackTable(windows)
			for i, head := range map[int]string{4: "prefix %s/step", 5: "frontier", 6: "slack"} {
				t.columns[i].head = head
			}
			t.oneUnit = true
			t.caption = "prefix: when the rank ends the stage, since the step began, mean over the steps. slack: how long before the last rank."
			return document{t}
		},
	})
}

func slackTable(windows []Slack) *table {
	var rows []slackRow
	for i := range windows {
		for b := range windows[i].Stages {
			for r := range windows[i].Ranks {
				rows = append(rows, slackRow{&windows[i], b, r})
			}
		}
	}
	return flat(slackFields, rows)
}

var slackFields = []field[slackRow]{
	{"run", kindName, func(r slackRow) cell { return textCell(r.Run) }},
	{"window", kindID, func(r slackRow) cell { return wholeCell(r.Window) }},
	{"stage", kindName, func(r slackRow) cell { return textCell(r.Stages[r.boundary]) }},
	{"rank", kindID, func(r slackRow) cell { return wholeCell(r.Ranks[r.rank]) }},
	{"prefix_ns_per_step", kindLength, func(r slackRow) cell { return r.ofStep(r.Prefix[r.boundary][r.rank]) }},
	{"frontier_ns_per_step", kindLength, func(r slackRow) cell { return r.ofStep(r.Frontier[r.boundary]) }},
	{"slack_ns_per_step", kindLength, func(r slackRow) cell { return r.ofStep(r.Slack.Slack[r.boundary][r.rank]) }},
}
