package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/report"
)

// zscoreScales are the values of --scale, in the order of the engine's.
var zscoreScales = []string{zscore.AutoScale: "auto", zscore.Linear: "linear", zscore.Log: "log"}

// zscoreMethods are the values of --method, in the order of the engine's.
func zscoreMethods() []string {
	var names []string
	for m := zscore.Pooled; m <= zscore.Population; m++ {
		names = append(names, m.String())
	}
	return names
}

func (p *program) zscoreCommand() *cli.Command {
	d := zscore.Options{}.Defaults()
	return &cli.Command{
		Name: "zscore", Usage: "which operators are late or long compared with their peers", ArgsUsage: "PATH...",
		Description: "Compares, in operator traces and stage times, every operator with itself on the other replicas of its pipeline stage, or on everyone: " +
			"when it starts, how long it takes, and of collectives how long it waits and transfers. Lists the outliers and the " +
			"workers that they add up to. Of a profiler's trace it first compares kernels and collectives by name.",
		Flags: join([]cli.Flag{
			choice("method", "how values are scored: pooled takes the spread from all steps, population goes by --cutoff", zscoreMethods()...),
			choice("against", "whom the operators of a worker are compared with: those of the other replicas of its pipeline stage, or of everyone", "peers", "everyone"),
			alphaFlag(d.Alpha),
			&cli.Float64Flag{Name: "cutoff", Value: d.Cutoff, Usage: "`SCORE` beyond which population flags; the others go by --alpha",
				Action: only("cutoff", func(x float64) bool { return x > 0 }, "more than 0")},
			choice("scale", "what durations are compared on: auto takes logarithms where the noise is skewed", zscoreScales...),
			&cli.IntFlag{Name: "top", Value: 20, Category: forOutput, Usage: "rows `N` of outliers in text and Markdown; 0 is all",
				Action: only("top", notNegative, "0 or more")},
			figureFlag("how often each worker completes an operator, over time,"),
			&cli.StringFlag{Name: "op", Category: forOutput, Usage: "draw the operator `NAME`; without it, the one that the first suspect is longest in"},
		}, traceFlags()),
		UsageText: `sfstat zscore trace-job.parquet
sfstat zscore trace-job.parquet --alpha 0.001 --top 50
sfstat zscore trace-job.parquet --plot backward.png --op backward-compute`,
		Action: p.zscore,
	}
}

func (p *program) zscore(c *cli.Context) error {
	o, path := zscoreOptions(c), c.String("plot")
	if path == "" && c.IsSet("op") {
		return badUsage("--op says what --plot draws, and needs it")
	}
	var results []report.Outliers
	in, err := p.traces(c, observed, func(t report.Traced) error {
		series, ops := t.View.Series()
		if c.String("against") == "everyone" {
			series, ops = operators.Everyone(series, ops)
		}
		r, err := zscore.Analyze(series, o)
		if err != nil {
			return ofTraced(t, err)
		}
		names, err := byName(t, o.Alpha)
		if err != nil {
			return ofTraced(t, err)
		}
		results = append(results, report.Outliers{Traced: t, Series: series, Operators: ops, Result: r,
			Suspects: t.View.Suspects(r, series, ops), Names: names, Shown: c.Int("top")})
		return nil
	})
	if err != nil {
		return err
	}
	if path != "" {
		if err := p.plotOutliers(c, results); err != nil {
			return err
		}
	}
	return p.publish(c, in.problems, func(to report.Output) error { return to.Outliers(results) })
}

// byName compares the operators of a profiler's trace by name; nil for others.
func byName(t report.Traced, alpha float64) (*opnames.Result, error) {
	if t.Launched == nil {
		return nil, nil
	}
	return opnames.Compare(t.Launched, opnames.Options{Alpha: alpha})
}

func zscoreOptions(c *cli.Context) zscore.Options {
	o := zscore.Options{Cutoff: c.Float64("cutoff"), Alpha: shareOf(c, "alpha")}
	o.Method = zscore.Method(slices.Index(zscoreMethods(), c.String("method")))
	o.Scale = zscore.Scale(slices.Index(zscoreScales, c.String("scale")))
	return o
}
