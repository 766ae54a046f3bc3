package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) compare(c *cli.Context) error {
	o, err := compareOptions(c)
	if err != nil {
		return err
	}
	if len(c.Args) != 2 {
		return badUsage("needs two paths, BASE and NEW, found %d: several runs of a side stand in a folder", len(c.Args))
	}
	if err := checkExist(c.Args); err != nil {
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
	if err := p.publish(c, in.Problems, func(to report.Output) error { return to.Comparison(result) }); err != nil {
		return err
	}
	return gateExceeded(c, result.Standing)
}

// compareRuns compares the runs of both paths.
func (p *program) compareRuns(c *cli.Context, o runs.Options) (*runs.Comparison, live.Inputs, error) {
	base, in, err := p.runsIn(c, c.Args[:1])
	if err != nil {
		return nil, in, err
	}
	now, more, err := p.runsIn(c, c.Args[1:])
	if err != nil {
		return nil, in, err
	}
	in.Problems = append(in.Problems, more.Problems...)
	result, err := runs.Compare(base, now, o)
	if err != nil {
		return nil, in, badInput(err)
	}
	return result, in, nil
}

// trafficChanges returns the differences in communication between both paths, nil where either recorded none. Files that cannot
// be read are told by who reads runs.
func (p *program) trafficChanges(c *cli.Context) (*changes.Result, error) {
	choose, err := newChooser(c)
	if err != nil {
		return nil, err
	}
	var sides [2]*comm.Result
	for i, path := range c.Args {
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
	return changes.Compare(sides[0], sides[1]), nil
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
	return failAt(cmp.Or(c.String("fail-on"), evidence.Supported.String()), found, fmt.Sprintf("the gate of %s is exceeded", c.Text("gate")))
}

func compareOptions(c *cli.Context) (o runs.Options, err error) {
	o = runs.Options{Confidence: c.Float64("confidence"), Seed: c.Uint64("seed"), Unpaired: c.String("match") == "none"}
	if c.IsSet("gate") {
		gate := c.Float64("gate")
		o.Gate = &gate
	} else if c.String("fail-on") != "" {
		return o, badUsage("--fail-on needs --gate, by how much steps may be longer")
	}
	return o, nil
}

// runsIn reads the runs of some paths. Operator traces come down to windows, of
// which the stages are operators.
func (p *program) runsIn(c *cli.Context, names []string) ([]*runs.Run, live.Inputs, error) {
	cut, err := frontier.ParseCut(c.String("cut"))
	if err != nil {
		return nil, live.Inputs{}, err
	}
	set := runs.New(frontier.Options{Cut: cut})
	add := func(w *trace.Window) error { return windowError(w, set.Add(w)) }
	in, err := p.readFrom(c, reading{names: names, joined: true}, func(j recorded.Job) error {
		for _, r := range j.Recordings() {
			if _, single := r.(*operator.Trace); single {
				return reduce(j, add)
			}
			if err := set.Add(r); err != nil {
				return recordingError(r, j, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, in, err
	}
	return set.Runs(), in, nil
}
