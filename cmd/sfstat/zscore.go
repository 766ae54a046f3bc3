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
	return zscore.Options{Cutoff: c.Float64("cutoff"), Alpha: c.Float64("alpha"), Method: zscore.Method(c.Choice("method")), Scale: zscore.Scale(c.Choice("scale"))}
}
