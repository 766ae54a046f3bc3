package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

func (p *program) diagnoseCommand() *cli.Command {
	return &cli.Command{
		Name: "diagnose", Usage: "one verdict: who made the group slow, where, why, how sure", ArgsUsage: "PATH...",
		Description: "Reads all windows and operator traces of all inputs and gives one ranked verdict per run. It never claims more than " +
			"independent evidence agrees on: what cannot be told from the recording is said, with what would tell it. Debug logs of NCCL beside " +
			"exports of Nsight Systems tell slow links and communicators.",
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
	var kept []behind
	runs := profiledRuns{}
	names, err := paths(c)
	if err != nil {
		return err
	}
	in, err := p.readAs(c, reading{names: names, want: auto.Everything, logs: besideLogs}, func(item auto.Item) error {
		runs.see(item)
		switch {
		case item.Ops == nil:
			return addWindow(s, item)
		case item.Launched == nil:
			return ofScheduled(item, s.AddOperators(item.Ops))
		}
		kept = append(kept, behind{item.Path, item.Launched})
		return nil
	})
	if err == nil {
		err = p.addConverted(c, s, kept, &in)
	}
	if err = p.addTraffic(c, s, runs, &in, err); err != nil {
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

// behind are the operators of a profile that was converted: they stand in a
// file beside that of the windows, which may be read after it.
type behind struct {
	path     string
	launched *trace.OpTotals
}

// addConverted adds the operators whose windows were read. By themselves they
// cannot be judged: the others are refused.
func (p *program) addConverted(c *cli.Context, s *diagnose.Session, kept []behind, in *inputs) error {
	added := 0
	var bad []report.Problem
	for _, k := range kept {
		if s.Has(k.launched.Run) {
			added++
			if err := s.AddLaunched(k.launched); err != nil {
				return badInput(trace.At(trace.Pos{File: k.path}, err))
			}
			continue
		}
		bad = append(bad, report.Problem{Path: k.path, Err: trace.At(trace.Pos{File: k.path}, trace.Bad(trace.ErrMissing,
			"a profiler's kernels of run %s, whose windows are not among the inputs: give the folder that sfstat convert wrote, or the profiler's traces; sfstat zscore, ks and blame compare kernels", k.launched.Run))})
	}
	if len(bad) > 0 && (c.Bool("strict") || s.Empty()) {
		return badInput(bad[0].Err)
	}
	in.problems = append(in.problems, bad...)
	return p.tell(c, inputs{problems: bad}, max(1, added))
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
