package main

import (
	"errors"
	"io"
	"path/filepath"
	"regexp"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

func (p *program) arrivalsCommand() *cli.Command {
	return &cli.Command{
		Name: "arrivals", Usage: "who arrives last where ranks synchronise, how often, by how much, and from which line", ArgsUsage: "PATH...",
		Description: "Reads dumps of PyTorch's Flight Recorder (pickles or JSON), one of each rank, and compares when the ranks entered their collectives, sends and " +
			"receives. Lateness that a rank inherits from another synchronisation point is not its own. Packets of the same job beside the dumps say in " +
			"which stage a call is entered.",
		Flags: join([]cli.Flag{rankPatternFlag(), strictFlag(),
			&cli.StringFlag{Name: "chrome", Category: forOutput, Usage: "draw all ranks on one clock as a trace for Perfetto, to `FILE` (JSON)"},
		}, resultFlags()),
		UsageText: `sfstat arrivals dumps/
sfstat arrivals /tmp/nccl_trace_rank_* --format csv -o arrivals.csv
sfstat arrivals run/ --chrome trace.json               # open at ui.perfetto.dev`,
		Action: p.arrivals,
	}
}

func (p *program) hangCommand() *cli.Command {
	return &cli.Command{
		Name: "hang", Usage: "who is missing where a job stands still, who waits, since when, from which line", ArgsUsage: "PATH...",
		Description: "Reads dumps of PyTorch's Flight Recorder (pickles or JSON), one of each rank, and finds the call that some ranks entered and others did not, the order in which " +
			"groups block one another, and calls whose members disagree in operation, sizes or types. Dumps that are missing, empty or cut short do not keep the " +
			"others from being read.",
		Flags: join([]cli.Flag{rankPatternFlag(), strictFlag()}, resultFlags()),
		UsageText: `sfstat hang /tmp/comm_lib_trace_rank_*
sfstat hang dumps/ --format json | jq '.jobs[0].blocked[0].missing'`,
		Action: p.hang,
	}
}

func rankPatternFlag() cli.Flag {
	return &cli.StringFlag{Name: "rank-pattern", Category: forInput,
		Usage: "find the rank in the names of Flight Recorder dumps with `REGEXP`: its group rank, or else its first; a group host finds the host"}
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

// dumpedJobs are the dumps among the inputs, by folder.
type dumpedJobs struct {
	folders []string
	jobs    []*arrivals.Job
	windows map[string]*arrivals.Job // of runs: what their windows say
	runs    []string
	hosts   map[string]*arrivals.Job // of runs: what profilers saw their hosts enter
}

// add takes an item, if it is a dump, or has what a profiler saw hosts enter.
func (d *dumpedJobs) add(item auto.Item) error {
	if item.Comm == nil {
		return nil
	}
	if item.Window != nil {
		if d.hosts == nil {
			d.hosts = map[string]*arrivals.Job{}
		}
		d.hosts[item.Window.Run] = &arrivals.Job{}
		return d.hosts[item.Window.Run].Add(item.Comm)
	}
	folder := filepath.Dir(item.Path)
	for i, have := range d.folders {
		if have == folder {
			return d.jobs[i].Add(item.Comm)
		}
	}
	d.folders, d.jobs = append(d.folders, folder), append(d.jobs, &arrivals.Job{})
	return d.jobs[len(d.jobs)-1].Add(item.Comm)
}

// see takes from windows what places the calls of their run.
func (d *dumpedJobs) see(w *trace.Window) {
	if d.windows == nil {
		d.windows = map[string]*arrivals.Job{}
	}
	if d.windows[w.Run] == nil {
		d.runs, d.windows[w.Run] = append(d.runs, w.Run), &arrivals.Job{}
	}
	d.windows[w.Run].AddWindow(w)
}

// dumped is one job with its name.
type dumped struct {
	run string
	*arrivals.Job
}

// settle makes one job of folders that have different ranks, and gives every
// job the run of its windows.
func (d *dumpedJobs) settle() (out []dumped) {
	for run, j := range d.hosts { // dumps and the recorder's own arrivals say more
		if seen := d.windows[run]; len(d.jobs) == 0 && seen.Empty() {
			seen.Merge(j)
		}
	}
	var folders []string
	var jobs []*arrivals.Job
	for i, j := range d.jobs {
		merged := false
		for _, have := range jobs {
			if len(d.runs) < 2 && !have.Shares(j) {
				have.Merge(j)
				merged = true
				break
			}
		}
		if !merged {
			folders, jobs = append(folders, d.folders[i]), append(jobs, j)
		}
	}
	for i, j := range jobs {
		name := filepath.Base(folders[i])
		if abs, err := filepath.Abs(folders[i]); err == nil {
			name = filepath.Base(abs)
		}
		if _, ok := d.windows[name]; !ok && len(d.runs) == 1 && len(jobs) == 1 {
			name = d.runs[0]
		}
		if seen := d.windows[name]; seen != nil {
			seen.Merge(j)
			j = seen
		}
		out = append(out, dumped{name, j})
		delete(d.windows, name)
	}
	for _, run := range d.runs { // arrivals that the recorder wrote beside stage times
		if j := d.windows[run]; j != nil && !j.Empty() {
			out = append(out, dumped{run, j})
		}
	}
	return out
}

// dumps reads the jobs of a command that is about dumps alone.
func (p *program) dumps(c *cli.Context) ([]dumped, inputs, error) {
	names, err := paths(c)
	if err != nil {
		return nil, inputs{}, err
	}
	pattern, err := rankPattern(c)
	if err != nil {
		return nil, inputs{}, err
	}
	var d dumpedJobs
	in, err := p.readAs(c, reading{names: names, want: auto.WindowsAndCalls, rank: pattern}, func(item auto.Item) error {
		if item.Window != nil {
			d.see(item.Window)
		}
		return d.add(item)
	})
	jobs := d.settle()
	if err == nil && len(jobs) == 0 {
		err = badInput(errors.New("no dump of PyTorch's Flight Recorder in any input, and no packet with arrivals (Recorder(..., arrivals=True)): dumps are written on a time-out, or on demand with TORCH_NCCL_DUMP_ON_TIMEOUT=1 or torch._C._distributed_c10d._dump_fr_trace()"))
	}
	return jobs, in, err
}

func (p *program) arrivals(c *cli.Context) error {
	return p.ofDumps(c, report.Input.Arrivals)
}

func (p *program) hang(c *cli.Context) error {
	return p.ofDumps(c, report.Input.Hang)
}

// ofDumps analyses the dumps and reports on them.
func (p *program) ofDumps(c *cli.Context, write func(report.Input, io.Writer, []report.Arrivals, report.Format, report.Style) error) error {
	as, err := format(c)
	if err != nil {
		return err
	}
	jobs, in, err := p.dumps(c)
	if err != nil {
		return err
	}
	var results []report.Arrivals
	for i, j := range jobs {
		var o arrivals.Options
		if path := c.String("chrome"); path != "" && i == 0 {
			err = p.writeTo(path, func(w io.Writer) error {
				trace := report.NewArrivalsChrome(w)
				o.Each = trace.Call
				results = append(results, report.Arrivals{Run: j.run, Result: j.Analyze(o)})
				return trace.Close()
			})
			if err != nil {
				return err
			}
			continue
		}
		results = append(results, report.Arrivals{Run: j.run, Result: j.Analyze(o)})
	}
	return p.emit(c, func(w io.Writer) error { return write(report.Input{Problems: in.problems}, w, results, as, p.style(c)) })
}
