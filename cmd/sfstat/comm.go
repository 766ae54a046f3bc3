package main

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/archive/calls"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/comms"
)

func (p *program) commCommand() *cli.Command {
	return &cli.Command{
		Name: "comm", Usage: "which rank the others waited for, which link or communicator is slow, and what each rank communicated", ArgsUsage: "PATH...",
		Description: "Reads NCCL's debug logs, exports of Nsight Systems and dumps of NCCL's Inspector, files or folders, told apart by their " +
			"content. Matches processes of logs to those of exports and calls to kernels, finds which communicators are the same and what they are " +
			"for, and aligns the clocks of hosts. Names the rank that arrives late, or the link or communicator that is slower than its peers. " +
			"Logs alone or exports alone are analysed as far as they go.",
		Flags: join([]cli.Flag{
			choice("scoring", "how calls and kernels are compared: default uses types, channels, times and other ranks; names the names of operations alone; thesis the same with the weights and growing gaps of the NCCL Trace Profiler", "default", "names", "thesis"),
			choice("theory", "what links allow: nccl-tests: bus bandwidth B, algorithm bandwidth B/f; thesis: B·α and B·β of the NCCL Trace Profiler, and of calls the bandwidth over the kernel's own time", "nccl-tests", "thesis"),
			choiceFor(forOutput, choice("show", "verdict: who delays the others; topology: the machines as NCCL printed them, paths between ranks and links between devices; steps: what was communicated in each step, initialisation and shutdown apart; matrix: how many bytes each rank sends each other, by ring, tree and message", "verdict", "topology", "steps", "matrix")),
			&cli.StringFlag{Name: "dot", Category: forOutput, Usage: "draw the topology as a graph for Graphviz, to `FILE` (DOT)"},
			&cli.StringFlag{Name: "matches", Category: forOutput, Usage: "write every pair of call and kernel to `FILE` (CSV)"},
			&cli.StringFlag{Name: "calls", Category: forOutput, Usage: "write every call with its kernel, times, bandwidths, limits and launch configuration to `FILE` (.csv or .parquet)"},
			&cli.StringFlag{Name: "chrome", Category: forOutput, Usage: "draw kernels, steps and kinds of parallelism as a trace for Perfetto, to `FILE` (JSON)"},
			&cli.IntFlag{Name: "dp", Category: forInput, Usage: "data-parallel size `N` of the job"},
			&cli.IntFlag{Name: "tp", Category: forInput, Usage: "tensor-parallel size `N`"},
			&cli.IntFlag{Name: "pp", Category: forInput, Usage: "pipeline-parallel size `N`"},
			&cli.IntFlag{Name: "ep", Category: forInput, Usage: "expert-parallel size `N`"},
			&cli.IntFlag{Name: "cp", Category: forInput, Usage: "context-parallel size `N`"},
			&cli.StringFlag{Name: "layout", Category: forInput, Usage: "all sizes at once, `SIZES` such as dp=4,tp=2; without any, kinds are inferred"},
			&cli.StringFlag{Name: "model", Category: forInput, Usage: "description of the model and its layout in `FILE` (YAML): how much should have been communicated"},
			&cli.StringFlag{Name: "plots", Category: forOutput, Usage: "draw figures into `FOLDER`, which is made if it is not there"},
			limitFlag(),
			strictFlag(),
		}, selectionFlags("window", "steps"), resultFlags()),
		UsageText: `sfstat comm run/
sfstat comm logs/ report-node0.sqlite report-node1.sqlite --layout tp=4,dp=2
sfstat comm run/ --format json --matches pairs.csv
sfstat comm jobs/ --run job-7 --ranks 0-7 --calls calls.parquet
sfstat comm run/ --chrome trace.json                   # open at ui.perfetto.dev
sfstat comm job.log`,
		Action: p.comm,
	}
}

func (p *program) comm(c *cli.Context) error {
	o, err := commOptions(c)
	if err != nil {
		return err
	}
	if o.Model, err = commModel(c); err != nil {
		return err
	}
	names, err := paths(c)
	if err != nil {
		return err
	}
	choose, err := newChooser(c)
	if err != nil {
		return err
	}
	var found *comms.Record
	what := reading{names: names, want: auto.Communication, runs: choose.Runs, unselected: true}
	in, err := p.readAs(c, what, func(item auto.Item) error {
		found = item.Comm
		return nil
	})
	if none := (*auto.NoRunError)(nil); errors.As(err, &none) {
		return noRun(none.Run, none.Has)
	} else if err != nil {
		return err
	}
	o.Ranks = choose.Ranks
	r, err := comm.Analyze(found, o)
	if err != nil {
		return badInput(err)
	}
	if err := p.commFiles(c, r); err != nil {
		return err
	}
	if err := p.plotTraffic(c, r); err != nil {
		return err
	}
	return p.publish(c, in.problems, func(to report.Output) error {
		switch c.String("show") {
		case "topology":
			return to.Topology(comm.Machines(r))
		case "matrix":
			return to.CommMatrix(r)
		case "steps":
			return to.CommSteps(r)
		}
		return to.Traffic(r)
	})
}

// plotTraffic draws what --plots asks for.
func (p *program) plotTraffic(c *cli.Context, r *comm.Result) error {
	folder := c.String("plots")
	if folder == "" {
		return nil
	}
	if _, err := makeFolder(folder); err != nil {
		return err
	}
	drawn, err := p.drawAll(charts.All(r), plots.Column, func(figure string) []string {
		path := filepath.Join(folder, figure)
		return []string{path + ".png", path + ".svg"}
	})
	if err == nil {
		p.remark(c, "%s written to %s", counted(drawn, "figure"), folder)
	}
	return err
}

// commFiles writes the files that flags ask for beside the result.
func (p *program) commFiles(c *cli.Context, r *comm.Result) error {
	callsAs, err := callsFormat(c)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		flag  string
		write func(io.Writer) error
	}{
		{"matches", func(w io.Writer) error { return report.Output{W: w}.Matches(r) }},
		{"chrome", func(w io.Writer) error { return report.Output{W: w}.Chrome(r) }},
		{"calls", func(w io.Writer) error { return calls.Write(w, r, callsAs) }},
		{"dot", func(w io.Writer) error { return report.Output{W: w}.TopologyGraph(comm.Machines(r)) }},
	} {
		if path := c.String(f.flag); path != "" {
			if err := p.writeTo(path, f.write); err != nil {
				return err
			}
		}
	}
	return nil
}

// callsFormat is how the table of calls is written, by the name of its file.
func callsFormat(c *cli.Context) (calls.Format, error) {
	path := c.String("calls")
	if path == "" || path == "-" {
		return calls.CSV, nil
	}
	as, err := calls.FormatOf(path)
	if err != nil {
		return as, badUsage("--calls %v", err)
	}
	return as, nil
}

func commOptions(c *cli.Context) (o comm.Options, err error) {
	o.Scoring = map[string]comm.Scoring{"names": comm.ByName, "thesis": comm.ByThesis}[c.String("scoring")]
	if c.String("theory") == "thesis" {
		o.Theory.Convention = capacity.Thesis
	}
	if o.Theory.Benchmarks, err = benchmarks(c); err != nil {
		return o, err
	}
	if o.Theory.Benchmarks != nil && o.Theory.Convention != capacity.NCCLTests {
		return o, badUsage("--limit goes by the sizes and factors of nccl-tests: leave --theory %s out", c.String("theory"))
	}
	if o.Layout, err = parallel.ParseLayout(c.String("layout")); err != nil {
		return o, badUsage("--layout %v", err)
	}
	for name, size := range map[string]*int{"dp": &o.Layout.DP, "tp": &o.Layout.TP, "pp": &o.Layout.PP, "ep": &o.Layout.EP, "cp": &o.Layout.CP} {
		if !c.IsSet(name) {
			continue
		}
		if n := c.Int(name); n < 1 || n > 1<<20 {
			return o, badUsage("--%s is %d, expected 1 or more ranks", name, n)
		}
		if *size != 0 && *size != c.Int(name) {
			return o, badUsage("--%s is %d, and --layout says %d", name, c.Int(name), *size)
		}
		*size = c.Int(name)
	}
	return o, nil
}
