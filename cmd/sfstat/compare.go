package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

func (p *program) compareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare two sets of runs: what changed, how certain that is, and whether it passes a gate", ArgsUsage: "BASE NEW",
		Description: "Compares step time, stages, waits, arrivals and findings of the runs in BASE with those in NEW. Each change comes with a confidence interval and a result: regression, " +
			"improvement, or no significant change, together with the smallest change that these runs can detect. Runs with the same name are paired. Of two jobs with recordings of NCCL " +
			"it also says what they communicate otherwise.",
		Flags: join([]cli.Flag{
			shareWithin("gate", 0, "exit with 3 when steps are significantly longer, and by more than `SHARE`, such as 2% or 0.02", func(x float64) bool { return x >= 0 && x < 1e6 }, "0 or more"),
			failOnFlag("what exceeds the gate: the lower bound (strong), the estimate of what is significantly longer (supported, the default), or all not shown to be within it (ambiguous)"),
			confidenceFlag(0.95, "simultaneous confidence `LEVEL` of all intervals, above 0.5 and below 1"),
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of the correction for many measures"},
			choiceFor(forInput, choice("match", "pair runs that have the same name on both sides (name), or none", "name", "none")),
			cutFlag(),
		}, profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), strictFlag()}, resultFlags()),
		UsageText: `sfstat compare week-31/ week-32/
sfstat compare main/ branch/ --gate 2% --format md -o comparison.md
sfstat compare before.parquet after.parquet --format json | jq '.rows[] | select(.verdict == "regression")'`,
		Action: p.compare,
	}
}

func (p *program) compare(c *cli.Context) error {
	o, err := compareOptions(c)
	if err != nil {
		return err
	}
	if c.NArg() != 2 {
		return badUsage("needs two paths, BASE and NEW, found %d: several runs of a side stand in a folder", c.NArg())
	}
	if err := there(c.Args().Slice()); err != nil {
		return err
	}
	traffic, err := p.trafficChanges(c)
	if err != nil {
		return err
	}
	result, in, err := p.compareRuns(c, o)
	switch {
	case err != nil && traffic != nil && errors.Is(err, input.ErrMissing): // logs alone have no steps
		result = &runs.Comparison{Confidence: o.Confidence, Seed: o.Seed, Gate: o.Gate}
	case err != nil:
		return err
	}
	result.Traffic = traffic
	if err := p.publish(c, in.problems, func(to report.Output) error { return to.Comparison(result) }); err != nil {
		return err
	}
	return gateExceeded(c, result.Standing)
}

// compareRuns compares the runs of both paths.
func (p *program) compareRuns(c *cli.Context, o runs.Options) (*runs.Comparison, inputs, error) {
	base, in, err := p.runsIn(c, c.Args().Slice()[:1])
	if err != nil {
		return nil, in, err
	}
	now, more, err := p.runsIn(c, c.Args().Slice()[1:])
	if err != nil {
		return nil, in, err
	}
	in.problems = append(in.problems, more.problems...)
	result, err := runs.Compare(base, now, o)
	if err != nil {
		return nil, in, badInput(err)
	}
	return result, in, nil
}

// trafficChanges is what the communication of both paths differs in, nil where either recorded none. Files that
// cannot be read are told by who reads runs.
func (p *program) trafficChanges(c *cli.Context) (*changes.Result, error) {
	choose, err := newChooser(c)
	if err != nil {
		return nil, err
	}
	var sides [2]*comm.Result
	for i, path := range c.Args().Slice() {
		if path == "-" {
			return nil, nil
		}
		found, _, err := auto.ReadComm([]string{path}, auto.Options{Runs: choose.Runs})
		if err != nil || len(found.Calls) == 0 {
			return nil, nil //nolint:nilerr // what holds no communication is compared by its steps
		}
		if sides[i], err = comm.Analyze(found, comm.Options{Ranks: choose.Ranks}); err != nil {
			return nil, badInput(err)
		}
	}
	return changes.Between(sides[0], sides[1]), nil
}

// gateExceeded turns a standing against the gate into exit code 3.
func gateExceeded(c *cli.Context, s runs.Standing) error {
	found := evidence.Insufficient
	switch s {
	case runs.SurelyBeyond:
		found = evidence.Strong
	case runs.Exceeded:
		found = evidence.Supported
	case runs.BelowGate, runs.NotShown:
		found = evidence.Ambiguous
	}
	return failAt(cmp.Or(c.String("fail-on"), evidence.Supported.String()), found, fmt.Sprintf("the gate of %s is exceeded", c.Generic("gate")))
}

func compareOptions(c *cli.Context) (o runs.Options, err error) {
	o = runs.Options{Confidence: shareOf(c, "confidence"), Seed: c.Uint64("seed"), Unpaired: c.String("match") == "none"}
	if c.IsSet("gate") {
		gate := shareOf(c, "gate")
		o.Gate = &gate
	} else if c.String("fail-on") != "" {
		return o, badUsage("--fail-on needs --gate, by how much steps may be longer")
	}
	return o, nil
}

// runsIn reads the runs of some paths. Operator traces come down to windows, of
// which the stages are operators.
func (p *program) runsIn(c *cli.Context, names []string) ([]*runs.Run, inputs, error) {
	cut, err := frontier.ParseCut(c.String("cut"))
	if err != nil {
		return nil, inputs{}, err
	}
	set := runs.New(frontier.Options{Cut: cut})
	add := func(w *trace.Window) error { return ofWindow(w, set.Add(w)) }
	in, err := p.readAs(c, reading{names: names, want: auto.ForVerdict}, func(item auto.Item) error {
		for _, r := range item.Recordings() {
			if _, single := r.(*operator.Trace); single {
				return reduce(item, add)
			}
			if err := set.Add(r); err != nil {
				return ofRecording(r, item, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, in, err
	}
	return set.Runs(), in, nil
}
