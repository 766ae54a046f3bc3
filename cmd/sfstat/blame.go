package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/report"
)

func (p *program) blameCommand() *cli.Command {
	return &cli.Command{
		Name: "blame", Usage: "which operator or edge caused the delays of late operators", ArgsUsage: "PATH...",
		Description: "Walks, in operator traces and stage times, from the operators that started late back over what they waited for, to the " +
			"operator that took too long, or to the edge behind which it was late for no reason in the trace. Operators are " +
			"late and long by the outliers of sfstat zscore.",
		Flags: join([]cli.Flag{
			&cli.Int64Flag{Name: "step", Usage: "walk in step `N` alone; without it in all"},
			choice("semantics", "which predecessors a walk goes to: those that ended last, or every one, as the paper's text has it", "binding", "literal"),
			lengthFlag("tie", "times closer than `LENGTH`, as 20us, count as equal; without it, what the trace can tell apart"),
			alphaFlag(zscore.Options{}.Defaults().Alpha),
		}, traceFlags()),
		UsageText: `sfstat blame trace-job.parquet
sfstat blame trace-job.parquet --step 16
sfstat blame trace-job.parquet --format json | jq -c '.traces[0].culprits[0].path[]'`,
		Action: p.blame,
	}
}

func (p *program) blame(c *cli.Context) error {
	flags := zscore.Options{Alpha: shareOf(c, "alpha")}
	o := blame.Options{Tie: c.Duration("tie").Nanoseconds()}
	if c.String("semantics") == "literal" {
		o.Semantics = blame.Literal
	}
	var results []report.Blame
	in, err := p.traces(c, observed, func(t report.Traced) error {
		o := o
		if !c.IsSet("tie") {
			o.Tie = t.View.Tie()
		}
		steps, err := stepsOf(c, t)
		if err != nil {
			return err
		}
		series, operators := t.View.Series()
		outliers, err := zscore.Analyze(series, flags)
		if err != nil {
			return ofTraced(t, err)
		}
		walks, err := t.View.Flags(outliers, series, operators).Walk(steps, o)
		if err != nil {
			return ofTraced(t, err)
		}
		results = append(results, report.Blame{Traced: t, Walks: walks, Options: o, Alpha: flags.Alpha})
		return nil
	})
	if err != nil {
		return err
	}
	return p.publish(c, in.problems, func(to report.Output) error { return to.Blame(results) })
}
