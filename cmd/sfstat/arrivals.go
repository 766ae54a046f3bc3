package main

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/recorded"
)

// rankPattern returns the pattern of --rank, nil without the flag.
func rankPattern(c *cli.Context) (*regexp.Regexp, error) {
	text := c.String("rank-pattern")
	if text == "" {
		return nil, nil
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, badUsage("--rank-pattern: %v", err)
	}
	if pattern.NumSubexp() == 0 {
		return nil, badUsage("--rank-pattern %q has no group: put the rank into brackets, as in rank_([0-9]+)", text)
	}
	return pattern, nil
}

// enteredRun is what of a run says when its ranks entered their calls.
type enteredRun struct {
	run string
	arrivals.Job
}

// enter adds a recording to its run.
func enter(jobs *[]*enteredRun, r trace.Recording) error {
	i := slices.IndexFunc(*jobs, func(j *enteredRun) bool { return j.run == r.RunName() })
	if i < 0 {
		i = len(*jobs)
		*jobs = append(*jobs, &enteredRun{run: r.RunName()})
	}
	switch r := r.(type) {
	case *trace.Window:
		(*jobs)[i].AddWindow(r)
	case *comms.Record:
		return (*jobs)[i].Add(r)
	}
	return nil
}

// jobs reads those of a command that is about entries alone.
func (p *program) jobs(c *cli.Context) ([]*enteredRun, live.Inputs, error) {
	var jobs []*enteredRun
	in, err := p.readInputs(c, reading{kinds: auto.Windows | auto.Entries}, func(j recorded.Job) error {
		for _, r := range j.Recordings() {
			if err := enter(&jobs, r); err != nil {
				return err
			}
		}
		return nil
	})
	jobs = slices.DeleteFunc(jobs, func(j *enteredRun) bool { return j.Empty() && !(c.Command.Name != "arrivals" && j.ShowsStoppedRanks()) })
	if err == nil && len(jobs) == 0 {
		err = badInput(errors.New("no input says when ranks entered their calls: expected dumps of PyTorch's Flight Recorder (written on a time-out with TORCH_NCCL_DUMP_ON_TIMEOUT=1, or on demand by " +
			"torch._C._distributed_c10d._dump_fr_trace()), packets with arrivals (Recorder(..., arrivals=True)), or profiler traces with collectives and no device work, of two ranks or more"))
	}
	return jobs, in, err
}

func (p *program) arrivals(c *cli.Context) error {
	return p.analyseDumps(c, arrivals.Options{}, report.Output.Arrivals)
}

func (p *program) hang(c *cli.Context) error {
	return p.analyseDumps(c, arrivals.Options{HangOnly: c.String("plot") == ""}, report.Output.Hang)
}

// garbageOfCalls is how much garbage there may be beside calls before it is collected, percent: calls are numbers, which
// cost nothing to look through.
const garbageOfCalls = 25

// analyseDumps analyses the dumps and reports on them.
func (p *program) analyseDumps(c *cli.Context, o arrivals.Options, write func(report.Output, []report.Arrivals) error) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbageOfCalls))
	jobs, in, err := p.jobs(c)
	if err != nil {
		return err
	}
	figure, drawn := c.String("plot"), charts.Arrivals{}
	if figure != "" && len(jobs) != 1 {
		return badInput(fmt.Errorf("--plot shows one job, found %d: give one path", len(jobs)))
	}
	var results []report.Arrivals
	for _, j := range jobs {
		if figure != "" {
			o.EachPoint = drawn.Add
		}
		results = append(results, report.Arrivals{Run: j.run, Result: j.Analyze(o)})
	}
	if figure != "" {
		f, err := drawn.Drawing(results[0].Result).Draw(plots.Page)
		if err := p.writeFigure(figure, f, err); err != nil {
			return err
		}
	}
	return p.publish(c, in.Problems, func(to report.Output) error { return write(to, results) })
}
