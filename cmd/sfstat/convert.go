package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/ingest/auto"
)

// targetFlags say where and how windows are written.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		outputFlag("write to `OUT`: .jsonl, .csv or .parquet (.gz and .zst compress the first two), - for standard output, or a folder with a file for each run"),
		choiceFor(forOutput, choice("to", "what to write; else as OUT ends", containerNames()...)),
	}
}

func (p *program) convertCommand() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "rewrite windows and operator traces in another format", ArgsUsage: "IN...",
		Description: "Durations, ranks, roles, side channels and notes are kept to the nanosecond; epochs and arrivals go into a file " +
			"beside CSV and Parquet (OUT.arrivals.jsonl.zst), which is read with them. A CSV or Parquet file " +
			"holds windows of one stage list, or one operator trace, whose layout goes into a YAML file beside it; give a " +
			"folder when the inputs have several. Device times of profiler traces are not kept. The output is complete or not there.",
		Flags: join([]cli.Flag{
			&cli.BoolFlag{Name: "in-place", Category: forOutput, Usage: "let OUT be a file that is read; without -o, the only one"},
			strictFlag(),
		}, followFlags(), selectionFlags(), profileFlags(), targetFlags(), screenFlags()),
		UsageText: `sfstat convert rank*.jsonl -o run.parquet
sfstat convert run.parquet -o run.jsonl.zst
sfstat convert run.parquet -o - --to csv | head
sfstat convert runs/ -o archive/ --to parquet
sfstat convert run.parquet --in-place
sfstat convert --follow runs/ -o archive/`,
		Action: p.convert,
	}
}

func (p *program) convert(c *cli.Context) error {
	out := c.String("output")
	if out == "" && c.Bool("in-place") && c.NArg() == 1 {
		out = c.Args().First()
	}
	if out == "" {
		return badUsage("needs -o OUT; - writes to standard output")
	}
	if c.Bool("follow") {
		return p.convertFollowing(c, out)
	}
	for _, name := range []string{"once", "every"} {
		if c.IsSet(name) {
			return badUsage("--%s is for --follow", name)
		}
	}
	t, err := newTarget(out, c.String("to"))
	if err != nil {
		return err
	}
	if _, onTerminal := terminal(p.out); onTerminal && t.path == "-" && t.binary() {
		return badUsage("-o - is a terminal, and %s is not for people: name a file, or send it on (sfstat convert … -o - | …)", containers[t.container].name+t.pack)
	}
	s := newSink(p, t)
	windows, traces := 0, 0
	_, err = p.read(c, t.wanted(), func(item auto.Item) error {
		if item.Ops != nil {
			traces++
			return s.WriteTrace(item.Ops)
		}
		if d := item.Device; d != nil {
			s.remarks = append(s.remarks, fmt.Sprintf("device times of run %s are not kept: sfstat diagnose -v needs its traces", d.Run))
		}
		windows++
		return s.Write(item.Window)
	})
	var names []string
	if err == nil {
		names, err = s.Commit()
	}
	if err != nil {
		s.Discard()
		return err
	}
	for _, text := range s.remarks {
		p.remark(c, "%s", text)
	}
	if t.path != "-" {
		p.remark(c, "%s written to %s", converted(windows, traces), strings.Join(names, ", "))
	}
	return nil
}

// converted counts what was written, of both kinds where there are both.
func converted(windows, traces int) string {
	switch {
	case traces == 0:
		return counted(windows, "window")
	case windows == 0:
		return counted(traces, "operator trace")
	}
	return counted(windows, "window") + " and " + counted(traces, "operator trace")
}
