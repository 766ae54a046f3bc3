package main

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/sfstat/sfstat/archive/calls"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/eval/campaign/communication"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) comm(c *cli.Context) error {
	o, err := commOptions(c)
	if err != nil {
		return err
	}
	if err := expectation(c, &o); err != nil {
		return err
	}
	if c.String("show") == "schedule" {
		return p.schedule(c, o.Calls)
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
	what := reading{names: names, kinds: auto.Calls, runs: choose.Runs, unselected: true}
	in, err := p.readFrom(c, what, func(j recorded.Job) error {
		found = j.Calls
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
	return p.publish(c, in.Problems, func(to report.Output) error {
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
	if _, err := makeFolder(p.disk, folder); err != nil {
		return err
	}
	drawn, err := p.drawAll(charts.Communication(r), plots.Column, func(figure string) []string {
		path := filepath.Join(folder, figure)
		return []string{path + ".png", path + ".svg"}
	})
	if err == nil {
		p.remark(c, "%s written to %s", table.Counted(drawn, "figure"), folder)
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
		{"chrome", func(w io.Writer) error { return calls.Chrome(w, r) }},
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

// callsFormat returns the format of the table of calls by the name of its file.
func callsFormat(c *cli.Context) (flatrow.Format, error) {
	path := c.String("calls")
	if path == "" || path == "-" {
		return flatrow.CSV, nil
	}
	as, err := flatrow.FormatOf(path)
	if err != nil {
		return as, badUsage("--calls %v", err)
	}
	return as, nil
}

func commOptions(c *cli.Context) (o comm.Options, err error) {
	if c.String("scoring") == "thesis" {
		o.Scoring = comm.ByThesis
	}
	if c.String("theory") == "thesis" {
		o.Theory.Convention = comm.Thesis
	}
	if o.Theory.Benchmarks, err = benchmarks(c); err != nil {
		return o, err
	}
	if o.Theory.Benchmarks != nil && o.Theory.Convention != comm.NCCLTests {
		return o, badUsage("--limit goes by the sizes and factors of nccl-tests: leave --theory %s out", c.String("theory"))
	}
	if o.Layout, err = parallel.ParseLayout(c.String("layout")); err != nil {
		return o, badUsage("--layout %v", err)
	}
	return o, nil
}

// expectation sets what --model describes, and how much of it is expected.
func expectation(c *cli.Context, o *comm.Options) error {
	path, calls := c.String("model"), c.String("theory") == "megatron"
	switch {
	case path == "" && calls:
		return badUsage("--theory megatron needs the model and the arguments of its training: --model FILE")
	case path == "":
		return nil
	}
	j, err := communication.ReadModel(path)
	if err != nil {
		return badInput(err)
	}
	if !calls {
		o.Model = &j.Model
		return nil
	}
	if o.Layout.IsGiven() {
		j = j.WithLayout(o.Layout)
	}
	if j, err = j.Complete(); err != nil {
		return badInput(input.At(input.Pos{File: path}, err))
	}
	o.Calls = &j
	return nil
}

// schedule writes what Megatron-LM calls, without a recording.
func (p *program) schedule(c *cli.Context, j *megatron.Job) error {
	switch {
	case j == nil:
		return badUsage("--show schedule is what --theory megatron expects: give it and --model FILE")
	case len(c.Args) > 0:
		return badUsage("--show schedule reads no recording: leave %s out, or --show schedule to compare", c.Args[0])
	}
	return p.publish(c, nil, func(to report.Output) error { return to.CommSchedule(j) })
}
