package main

import (
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/report"
)

func (p *program) blame(c *cli.Context) error {
	flags := zscore.Options{Alpha: c.Float64("alpha")}
	o := blame.Options{Tie: c.Duration("tie").Nanoseconds(), Semantics: blame.Semantics(c.Choice("semantics"))}
	results, in, err := analyseTraces(p, c, viewWithoutSchedule, func(t report.Traced) (x report.Blame, err error) {
		o := o
		if !c.IsSet("tie") {
			o.Tie = t.View.Tie()
		}
		steps, err := stepsOf(c, t)
		if err != nil {
			return x, err
		}
		series, operators := t.View.Series()
		outliers, err := zscore.Analyze(series, flags)
		if err != nil {
			return x, err
		}
		walks, err := t.View.Flags(outliers, series, operators).Walk(steps, o)
		return report.Blame{Traced: t, Walks: walks, Options: o, Alpha: flags.Alpha}, err
	})
	if err != nil {
		return err
	}
	return p.publish(c, in.Problems, func(to report.Output) error { return to.Blame(results) })
}
