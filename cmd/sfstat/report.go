package main

import (
	"fmt"
	"io"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/page/web"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) report(c *cli.Context) error {
	if _, onTerminal := terminal(p.destination(c)); onTerminal {
		return badUsage("writes HTML, which a terminal does not show: name a file (-o report.html)")
	}
	o, err := p.diagnosis(c)
	if err != nil {
		return err
	}
	pages := page.New(o.Frontier)
	pages.Limits = o.Benchmarks
	j, err := p.judge(c, o, func(j recorded.Job) error { return recordings(j, pages.Add) })
	if err != nil {
		return err
	}
	drawn, err := pages.Page(j.Verdict)
	if err != nil {
		return badInput(err)
	}
	if err := p.noteFailed(c, j, drawn.Failed); err != nil {
		return err
	}
	if err := p.emit(c, func(w io.Writer) error { return document(j, drawn).Write(w) }); err != nil {
		return err
	}
	return failOnVerdict(c, j.Verdict)
}

// document returns the page of the judged runs.
func document(j *live.Judgement, drawn *page.Page) web.Document {
	to := report.Output{Problems: j.Problems, Format: report.JSON}
	return web.Document{
		Version: programVersion(), Words: to.VerdictHTML(j.Verdict), Page: drawn,
		Verdict: func(w io.Writer) error {
			to.W = w
			if err := to.Verdict(j.Verdict); err != nil {
				return fmt.Errorf("the JSON of the verdict: %w", err)
			}
			return nil
		},
	}
}
