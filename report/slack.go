package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/table"
)

// Slack is for how long each rank was ahead of the last one at every boundary
// of a window, summed over its steps.
type Slack struct {
	Run      string       `json:"run" doc:"identity of the run"`
	Window   int64        `json:"window" doc:"number of the window"`
	Cut      frontier.Cut `json:"cut" doc:"how steps are cut"`
	Steps    int          `json:"steps" doc:"steps that were summed"`
	Ranks    []int        `json:"ranks" doc:"ranks, in the order of the lists below"`
	Stages   []string     `json:"stages" doc:"stages that end at the boundaries, in the order of the cut"`
	Frontier []int64      `json:"frontier_ns" doc:"prefix of the last rank at each boundary, ns over all steps"`
	Prefix   [][]int64    `json:"prefix_ns" doc:"prefix of each rank at each boundary: a list for each boundary, ns over all steps"`
	Slack    [][]int64    `json:"slack_ns" doc:"frontier_ns less prefix_ns, likewise"`
}

// SlackOf sums the account of one window. O(T·B·R).
func SlackOf(d *frontier.Detail) Slack {
	out := Slack{Run: d.Run, Window: d.Window, Cut: d.Cut, Steps: d.Steps, Ranks: d.Ranks, Stages: d.Boundaries}
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

// slackRow is one rank at one boundary, times as means over the steps.
type slackRow struct {
	Run      string  `json:"run"`
	Window   int64   `json:"window"`
	Stage    string  `json:"stage"`
	Rank     int     `json:"rank"`
	Prefix   float64 `json:"prefix_ns_per_step"`
	Frontier float64 `json:"frontier_ns_per_step"`
	Slack    float64 `json:"slack_ns_per_step"`
}

// Slack writes the slack of windows: CSV and text have a row per rank and boundary.
func (o Output) Slack(windows []Slack) error {
	return o.write(forms{
		schema:   "slack",
		json:     func() any { return windowsJSON[Slack]{windows} },
		rows:     func() any { return rowsJSON[slackRow]{slackRows(windows)} },
		document: func() document { return document{slackTable(windows)} },
	})
}

func slackTable(windows []Slack) *table.Table {
	t := tableOf("slack")
	for _, r := range slackRows(windows) {
		t.Row(r.Run, r.Window, r.Stage, r.Rank, r.Prefix, r.Frontier, r.Slack)
	}
	return t
}

func slackRows(windows []Slack) (rows []slackRow) {
	for _, w := range windows {
		n := float64(max(w.Steps, 1))
		for b, stage := range w.Stages {
			for r, rank := range w.Ranks {
				rows = append(rows, slackRow{w.Run, w.Window, stage, rank,
					float64(w.Prefix[b][r]) / n, float64(w.Frontier[b]) / n, float64(w.Slack[b][r]) / n})
			}
		}
	}
	return rows
}
