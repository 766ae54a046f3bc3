package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

func (p *program) diagnoseCommand() *cli.Command {
	return &cli.Command{
		Name: "diagnose", Usage: "one verdict: who made the group slow, where, why, how sure", ArgsUsage: "PATH...",
		Description: "Reads all windows and operator traces of all inputs and gives one ranked verdict per run. It never claims more than " +
			"independent evidence agrees on: what cannot be told from the recording is said, with what would tell it. Debug logs of NCCL beside " +
			"exports of Nsight Systems, or what NCCL attaches to its ranges in them, tell slow links and communicators.",
		Flags: join(analysisFlags(), profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), strictFlag(), verdictFailOnFlag(), minGainFlag(), verboseFlag(), labelsFlag(), pictureFlag()}, resultFlags()),
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
	var drawn picture
	j, err := p.judge(c, func(o frontier.Options) (seeing, error) {
		drawn, err = newPicture(c, o)
		return func(item auto.Item) error {
			if item.Window == nil {
				return nil
			}
			return drawn.see(item.Window)
		}, err
	})
	if err != nil {
		return err
	}
	if err := p.draw(c, &drawn); err != nil {
		return err
	}
	err = p.emit(c, func(w io.Writer) error {
		return report.Input{Problems: j.problems}.Verdict(w, j.verdict, as, p.style(c))
	})
	if err != nil {
		return err
	}
	return failOnVerdict(c, j.verdict)
}

// judgement is a verdict and what was read for it.
type judgement struct {
	inputs
	verdict *diagnose.Verdict
	dumps   []dumped
}

// seeing looks at what is read beside the verdict.
type seeing func(auto.Item) error

// judge reads all inputs of a command into one verdict. What else looks at them is
// made when it is known how windows are accounted for.
func (p *program) judge(c *cli.Context, beside func(frontier.Options) (seeing, error)) (*judgement, error) {
	healthy, err := p.healthy(c)
	if err != nil {
		return nil, err
	}
	o, err := p.frontierOptions(c, healthy)
	if err != nil {
		return nil, err
	}
	see, err := beside(o)
	if err != nil {
		return nil, err
	}
	s := diagnose.New(diagnose.Options{Frontier: o, Baseline: healthy, MinGain: c.Float64("min-gain")})
	var kept []behind
	runs := profiledRuns{}
	var dumps dumpedJobs
	names, err := paths(c)
	if err != nil {
		return nil, err
	}
	pattern, err := rankPattern(c)
	if err != nil {
		return nil, err
	}
	in, err := p.readAs(c, reading{names: names, want: auto.AndDevices, logs: besideLogs, rank: pattern}, func(item auto.Item) error {
		runs.see(item)
		switch {
		case item.Comm != nil && item.Window == nil:
			return dumps.add(item)
		case item.Window == nil && item.Ops == nil:
			kept = append(kept, behind{path: item.Path, device: item.Device})
			return nil
		case item.Ops == nil:
			dumps.see(item.Window)
			return errors.Join(dumps.add(item), addWindow(s, item), see(item))
		case item.Launched == nil:
			return errors.Join(ofScheduled(item, s.AddOperators(item.Ops)), see(item))
		}
		kept = append(kept, behind{path: item.Path, launched: item.Launched})
		return nil
	})
	if err == nil {
		err = p.addConverted(c, s, kept, &in)
	}
	if err = p.addTraffic(c, s, runs, &in, err); err != nil {
		return nil, err
	}
	j := &judgement{inputs: in, dumps: dumps.settle()}
	for _, d := range j.dumps {
		s.AddArrivals(d.run, d.Job)
	}
	p.passedOver(c, in)
	j.verdict = s.Verdict()
	return j, nil
}

// behind are the operators of a profile that was converted, or its device times:
// they stand in files beside that of the windows, which may be read after them.
type behind struct {
	path     string
	launched *trace.OpTotals
	device   *trace.DeviceRun
}

// run is the run that they are of.
func (b *behind) run() string {
	if b.device != nil {
		return b.device.Run
	}
	return b.launched.Run
}

// add adds them to the windows of their run.
func (b *behind) add(s *diagnose.Session) error {
	if b.device != nil {
		return s.AddDevice(b.device)
	}
	return s.AddLaunched(b.launched)
}

// alone says why they cannot be used.
func (b *behind) alone() error {
	what, commands := "a profiler's kernels", "sfstat zscore, ks and blame compare kernels"
	if b.device != nil {
		what, commands = "device times", "sfstat breakdown divides them"
	}
	return trace.At(trace.Pos{File: b.path}, trace.Bad(trace.ErrMissing,
		"%s of run %s, whose windows are not among the inputs: give the folder that sfstat convert wrote, or the profiler's traces; %s", what, b.run(), commands))
}

// addConverted adds what belongs to windows that were read. By itself it cannot
// be judged: the rest is refused.
func (p *program) addConverted(c *cli.Context, s *diagnose.Session, kept []behind, in *inputs) error {
	added := 0
	var bad []report.Problem
	for _, k := range kept {
		if !s.Has(k.run()) {
			bad = append(bad, report.Problem{Path: k.path, Err: k.alone()})
			continue
		}
		added++
		if err := k.add(s); err != nil {
			return badInput(trace.At(trace.Pos{File: k.path}, err))
		}
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

// failOnVerdict turns what --fail-on names into exit code 3: a finding that is
// large enough and at least so certain, or too little data in some run.
func failOnVerdict(c *cli.Context, v *diagnose.Verdict) error {
	surest := evidence.Insufficient
	for i := range v.Runs {
		r := &v.Runs[i]
		if c.String("fail-on") == diagnose.TooLittleData.String() && r.Status == diagnose.TooLittleData {
			return &exitError{exitFinding, fmt.Errorf("run %s has too little data (--fail-on %s)", r.Run, diagnose.TooLittleData)}
		}
		for k := range r.Suspects {
			if f := &r.Suspects[k]; !f.BelowMinGain {
				surest = max(surest, f.Confidence)
			}
		}
	}
	return failOn(c, surest)
}

// failOn turns a finding of the level of --fail-on into exit code 3.
func failOn(c *cli.Context, found evidence.Confidence) error {
	for level := evidence.Ambiguous; level <= found; level++ {
		if level.String() == c.String("fail-on") {
			return &exitError{exitFinding, fmt.Errorf("a finding is %v (--fail-on %v)", found, level)}
		}
	}
	return nil
}

func verdictFailOnFlag() cli.Flag {
	f := choice("fail-on", "exit with 3 when a finding of --min-gain or more is at least this certain, or on too little data",
		"", "strong", "supported", "ambiguous", "too_little_data")
	f.Category = forOutput
	return f
}

func minGainFlag() cli.Flag {
	return &cli.Float64Flag{Name: "min-gain", Category: forInput, DefaultText: "the gain gate, 0.1",
		Usage: "act on findings from this `FRACTION` of a step on; it is about size, the certainty is another question"}
}

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Category: forOutput, Usage: "evidence, labels and cuts as well"}
}

func labelsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "labels", Category: forOutput, Usage: "the labels of the paper as well"}
}
