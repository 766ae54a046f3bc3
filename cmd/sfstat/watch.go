package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
)

func (p *program) watch(c *cli.Context) error {
	o, err := p.liveVerdicts(c)
	if err != nil {
		return err
	}
	to, err := newExporter(c)
	if err != nil {
		return err
	}
	p.dedupeMessages()
	w := watching{p: p, c: c, to: to, seen: live.Told{}, failed: badInput(errors.New("nothing in any input"))}
	w.out = &turns{w: p.out}
	if command := c.String("exec"); command != "" {
		w.hooks = newHooks(&w, command)
	}
	err = live.New(o).Follow(c.Context, c.Duration("every"), c.Duration("idle"), p.handSafely(c, w.reportJudged))
	w.hooks.end(err != nil)
	w.reportExportFailure(w.to.send(c.Context, nil, nil)) // what waits
	return cmp.Or(err, w.failed)
}

// watching is a command that follows.
type watching struct {
	p      *program
	c      *cli.Context
	to     exporter
	out    io.Writer
	hooks  *hooks // nil: none
	seen   live.Told
	failed error // what the command ends with, if it is idle; nil once a run was judged
}

// reportJudged prints the news of a unit. An unreadable input may be read the next time.
func (w *watching) reportJudged(x live.Change) error {
	switch {
	case x.Gone:
		return nil
	case x.Err != nil:
		if w.failed != nil {
			w.failed = badInput(x.Err)
		}
		w.p.note(x.Err)
		w.p.remark(w.c, "%s: %s", w.c.Title(), oneLine(x.Err))
		return nil
	}
	w.p.sayRefused(w.c, x.Refused)
	if len(x.Verdict.Runs) == 0 {
		return nil
	}
	w.failed = nil
	for _, n := range w.seen.News(x.Verdict) {
		if err := w.tell(&x.Judgement, n); err != nil {
			return err
		}
	}
	return failOnVerdict(w.c, x.Verdict)
}

// tell writes a line for each new window of a run, and its screen if its verdict
// is another than before.
func (w *watching) tell(j *live.Judgement, n live.News) error {
	var out bytes.Buffer
	to := report.Output{W: &out, Style: w.p.style(w.c)}
	for _, i := range n.Windows {
		if err := to.Window(n.Run, &n.Run.Windows[i]); err != nil {
			return err
		}
	}
	if n.Changed {
		out.WriteByte('\n')
		if err := to.Screen(n.Run); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	if _, err := w.out.Write(out.Bytes()); err != nil {
		return err
	}
	run := []diagnose.RunVerdict{*n.Run}
	if n.Changed {
		w.reportExportFailure(w.to.send(w.c.Context, run, run))
	} else {
		w.reportExportFailure(w.to.send(w.c.Context, run, nil))
	}
	if n.Changed && w.hooks != nil {
		return w.hooks.begin(j, n.Run)
	}
	return nil
}

// reportExportFailure prints that the collector did not receive the news; the program goes on.
func (w *watching) reportExportFailure(err error) {
	if err != nil && w.c.Context.Err() == nil {
		w.p.remark(w.c, "%s: --otlp: %s", w.c.Title(), oneLine(err))
	}
}
