package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/batch"
	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/report"
)

func (p *program) batchCommand() *cli.Command {
	return &cli.Command{
		Name: "batch", Usage: "every window and run of an archive: a table of findings, and what they come to", ArgsUsage: "PATH...",
		Description: "Judges all windows below folders on all cores, with the memory of a few windows, and writes a row for each finding and window. " +
			"The summary has the runs that lose most time, hosts that recur more than chance allows, stages and weeks. What was killed goes on with --resume, to the same bytes.",
		Flags: join([]cli.Flag{
			&cli.BoolFlag{Name: "resume", Usage: "go on with what an earlier batch of the same output left; without one, begin"},
			&cli.StringFlag{Name: "shard", Usage: "take part I of N of the work, as `I/N`; --summarize puts the outputs of all parts together"},
			&cli.BoolFlag{Name: "summarize", Usage: "the paths are outputs of earlier batches: summarize them, and write one output"},
			&cli.IntFlag{Name: "threads", Usage: "`N` threads; without it, as many as there are cores"},
			minGainFlag(), gatesFlag(),
			outputFlag("write the rows to `FILE`: .parquet, .csv or .jsonl, complete or not there; without it there is a summary alone"),
			batchFormatFlag(),
			&cli.IntFlag{Name: "width", Category: forOutput, Usage: "`N` columns of text, 40 or more; without it as COLUMNS says, or the terminal, or 80"},
		}, screenFlags()),
		UsageText: `sfstat batch runs/ -o findings.parquet
sfstat batch runs/ -o findings.parquet --resume
sfstat batch runs/ --shard 2/8 -o findings-2.parquet
sfstat batch --summarize findings-*.parquet -o findings.parquet`,
		Action: p.batch,
	}
}

func batchFormatFlag() cli.Flag {
	f := choice("format", "how to write the summary", "text", "md")
	f.Category = forOutput
	return f
}

func (p *program) batch(c *cli.Context) error {
	as, err := format(c)
	if err != nil {
		return err
	}
	names, err := paths(c)
	if err != nil {
		return err
	}
	o, err := p.batchOptions(c)
	if err != nil {
		return err
	}
	sum, err := p.findings(c, names, o)
	if sum != nil {
		for _, r := range sum.Refused {
			p.say("%s: %s: %s", prefix(c.Command.Name), r.Path, r.Error)
		}
	}
	if err != nil {
		return err
	}
	if o.Output.Path == "-" {
		return nil // the rows are there
	}
	return buffered(p.out, func(w io.Writer) error { return report.Batch(w, sum, as, p.styleOn(c, p.out)) })
}

// findings makes the rows, or gathers those that were made.
func (p *program) findings(c *cli.Context, names []string, o batch.Options) (*findings.Summary, error) {
	if c.Bool("summarize") {
		sum, err := batch.Gather(names, o.Output, o.Create)
		return sum, outputOr(err)
	}
	if show := p.showProgress(c, judging); show != nil {
		o.Progress = func(at batch.Progress) { show(at.Bytes, at.Total) }
	}
	sum, err := batch.Run(c.Context, names, o)
	p.hideProgress()
	return sum, outputOr(err)
}

// outputOr makes an error of inputs or outputs one of bad input.
func outputOr(err error) error {
	if err == nil || errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return badInput(err)
}

func (p *program) batchOptions(c *cli.Context) (batch.Options, error) {
	o := batch.Options{Threads: c.Int("threads"), Create: p.outputs.create, Output: batch.Output{Path: c.String("output"), Stdout: p.out}}
	if o.Threads < 0 {
		return o, badUsage("--threads is %d, expected 1 or more", o.Threads)
	}
	gates, err := loadGates(c)
	if err != nil {
		return o, err
	}
	o.Diagnose = diagnose.Options{MinGain: c.Float64("min-gain")}
	o.Diagnose.Frontier.Gates = &gates
	o.Settings = fmt.Sprintf("%s gates %+v least gain %v", thisBuild().Version, gates, o.Diagnose.MinGain)
	if c.Bool("resume") {
		o.Resume = batch.GoOn
	}
	if o.Shard, err = shardOf(c.String("shard")); err != nil {
		return o, err
	}
	switch o.Output.Path {
	case "":
		return o, nil
	case "-":
		o.Output.Format = batch.JSONLines
		return o, nil
	}
	if o.Output.Format, err = batch.FormatOf(o.Output.Path); err != nil {
		return o, badUsage("%v", err)
	}
	return o, keepRecording(o.Output.Path)
}

// shardOf reads "2/8".
func shardOf(text string) (batch.Shard, error) {
	if text == "" {
		return batch.Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err != nil || err2 != nil || index < 1 || index > of {
		return batch.Shard{}, badUsage("--shard is %q, expected I/N with I from 1 to N, such as 2/8", text)
	}
	return batch.Shard{Index: index - 1, Of: of}, nil
}
