package main

import (
	"fmt"
	"io"

	"github.com/sfstat/sfstat/archive/timeline"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) convert(c *cli.Context) error {
	out := c.String("output")
	if out == "" && c.Bool("in-place") && len(c.Args) == 1 {
		out = c.Args[0]
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
	if c.String("to") == "perfetto" {
		return p.convertTimeline(c, out)
	}
	t, err := newTarget(out, c.String("to"))
	if err != nil {
		return err
	}
	if _, onTerminal := terminal(p.out); onTerminal && t.path == "-" && t.binary() {
		return badUsage("-o - is a terminal, and %s is not for people: name a file, or send it on (sfstat convert … -o - | …)", containers[t.container].name+t.pack)
	}
	return p.fill(c, t, func(s *sink) (string, error) {
		windows, traces := 0, 0
		_, err := p.readInputs(c, t.writable(), func(j recorded.Job) error {
			if d := j.Devices; d != nil {
				s.remarks = append(s.remarks, fmt.Sprintf("device times of run %s are not kept: sfstat diagnose -v needs its traces", d.Run))
			}
			windows += len(j.Windows)
			err := forTraces(j.Windows, s.Write)
			if err == nil && j.Operators != nil {
				traces++
				err = s.WriteTrace(j.Operators)
			}
			return err
		})
		return countWritten(windows, traces), err
	})
}

// convertTimeline writes the windows of all inputs as one timeline.
func (p *program) convertTimeline(c *cli.Context, out string) error {
	windows := 0
	err := p.writeTo(out, func(w io.Writer) error {
		t := timeline.New(w)
		_, err := p.readInputs(c, reading{kinds: auto.Windows}, func(j recorded.Job) error {
			windows += len(j.Windows)
			return forTraces(j.Windows, func(w *trace.Window) error { return windowError(w, t.Write(w)) })
		})
		if err != nil {
			return err
		}
		return t.Close()
	})
	if err == nil && out != "-" {
		p.remark(c, "%s written to %s: open it in ui.perfetto.dev", table.Counted(windows, "window"), out)
	}
	return err
}

// countWritten counts what was written, of both kinds where there are both.
func countWritten(windows, traces int) string {
	switch {
	case traces == 0:
		return table.Counted(windows, "window")
	case windows == 0:
		return table.Counted(traces, "operator trace")
	}
	return table.Counted(windows, "window") + " and " + table.Counted(traces, "operator trace")
}
