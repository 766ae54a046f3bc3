package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
)

func (p *program) diagnoseCommand() *cli.Command {
	return &cli.Command{
		Name: "diagnose", Usage: "one verdict: who made the group slow, where, why, how sure", ArgsUsage: "PATH...",
		Description: "Reads all windows and operator traces of all inputs and gives one ranked verdict per run. It never claims more than " +
			"independent evidence agrees on: what cannot be told from the recording is said, with what would tell it.",
		Flags: join(analysisFlags(), profileFlags(), []cli.Flag{strictFlag(), failOnFlag()}, resultFlags()),
		UsageText: `sfstat diagnose run/
sfstat diagnose rank*.jsonl.zst --format md -o verdict.md
zcat packets.jsonl.gz | sfstat diagnose - --format json | jq .headline
sfstat diagnose run/ --fail-on supported || echo "someone is slow"`,
		Action: p.diagnose,
	}
}

func (p *program) diagnose(c *cli.Context) error {
	as, err := format(c)
	if err != nil {
		return err
	}
	o, err := frontierOptions(c)
	if err != nil {
		return err
	}
	s := diagnose.New(diagnose.Options{Frontier: o})
	in, err := p.items(c, func(item auto.Item) error {
		if item.Ops != nil {
			return ofScheduled(item, s.AddOperators(item.Ops))
		}
		return addWindow(s, item)
	})
	if err != nil {
		return err
	}
	v := s.Verdict()
	err = p.emit(c, func(w io.Writer) error {
		return report.Input{Problems: in.problems}.Verdict(w, v, as, p.style(c))
	})
	if err != nil {
		return err
	}
	return failOn(c, surest(v))
}

// addWindow adds a window, and what comes with the first one of a profiled run.
func addWindow(s *diagnose.Session, item auto.Item) error {
	if err := s.Add(item.Window); err != nil {
		return ofWindow(item.Window, err)
	}
	if item.Launched != nil {
		if err := s.AddLaunched(item.Launched); err != nil {
			return err
		}
	}
	if item.Device != nil {
		return ofWindow(item.Window, s.AddDevice(item.Device))
	}
	return nil
}

// surest is the highest confidence of any run, Insufficient when nothing was
// found.
func surest(v *diagnose.Verdict) diagnose.Confidence {
	best := diagnose.Insufficient
	for _, run := range v.Runs {
		for _, s := range run.Suspects {
			best = max(best, s.Confidence)
		}
	}
	return best
}

// failOn turns a finding of the level of --fail-on into exit code 3.
func failOn(c *cli.Context, found diagnose.Confidence) error {
	var level diagnose.Confidence
	switch c.String("fail-on") {
	case "":
		return nil
	case diagnose.Strong.String():
		level = diagnose.Strong
	case diagnose.Supported.String():
		level = diagnose.Supported
	case diagnose.Ambiguous.String():
		level = diagnose.Ambiguous
	}
	if found < level {
		return nil
	}
	return &exitError{exitFinding, fmt.Errorf("a finding is %v (--fail-on %v)", found, level)}
}
