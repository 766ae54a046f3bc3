package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

func (p *program) arrivalsCommand() *cli.Command {
	return &cli.Command{
		Name: "arrivals", Usage: "which rank arrives last at synchronisation points, how often, by how much, and from which source line", ArgsUsage: "PATH...",
		Description: "Reads PyTorch Flight Recorder dumps (pickle or JSON), packets with arrivals, or profiler traces of CPU-only jobs, " +
			"one per rank, and compares when the ranks entered their collectives, sends and receives. Lateness inherited from an earlier synchronisation " +
			"point does not count as a rank's own delay. Packets of the same job beside the dumps show in which stage each call is entered. Profiler traces are used " +
			"only if there are no dumps or packets with arrivals.",
		Flags: join(entriesFlags(), []cli.Flag{
			figureFlag("how far behind the first rank each rank enters each collective (one job)"),
		}, resultFlags()),
		UsageText: `sfstat arrivals dumps/
sfstat arrivals /tmp/nccl_trace_rank_* --format csv -o arrivals.csv
sfstat arrivals dumps/ --plot skew.png`,
		Action: p.arrivals,
	}
}

func (p *program) hangCommand() *cli.Command {
	return &cli.Command{
		Name: "hang", Usage: "which rank is missing when a job hangs, who waits, since when, and from which source line", ArgsUsage: "PATH...",
		Description: "Reads PyTorch Flight Recorder dumps (pickle or JSON) and stacks that py-spy dumped, one file per rank, and reports of NCCL's RAS (JSON). Finds the call that some ranks entered and others did not, the order in which " +
			"process groups block one another, and calls whose members disagree on operation, sizes or types. Missing, empty or truncated dumps are reported; the rest are " +
			"still analysed. Packets with arrivals and profiler traces of CPU-only jobs hold only completed calls: they show calls that disagree, but " +
			"no hang.",
		Flags: join(entriesFlags(), resultFlags()),
		UsageText: `sfstat hang /tmp/comm_lib_trace_rank_*
sfstat hang dumps/ --format json | jq '.jobs[0].blocked[0].missing'`,
		Action: p.hang,
	}
}

// entriesFlags say what to read of entries. They are of whole runs: for whom a
// rank waits, and who is missing, is of all calls of all ranks.
func entriesFlags() []cli.Flag {
	return join([]cli.Flag{rankPatternFlag(), strictFlag()}, selectionFlags("window", "steps", "ranks"))
}

func rankPatternFlag() cli.Flag {
	return &cli.StringFlag{Name: "rank-pattern", Category: forInput,
		Usage: "take the rank from the file names of Flight Recorder dumps with `REGEXP`: its group named rank, else its first group; a group named host gives the host"}
}

// rankPattern is the flag of that name, nil without it.
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
func (p *program) jobs(c *cli.Context) ([]*enteredRun, inputs, error) {
	var jobs []*enteredRun
	in, err := p.read(c, auto.WindowsAndEntries, func(item auto.Item) error {
		for _, r := range item.Recordings() {
			if err := enter(&jobs, r); err != nil {
				return err
			}
		}
		return nil
	})
	jobs = slices.DeleteFunc(jobs, func(j *enteredRun) bool { return j.Empty() && !(c.Command.Name == "hang" && j.Looked()) })
	if err == nil && len(jobs) == 0 {
		err = badInput(errors.New("no input says when ranks entered their calls: expected dumps of PyTorch's Flight Recorder (written on a time-out with TORCH_NCCL_DUMP_ON_TIMEOUT=1, or on demand by " +
			"torch._C._distributed_c10d._dump_fr_trace()), packets with arrivals (Recorder(..., arrivals=True)), or profiler traces with collectives and no device work, of two ranks or more"))
	}
	return jobs, in, err
}

func (p *program) arrivals(c *cli.Context) error {
	return p.ofDumps(c, arrivals.Options{}, report.Output.Arrivals)
}

func (p *program) hang(c *cli.Context) error {
	return p.ofDumps(c, arrivals.Options{HangOnly: c.String("plot") == ""}, report.Output.Hang)
}

// ofDumps analyses the dumps and reports on them.
func (p *program) ofDumps(c *cli.Context, o arrivals.Options, write func(report.Output, []report.Arrivals) error) error {
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
	return p.publish(c, in.problems, func(to report.Output) error { return write(to, results) })
}
