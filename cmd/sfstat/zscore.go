package main

import (
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/report"
)

func (p *program) zscore(c *cli.Context) error {
	o, path := zscoreOptions(c), c.String("plot")
	if path == "" && c.IsSet("op") {
		return badUsage("--op says what --plot draws, and needs it")
	}
	results, in, err := analyseTraces(p, c, viewWithoutSchedule, func(t report.Traced) (x report.Outliers, err error) {
		series, ops := t.View.Series()
		if c.String("against") == "everyone" {
			series, ops = operators.Everyone(series, ops)
		}
		r, err := zscore.Analyze(series, o)
		if err != nil {
			return x, err
		}
		x = report.Outliers{Traced: t, Series: series, Operators: ops, Result: r, Suspects: t.View.Suspects(r, series, ops), Shown: c.Int("top")}
		if t.Launched != nil { // a profiler's trace
			x.Names, err = opnames.Compare(t.Launched, o.Alpha)
		}
		return x, err
	})
	if err != nil {
		return err
	}
	if path != "" {
		if err := p.plotOutliers(c, results); err != nil {
			return err
		}
	}
	return p.publish(c, in.Problems, func(to report.Output) error { return to.Outliers(results) })
}

func zscoreOptions(c *cli.Context) zscore.Options {
	return zscore.Options{Correlated: !c.Bool("independent"), Cutoff: c.Float64("cutoff"), Alpha: c.Float64("alpha"), Method: zscore.Method(c.Choice("method")), Scale: zscore.Scale(c.Choice("scale"))}
}
