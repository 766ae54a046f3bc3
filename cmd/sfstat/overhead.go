package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) overhead(c *cli.Context) error {
	o, err := overheadOptions(c)
	if err != nil {
		return err
	}
	measurements, by, err := p.measurements(c)
	if err != nil {
		return err
	}
	a, err := overhead.Examine(measurements, by, o)
	if err != nil {
		return badInput(err)
	}
	if err := p.publish(c, nil, func(to report.Output) error { return to.Overhead(a) }); err != nil {
		return err
	}
	return failOn(c, gateConfidence(a))
}

// gateConfidence reads a standing against the gate as a finding.
func gateConfidence(a *overhead.Account) evidence.Confidence {
	switch {
	case a.Gate == nil || a.Standing == bootstrap.Within:
		return evidence.Insufficient
	case a.Standing == bootstrap.Above:
		return evidence.Strong
	case a.Standing == bootstrap.PerhapsAbove:
		return evidence.Supported
	}
	return evidence.Ambiguous
}

// minReplicates returns how many resamples it takes for one to lie beyond a bound: with fewer a gate would be passed on a
// bound without support.
func minReplicates(confidence float64) int {
	const rounding = 1e-9
	return int(math.Ceil((1 - rounding) / (1 - confidence)))
}

func overheadOptions(c *cli.Context) (o overhead.Options, err error) {
	o.Bootstrap = bootstrap.Options{Confidence: c.Float64("confidence"), Replicates: c.Int("replicates"), Seed: c.Uint64("seed")}
	least := minReplicates(o.Bootstrap.Confidence)
	if n := o.Bootstrap.Replicates; n < least || n > bootstrap.MostReplicates {
		return o, badUsage("--replicates is %d, expected %d to %d for bounds at a confidence of %v", n, least, bootstrap.MostReplicates, o.Bootstrap.Confidence)
	}
	if o.Statistic, err = bootstrap.ParseStatistic(c.String("statistic")); err != nil {
		return o, err
	}
	if name := c.String("method"); name != "auto" {
		m, err := bootstrap.ParseMethod(name)
		if err != nil {
			return o, err
		}
		if !slices.Contains(o.Statistic.Methods(), m) {
			return o, badUsage("--method %v bounds no %v; expected auto or %s", m, o.Statistic, cli.OrList(names(o.Statistic.Methods())))
		}
		o.Method = &m
	}
	if c.IsSet("gate") {
		gate := c.Float64("gate")
		o.Gate = &gate
	} else if c.String("fail-on") != "" {
		return o, badUsage("--fail-on needs --gate, the overhead that is still good")
	}
	return o, nil
}

func names[T fmt.Stringer](of []T) []string {
	var out []string
	for _, x := range of {
		out = append(out, x.String())
	}
	return out
}

// measurements returns the measurements to compare from the flags.
func (p *program) measurements(c *cli.Context) ([]overhead.Measurement, overhead.By, error) {
	against := c.List("against")
	if file := c.String("pairs"); file != "" {
		if len(c.Args) > 0 || len(against) > 0 || c.IsSet("match") {
			return nil, 0, badUsage("--pairs has both halves of every pair: it takes no paths, no --against and no --match")
		}
		measurements, err := p.readPairs(file)
		return measurements, overhead.ByFile, badInput(err)
	}
	base, err := paths(c)
	if err != nil {
		return nil, 0, err
	}
	if len(against) == 0 {
		return nil, 0, badUsage("needs --against PATH, the runs to compare with; or --pairs FILE")
	}
	if err := checkExist(slices.Concat(base, against)); err != nil {
		return nil, 0, err
	}
	by, err := overhead.ParseBy(c.String("match"))
	if err != nil {
		return nil, 0, err
	}
	without, err := p.runs(c, base)
	if err != nil {
		return nil, 0, err
	}
	with, err := p.runs(c, against)
	if err != nil {
		return nil, 0, err
	}
	measurements, err := overhead.Match(without, with, by)
	return measurements, by, badInput(err)
}

// runs measures the windows of one side. An input that is refused would shift
// who is matched with whom, so that one is enough to refuse all.
func (p *program) runs(c *cli.Context, from []string) (*overhead.Runs, error) {
	var runs overhead.Runs
	_, err := p.readFrom(c, reading{names: from, kinds: auto.Windows, strict: true}, func(j recorded.Job) error {
		return forTraces(j.Windows, func(w *trace.Window) error { return windowError(w, runs.Add(w)) })
	})
	return &runs, err
}

func (p *program) readPairs(path string) ([]overhead.Measurement, error) {
	if path == "-" {
		return overhead.ReadPairs(path, p.in)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	measurements, err := overhead.ReadPairs(path, f)
	return measurements, errors.Join(err, f.Close())
}
