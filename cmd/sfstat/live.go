package main

import (
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// liveInputs reads the flags that decide what is followed, and how it is read.
func (p *program) liveInputs(c *cli.Context, what reading) (o live.Options, err error) {
	if o.Paths, err = paths(c); err != nil {
		return o, err
	}
	choose, err := newChooser(c)
	if err != nil {
		return o, err
	}
	o.Disk = p.disk
	o.Select, o.Strict = choose.Selection, c.Bool("strict")
	o.Read = func(u *follow.Unit, each live.Each) (live.Inputs, error) {
		p.outputs.forget()
		what.names, what.unit = o.Paths, u
		return p.readFrom(c, what, func(j recorded.Job) error {
			return recordings(j, func(r trace.Recording) error { return each(j, r) })
		})
	}
	return o, nil
}

// liveVerdicts reads the flags that decide on verdicts too.
func (p *program) liveVerdicts(c *cli.Context) (live.Options, error) {
	if slices.Contains(c.Args, ingest.Stdin) {
		return live.Options{}, badUsage("follows files and folders, not standard input")
	}
	o, err := p.liveInputs(c, reading{joined: true})
	if err != nil {
		return o, err
	}
	o.Diagnosis, err = p.diagnosis(c)
	return o, err
}

// handSafely hands changes to each. A panic is said, and ends nothing.
func (p *program) handSafely(c *cli.Context, each func(live.Change) error) func(live.Change) error {
	return func(x live.Change) (err error) {
		where := x.Key
		if len(x.Read) > 0 {
			where = x.Read[0].Path
		}
		if panicked := bug.Guard(where, func() { err = each(x) }); panicked != nil {
			p.sayRefused(c, []report.Problem{{Path: where, Err: panicked}})
			return nil
		}
		return err
	}
}
