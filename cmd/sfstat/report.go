package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/page/web"
	"github.com/sfstat/sfstat/report"
)

func (p *program) reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write the verdict with charts as one self-contained HTML page", ArgsUsage: "PATH...",
		Description: "Reads the same inputs as sfstat diagnose, and writes the verdict with charts of the steps, ranks, stages and hosts behind it as one HTML " +
			"file. The file needs no network and no installation. If there are too many ranks or steps to draw, it shows a selection and says which.",
		Flags: join(analysisFlags(), profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), timeZoneFlag(), strictFlag(), verdictFailOnFlag(), minGainFlag(), limitFlag(),
			outputFlag("write to `FILE` instead of standard output; it is written atomically")}, screenFlags()),
		UsageText: `sfstat report run/ -o report.html
sfstat report rank*.jsonl.zst --steps 100-299 -o report.html
sfstat report run/ --run job-42 > job-42.html`,
		Action: p.report,
	}
}

func (p *program) report(c *cli.Context) error {
	if _, onTerminal := terminal(p.destination(c)); onTerminal {
		return badUsage("writes HTML, which a terminal does not show: name a file (-o report.html)")
	}
	var pages *page.Builder
	j, err := p.judge(c, func(o frontier.Options) (seeing, error) {
		pages = page.New(o)
		var err error
		if pages.Limits, err = benchmarks(c); err != nil {
			return nil, err
		}
		return func(item auto.Item) error { return recordings(item, pages.Add) }, nil
	})
	if err != nil {
		return err
	}
	drawn, err := pages.Page(j.verdict)
	if err != nil {
		return badInput(err)
	}
	if err := p.left(c, j, drawn.Failed); err != nil {
		return err
	}
	if err := p.emit(c, func(w io.Writer) error { return document(j, drawn).Write(w) }); err != nil {
		return err
	}
	return failOnVerdict(c, j.verdict)
}

// document is the page of what was judged.
func document(j *judgement, drawn *page.Page) web.Document {
	to := report.Output{Problems: j.problems, Format: report.JSON}
	return web.Document{
		Version: thisVersion(), Words: to.VerdictHTML(j.verdict), Page: drawn,
		Verdict: func(w io.Writer) error {
			to.W = w
			if err := to.Verdict(j.verdict); err != nil {
				return fmt.Errorf("the JSON of the verdict: %w", err)
			}
			return nil
		},
	}
}
