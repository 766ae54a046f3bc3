package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/input"
)

func (p *program) breakdownCommand() *cli.Command {
	d := breakdown.DefaultOptions()
	return &cli.Command{
		Name: "breakdown", Usage: "how accelerators spent their time: compute, communication, memory, idle", ArgsUsage: "PATH...",
		Description: "Divides the device time of profiler traces (PyTorch, Nsight Systems) as Holistic Trace Analysis does: compute, communication, " +
			"memory, idle, and the communication that no compute covers. Marks the ranks whose shares are unlike their peers'.",
		Flags: join([]cli.Flag{
			choice("by", "what a row is: a rank, or a step of a rank", "rank", "step"),
			shareFlag("alpha", d.Alpha, "`CHANCE` that any rank of a healthy run is marked"),
			stageMapFlag(), strictFlag(),
		}, selectionFlags("window"), resultFlags()),
		UsageText: `sfstat breakdown traces/
sfstat breakdown traces/ --by step --format csv
sfstat breakdown rank0.sqlite rank1.sqlite --format json | jq '.runs[].ranks[].idle_share'`,
		Action: p.breakdown,
	}
}

func (p *program) breakdown(c *cli.Context) error {
	o := breakdown.DefaultOptions()
	o.Alpha = shareOf(c, "alpha")
	all := report.Breakdowns{PerStep: c.String("by") == "step"}
	in, err := p.read(c, auto.DeviceOnly, func(item auto.Item) error {
		r, err := breakdown.Analyze(item.Device, o)
		if err != nil {
			return &unusable{report.Problem{Path: item.Path, Err: input.At(input.Pos{File: item.Path}, err)}}
		}
		all.Runs = append(all.Runs, r)
		return nil
	})
	if err != nil {
		return err
	}
	return p.publish(c, in.problems, func(to report.Output) error { return to.Breakdown(all) })
}
