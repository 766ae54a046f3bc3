package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/batch"
	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/report"
)

func (p *program) batch(c *cli.Context) error {
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
			p.say("%s: %s: %s", c.Title(), r.Path, r.Error)
			if r.Bug != "" {
				p.note(&bug.Error{Where: r.Path, What: r.Error, Stack: []byte(r.Bug)})
			}
		}
	}
	if err != nil {
		return err
	}
	if o.Output.Path == "-" {
		return nil // the rows are there
	}
	return p.writeTo("", func(w io.Writer) error {
		return report.Output{W: w, Format: format(c), Style: p.styleOn(c, p.out)}.Batch(sum)
	})
}

// findings makes the rows, or gathers those that were made.
func (p *program) findings(c *cli.Context, names []string, o batch.Options) (*findings.Summary, error) {
	if c.Bool("summarize") {
		sum, err := batch.Gather(names, o)
		return sum, outputOr(err)
	}
	if show := p.showProgress(c, judging); show != nil {
		o.Progress = func(at batch.Progress) { show(at.Bytes, at.Total) }
	}
	if n := o.Threads; n > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	}
	// What is kept of a run's stretches is used again, so that a larger heap saves little time. A
	// limit would halve the speed wherever ranks are so many that a stretch needs more than it.
	defer debug.SetGCPercent(debug.SetGCPercent(75))
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
	o := batch.Options{Strict: c.Bool("strict"), Threads: c.Int("threads"), Disk: p.disk, Create: p.outputs.create, Objects: objectstore.New(os.Getenv), Output: batch.Output{Path: c.String("output"), Stdout: p.out}}
	gates, err := loadGates(c)
	if err != nil {
		return o, err
	}
	o.Diagnose = diagnose.Options{MinGain: c.Float64("min-gain")}
	o.Diagnose.Frontier.Gates = &gates
	o.Settings = fmt.Sprintf("%s gates %+v least gain %v", programVersion(), gates, o.Diagnose.MinGain)
	if c.Bool("resume") {
		o.Resume = batch.GoOn
	}
	if o.Shard, err = shardOf(c.String("shard")); err != nil {
		return o, err
	}
	if o.Windows, err = windowsOutput(c); err != nil {
		return o, err
	}
	switch o.Output.Path {
	case "":
		return o, nil
	case "-":
		o.Output.Format = flatrow.JSONLines
		return o, nil
	}
	if o.Output.Format, err = flatrow.FormatOf(o.Output.Path); err != nil {
		return o, badUsage("%v", err)
	}
	return o, keepRecording(o.Output.Path)
}

// windowsOutput returns where the table of windows goes.
func windowsOutput(c *cli.Context) (o batch.Output, err error) {
	o.Path = c.String("windows")
	switch {
	case o.Path == "":
		return o, nil
	case c.Bool("summarize"):
		return o, badUsage("--windows is of a batch that judges, and --summarize merges the findings of earlier ones: leave one out")
	case o.Path == c.String("output"):
		return o, badUsage("--windows and -o name the same file, %s: give each its own", o.Path)
	}
	if o.Format, err = flatrow.FormatOf(o.Path); err != nil {
		return o, badUsage("--windows: %v", err)
	}
	return o, keepRecording(o.Path)
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
