package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/input"
)

func (p *program) ksCommand() *cli.Command {
	d := ks.Options{}.Defaults()
	return &cli.Command{
		Name: "ks", Usage: "which workers' operators complete at different times from their peers'", ArgsUsage: "PATH...",
		Description: "Compares, in operator traces and stage times, when the operators of every worker complete with when those of its peers do: " +
			"scores, a permutation test, and maps of who is unlike whom. Steps are folded onto each other, because barriers " +
			"hide a slow worker on a running clock.",
		Flags: join([]cli.Flag{
			choice("clock", "what completions are measured from: the start of their step, or the start of the trace", "folded", "wall"),
			choice("against", "whom the score of a worker is a mean over: the other replicas of its pipeline stage, or everyone", "peers", "everyone"),
			lengthFlag("window", "count completions in windows of `LENGTH`, as 500us; 1ns compares the raw times; without it, it is chosen"),
			&cli.IntFlag{Name: "replicates", Value: d.Replicates, Usage: "at most `N` permutations of the test; 0 is no test",
				Action: only("replicates", notNegative, "0 or more")},
			&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "seed of the permutations"},
			shareFlag("fdr", d.Discovery, "`RATE` of false discoveries among those that are found"),
			&cli.BoolFlag{Name: "matrix", Category: forOutput, Usage: "give the distances of all pairs of workers: in json beside the rest, in csv instead"},
			figureFlag("the distances of all pairs of workers"),
		}, traceFlags()),
		UsageText: `sfstat ks trace-job.parquet
sfstat ks trace-job.parquet --fdr 0.05 --seed 7 --format csv
sfstat ks trace-job.parquet --matrix --format json | jq '.traces[0].matrix'
sfstat ks trace-job.parquet --plot distances.pdf`,
		Action: p.ks,
	}
}

func (p *program) ks(c *cli.Context) error {
	as := format(c)
	o, path := ksOptions(c), c.String("plot")
	o.Matrix = o.Matrix || path != ""
	var results []report.Completions
	in, err := p.traces(c, observed, func(t report.Traced) error {
		p.announce(c, t, o)
		r, err := completionsOf(t, o, as)
		if err != nil {
			return ofTraced(t, err)
		}
		results = append(results, report.Completions{Traced: t, Result: r})
		return nil
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
	return p.publish(c, in.problems, func(to report.Output) error { return to.Completions(results) })
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

// announce says that the test takes a while where it does.
func (p *program) announce(c *cli.Context, t report.Traced, o ks.Options) {
	if n := t.View.Workers(); n >= longTest && o.Replicates > 0 && o.Clock == ks.Folded {
		p.remark(c, "%s: comparing %d workers; the test takes some seconds, --replicates 0 leaves it out", c.Command.HelpName, n)
	}
}

func ksOptions(c *cli.Context) ks.Options {
	o := ks.Options{Seed: c.Uint64("seed"), Matrix: c.Bool("matrix"), Window: c.Duration("window").Nanoseconds(),
		Replicates: cmp.Or(c.Int("replicates"), ks.NoTest), Discovery: shareOf(c, "fdr")}
	if c.String("clock") == "wall" {
		o.Clock = ks.Wall
	}
	if c.String("against") == "everyone" {
		o.Against = ks.Everyone
	}
	return o
}
