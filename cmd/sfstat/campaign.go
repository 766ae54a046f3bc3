package main

import (
	"errors"
	"fmt"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/slurm"
	"github.com/sfstat/sfstat/internal/table"
)

func (p *program) campaignRun(c *cli.Context) error {
	path, err := singleOperand(c, "SPEC.yaml")
	if err != nil {
		return err
	}
	dir := c.String("output")
	if dir == "" || dir == "-" {
		return badUsage("needs -o FOLDER, where the campaign is kept")
	}
	spec, err := readSpec(p, path, campaign.ParseSpec)
	if err != nil {
		return err
	}
	e, err := executionOf(c, dir, spec)
	if err != nil {
		return err
	}
	e.Create, e.Disk = p.outputs.create, p.disk
	if show := p.showProgress(c, makingRuns); show != nil {
		e.Progress = func(done, total int) { show(int64(done), int64(total)) }
	}
	p.windsDown.Store(true)
	o, err := campaign.Execute(c.Context, dir, spec, e)
	p.hideProgress()
	var dry *slurm.NotSubmitted
	switch {
	case err == nil:
		return p.tellOutcome(c, o)
	case c.Context.Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %s done; the same command goes on from there",
			o.Made+o.Stood, table.Counted(o.Made+o.Stood+o.Wanting, "run"))}
	case errors.As(err, &dry):
		p.remark(c, "%s of %s written to %s, not submitted", table.Counted(dry.Batches, "array"), table.Counted(dry.Runs, "run"), dry.Dir)
		return nil
	case spec.Runner != campaign.Simulator: // the machine or the cluster is the user's
		return badInput(err)
	}
	return err
}

// tellOutcome reports the outcome of a campaign and fails where a run failed.
func (p *program) tellOutcome(c *cli.Context, o campaign.Outcome) error {
	for _, f := range o.Failed {
		p.say("%s: %s", prefix("campaign run"), oneLine(f))
	}
	again := ""
	if o.Changed > 0 {
		again = fmt.Sprintf(", %d of them anew: specification, version or archive had changed", o.Changed)
	}
	p.remark(c, "%s made%s; %d stood", table.Counted(o.Made, "run"), again, o.Stood)
	if n := len(o.Failed); n > 0 {
		return badInput(fmt.Errorf("%s could not be made; the same command tries again", table.Counted(n, "run")))
	}
	return nil
}

// singleOperand returns the argument of a command that takes one.
func singleOperand(c *cli.Context, what string) (string, error) {
	if len(c.Args) != 1 {
		return "", badUsage("needs one %s, found %s", what, table.Counted(len(c.Args), "argument"))
	}
	return c.Args[0], nil
}
