package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/trace"
)

// targetFlags say where and how windows are written.
func targetFlags() []cli.Flag {
	to := choice("to", "what to write; without it the extension of the output says so", containerNames()...)
	to.Category = forOutput
	return []cli.Flag{
		outputFlag("write to `OUT`: a .jsonl, .csv or .parquet file (.gz and .zst compress the first two), - for standard output, or a folder with one file for each stage list"),
		to,
		&cli.BoolFlag{Name: "compact", Category: forOutput, Usage: "Parquet 5 to 12 % smaller, which DuckDB before 2.0 cannot read"},
	}
}

// encodings are those of the archives that a command writes.
func encodings(c *cli.Context) archive.Encodings {
	if c.Bool("compact") {
		return archive.Compact
	}
	return archive.Portable
}

func (p *program) convertCommand() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "rewrite windows as packets, wide CSV or a Parquet archive", ArgsUsage: "IN...",
		Description: "Durations, ranks, roles, side channels and notes are kept to the nanosecond. A CSV or Parquet file " +
			"holds windows of one stage list; give a folder when the inputs have several. The output is complete or not there.",
		Flags: join([]cli.Flag{strictFlag()}, targetFlags(), screenFlags()),
		UsageText: `sfstat convert rank*.jsonl -o run.parquet
sfstat convert run.parquet -o run.jsonl.zst
sfstat convert run.parquet -o - --to csv | head
sfstat convert runs/ -o archive/ --to parquet`,
		Action: p.convert,
	}
}

func (p *program) convert(c *cli.Context) error {
	if c.String("output") == "" {
		return badUsage("needs -o OUT; - writes to standard output")
	}
	t, err := newTarget(c.String("output"), c.String("to"))
	if err != nil {
		return err
	}
	t.encodings = encodings(c)
	s := newSink(p, t)
	windows := 0
	_, err = p.windows(c, func(w *trace.Window) error {
		windows++
		return s.Write(w)
	})
	var names []string
	if err == nil {
		names, err = s.Commit()
	}
	if err != nil {
		s.Discard()
		return err
	}
	if t.path != "-" {
		p.remark(c, "%s written to %s", counted(windows, "window"), strings.Join(names, ", "))
	}
	return nil
}
