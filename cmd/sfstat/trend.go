package main

import (
	"regexp"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/report"
)

func (p *program) trendCommand() *cli.Command {
	return &cli.Command{
		Name: "trend", Usage: "find when runs became slower or faster: change points in step time, stages, waits and findings", ArgsUsage: "PATH...",
		Description: "Sorts runs by time and finds where the level of a measure changed: between which two runs, by how much, and how certain that is. The time of a run comes from " +
			"its packets, else from the date in its name or path. Runs without times are sorted by name.",
		Flags: join([]cli.Flag{
			shareFlag("level", 0.05, "`PROBABILITY` of reporting any change, over all measures, if there is none"),
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "random seed of permutations and resamples"},
			choice("cut", "where a step begins when exposed time is accounted for, as for diagnose", "auto", "step", "carried", "sync"),
			figureFlag("step time and what changed with it, run by run,"),
		}, profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), strictFlag()}, resultFlags()),
		UsageText: `sfstat trend runs/
sfstat trend runs/2026-03-*/ --plot march.svg
sfstat trend runs/ --format csv -o runs.csv`,
		Action: p.trend,
	}
}

func (p *program) trend(c *cli.Context) error {
	names, err := paths(c)
	if err != nil {
		return err
	}
	list, in, err := p.runsIn(c, names)
	if err != nil {
		return err
	}
	t, err := runs.Follow(list, runs.TrendOptions{Level: shareOf(c, "level"), Seed: c.Uint64("seed")})
	if err != nil {
		return badInput(err)
	}
	if figure := c.String("plot"); figure != "" {
		f, err := trendChart(t).Draw(plots.Page)
		if err := p.writeFigure(figure, f, err); err != nil {
			return err
		}
	}
	return p.publish(c, in.problems, func(to report.Output) error { return to.Trend(t) })
}

// dates are dates in names: 2026-03-14, 20260314, 2026_03_14.
var dates = regexp.MustCompile(`(20\d\d)([-_]?)(0[1-9]|1[0-2])([-_]?)(0[1-9]|[12]\d|3[01])`)

// dateIn is the first day, UTC, that a name has; 0 without one.
func dateIn(name string) int64 {
	for _, m := range dates.FindAllStringSubmatch(name, -1) {
		if m[2] != m[4] {
			continue
		}
		if day, err := time.Parse("20060102", m[1]+m[3]+m[5]); err == nil {
			return day.UnixNano()
		}
	}
	return 0
}

// mostPanels is how many measures a figure shows.
const mostPanels = 4

// trendChart draws step time, and below it what changed.
func trendChart(t *runs.Trend) plots.Chart {
	var ch plots.Chart
	x := plots.Axis{Name: "run", Unit: "in the order of names"}
	if t.Order == runs.ByTime {
		x = plots.Axis{Name: "since the first run", Unit: "days"}
	}
	at := func(i int) float64 {
		if t.Order == runs.ByName {
			return float64(i)
		}
		return float64(t.Runs[i].Begin-t.Runs[0].Begin) / float64(24*time.Hour)
	}
	for _, s := range t.Series {
		if len(ch.Panels) == mostPanels || s.Kind != runs.StepTime && len(s.Changes) == 0 {
			continue
		}
		panel := plots.Panel{X: x, Y: plots.Axis{Name: report.MeasureName(s.Measure), Unit: "ms"}}
		line := plots.Line{Name: "a run", Unjoined: true}
		for i, v := range s.Values {
			line.Points = append(line.Points, plots.Point{X: at(i), Y: v / 1e6})
		}
		panel.Lines = []plots.Line{line}
		for _, c := range s.Changes {
			panel.References = append(panel.References, plots.Reference{Name: "change", Value: (at(c.At-1) + at(c.At)) / 2, Vertical: true})
		}
		ch.Panels = append(ch.Panels, panel)
	}
	return ch
}
