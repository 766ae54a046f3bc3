package main

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/sfstat/sfstat/archive/calls"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/eval/campaign/communication"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/comms"
)

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
	in, err := p.readFrom(c, what, func(item auto.Item) error {
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
	if _, err := makeFolder(folder); err != nil {
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

// callsFormat is how the table of calls is written, by the name of its file.
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

// commModel is what --model describes, nil without it.
func commModel(c *cli.Context) (*volume.Model, error) {
	path := c.String("model")
	if path == "" {
		return nil, nil
	}
	m, err := communication.ReadModel(path)
	if err != nil {
		return nil, badInput(err)
	}
	return &m, nil
}
