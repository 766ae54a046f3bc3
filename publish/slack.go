package publish

import "github.com/sfstat/sfstat/engine/frontier"

// Slack is for how long each rank was ahead of the last one at every boundary
// of a window, summed over its steps: sfstat frontier --detail slack.
type Slack struct {
	Run      string             `json:"run" doc:"identity of the run"`
	Window   int64              `json:"window" doc:"number of the window"`
	Cut      Name[frontier.Cut] `json:"cut" doc:"how steps are cut"`
	Steps    int                `json:"steps" doc:"steps that were summed"`
	Ranks    []int              `json:"ranks" doc:"ranks, in the order of the lists below"`
	Stages   []string           `json:"stages" doc:"stages that end at the boundaries, in the order of the cut"`
	Frontier []int64            `json:"frontier_ns" doc:"prefix of the last rank at each boundary, ns over all steps"`
	Prefix   [][]int64          `json:"prefix_ns" doc:"prefix of each rank at each boundary: a list for each boundary, ns over all steps"`
	Slack    [][]int64          `json:"slack_ns" doc:"frontier_ns less prefix_ns, likewise"`
}

// SlackOf sums the account of one window. O(T·B·R).
func SlackOf(d *frontier.Detail) Slack {
	out := Slack{Run: d.Run, Window: d.Window, Cut: nameOf(d.Cut), Steps: d.Steps, Ranks: list(d.Ranks), Stages: list(d.Boundaries),
		Frontier: []int64{}, Prefix: [][]int64{}, Slack: [][]int64{}}
	for b := range d.Boundaries {
		slack, prefix, last := d.Slack(b), make([]int64, len(d.Ranks)), int64(0)
		for t := range d.Steps {
			last += d.Frontier(t, b)
		}
		for r := range slack {
			prefix[r] = last - slack[r]
		}
		out.Frontier, out.Prefix, out.Slack = append(out.Frontier, last), append(out.Prefix, prefix), append(out.Slack, list(slack))
	}
	return out
}

// SlacksOf returns the document of windows.
func SlacksOf(windows []Slack, problems []Problem) Windows[Slack] {
	return Windows[Slack]{"sfstat.slack/1", list(windows), list(problems)}
}

// SlackRow is one rank at one boundary, times as means over the steps.
type SlackRow struct {
	Run      string  `json:"run"`
	Window   int64   `json:"window"`
	Stage    string  `json:"stage"`
	Rank     int     `json:"rank"`
	Prefix   float64 `json:"prefix_ns_per_step"`
	Frontier float64 `json:"frontier_ns_per_step"`
	Slack    float64 `json:"slack_ns_per_step"`
}

// SlackTable returns rows of CSV, one for each rank at each boundary.
func SlackTable(windows []Slack) *Rows { return rowsOf(SlackRows(windows)) }

// SlackRows returns a row for each rank at each boundary.
func SlackRows(windows []Slack) (rows []SlackRow) {
	for _, w := range windows {
		n := float64(max(w.Steps, 1))
		for b, stage := range w.Stages {
			for r, rank := range w.Ranks {
				rows = append(rows, SlackRow{w.Run, w.Window, stage, rank,
					float64(w.Prefix[b][r]) / n, float64(w.Frontier[b]) / n, float64(w.Slack[b][r]) / n})
			}
		}
	}
	return rows
}
