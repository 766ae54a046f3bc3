package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/profile"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/sources"
	"github.com/sfstat/sfstat/trace"
)

func (p *program) compareSourcesCommand() *cli.Command {
	return &cli.Command{
		Name: "compare-sources", Usage: "whether several recorders tell the same of one run", ArgsUsage: "FIRST OTHER...",
		Description: "Each argument is what one recorder saw of the same run: packets, a profiler's folder, an archive. All come down to " +
			"durations by step, stage and rank; the steps and ranks that all have are held against the first: how far shares of exposed " +
			"time differ, whether the stages to look into are the same, how large the files are. Stages of profilers are taken on the host.",
		Flags: join([]cli.Flag{
			choice("match", "which step of one source is which of another: of the same number, or the n-th of each", "number", "order"),
			stageMapFlag(), gatesFlag(),
			failOnDifferenceFlag(),
		}, resultFlags()),
		UsageText: `sfstat compare-sources packets/ nsight/
sfstat compare-sources packets.jsonl kineto/ nsight/ --format json
sfstat compare-sources run.parquet nsight/ --match order --fail-on ambiguous`,
		Action: p.compareSources,
	}
}

// failOnDifferenceFlag is failOnFlag where the finding is that sources differ.
func failOnDifferenceFlag() cli.Flag {
	f := choice("fail-on", "exit with 3 when the sources differ: in the stages to look into, or in any share beyond a tie too", "", "strong", "supported", "ambiguous")
	f.Category = forOutput
	return f
}

func (p *program) compareSources(c *cli.Context) error {
	as, err := format(c)
	if err != nil {
		return err
	}
	gates, err := loadGates(c)
	if err != nil {
		return err
	}
	if c.Args().Len() < 2 {
		return badUsage("%d sources, expected two or more: a file or a folder for each recorder", c.Args().Len())
	}
	o := sources.Options{Gates: &gates}
	if c.String("match") == sources.ByOrder.String() {
		o.Match = sources.ByOrder
	}
	var all []sources.Source
	for _, path := range c.Args().Slice() {
		s, err := p.source(c, path)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	comparison, err := sources.Compare(all, o)
	if err != nil {
		return badInput(err)
	}
	if err := p.emit(c, func(w io.Writer) error { return report.Sources(w, comparison, as, p.style(c)) }); err != nil {
		return err
	}
	return failOn(c, differing(comparison))
}

// source reads what one recorder saw. All of it must be good: a file that is
// left out would count as a difference.
func (p *program) source(c *cli.Context, path string) (sources.Source, error) {
	s := sources.Source{Name: path}
	in, err := p.readFrom(c, reading{names: []string{path}, want: auto.WindowsOnly, refusing: allOrNothing, timeline: profile.OnHost}, func(item auto.Item) error {
		s.Windows = append(s.Windows, item.Window)
		return nil
	})
	if err != nil {
		return s, err
	}
	for _, file := range in.read {
		switch {
		case file.Skipped != "" || file.Windows == 0:
		case file.Bytes == ingest.UnknownSize || s.Bytes < 0:
			s.Bytes = ingest.UnknownSize
		default:
			s.Bytes += file.Bytes
		}
		if file.Skipped == "" && file.Windows > 0 {
			s.Format = file.Format.String()
		}
	}
	if len(s.Windows) == 0 {
		return s, badInput(trace.At(trace.Pos{File: path}, trace.Bad(trace.ErrEmpty, "no windows in it")))
	}
	return s, nil
}

// differing reads a comparison as a finding.
func differing(c *sources.Comparison) diagnose.Confidence {
	for _, a := range c.Accounts[1:] {
		if !a.Held.SameRouting {
			return diagnose.Strong
		}
	}
	if !c.Agree() {
		return diagnose.Ambiguous
	}
	return diagnose.Insufficient
}
