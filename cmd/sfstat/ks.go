package main

import (
	"cmp"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/input"
)

func (p *program) ks(c *cli.Context) error {
	as := format(c)
	o, path := ksOptions(c), c.String("plot")
	o.Matrix = o.Matrix || path != ""
	results, in, err := analyseTraces(p, c, viewWithoutSchedule, func(t report.Traced) (report.Completions, error) {
		p.announce(c, t, o)
		r, err := completionsOf(t, o, as)
		return report.Completions{Traced: t, Result: r}, err
	})
	if err != nil {
		return err
	}
	if path != "" {
		if err := p.plotCompletions(path, results); err != nil {
			return err
		}
		if (as == report.JSON || as == report.CSV) && !c.Bool("matrix") {
			results[0].Matrix = nil // it was kept for the figure
		}
	}
	return p.publish(c, in.Problems, func(to report.Output) error { return to.Completions(results) })
}

// mapped is how many workers fit on a map of all pairs in text.
const mapped = 64

func completionsOf(t report.Traced, o ks.Options, as report.Format) (*ks.Result, error) {
	if o.Clock == ks.Wall {
		if t.View.Trace.StepClock {
			return nil, input.Bad(input.ErrMissing, "no running clock: the times of each step count from its own start; leave --clock wall out")
		}
		o.Origin = t.View.Origin()
	}
	if people := as == report.Text || as == report.Markdown; people {
		o.Matrix = o.Matrix || t.View.Workers() <= mapped
	}
	return ks.Analyze(t.View.Completions(), o)
}

// longTest is how many workers make the test take seconds.
const longTest = 512

// announce announces a test that takes a while.
func (p *program) announce(c *cli.Context, t report.Traced, o ks.Options) {
	if n := t.View.Workers(); n >= longTest && o.Replicates > 0 && o.Clock == ks.Folded {
		p.remark(c, "%s: comparing %d workers; the test takes some seconds, --replicates 0 leaves it out", c.Title(), n)
	}
}

func ksOptions(c *cli.Context) ks.Options {
	return ks.Options{Seed: c.Uint64("seed"), Matrix: c.Bool("matrix"), Window: c.Duration("window").Nanoseconds(),
		Replicates: cmp.Or(c.Int("replicates"), ks.NoTest), Discovery: c.Float64("fdr"),
		Correlated: !c.Bool("independent"), Clock: ks.Clock(c.Choice("clock")), Against: ks.Against(c.Choice("against"))}
}
