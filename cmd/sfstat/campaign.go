package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/slurm"
)

// campaignCommand is the group of commands about evaluations.
func (p *program) campaignCommand() *cli.Command {
	return &cli.Command{
		Name: "campaign", Usage: "run an evaluation from one file, and make the paper's tables and figures",
		Description: "An evaluation is a folder: the specification of its runs, what each recorded, a row for each of what was found, and the " +
			"tables and figures that follow.",
		Subcommands: []*cli.Command{
			p.campaignRunCommand(),
			p.campaignReportCommand(),
			p.campaignSourcesCommand(),
		},
		UsageText: `sfstat campaign run eval/campaign/specs/e3.yaml -o e3
sfstat campaign report e3`,
	}
}

func (p *program) campaignRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "make the runs of an evaluation that are not done yet", ArgsUsage: "SPEC.yaml",
		Description: "Makes every run that a specification lists, on the simulator, on this machine or on a cluster, and keeps for each an archive and a row: " +
			"what it hides, what the frontier, five simpler methods and the verdict say, and where that comes from. " +
			"What was done before with the same specification and version stands, so a campaign that was stopped goes on where it was.",
		Flags: join([]cli.Flag{
			&cli.StringFlag{Name: "python", Usage: "the interpreter `PYTHON` of real jobs, which has PyTorch; without it, that of SFSTAT_PYTHON, or python3"},
			&cli.BoolFlag{Name: "dry-run", Usage: "runner slurm: write what would be submitted, and submit nothing"},
			outputFlag("the `FOLDER` of the campaign, made if it is not there"),
		}, screenFlags()),
		UsageText: `sfstat campaign run eval/campaign/specs/e3.yaml -o e3
sfstat campaign report e3`,
		Action: p.campaignRun,
	}
}

func (p *program) campaignRun(c *cli.Context) error {
	path, err := onlyOperand(c, "SPEC.yaml")
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
	e.Create = p.outputs.create
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
			o.Made+o.Stood, counted(o.Made+o.Stood+o.Wanting, "run"))}
	case errors.As(err, &dry):
		p.remark(c, "%s of %s written to %s, not submitted", counted(dry.Batches, "array"), counted(dry.Runs, "run"), dry.Dir)
		return nil
	case spec.Runner != campaign.Simulator: // the machine or the cluster is the user's
		return badInput(err)
	}
	return err
}

// tellOutcome says what was made, and fails when not everything could be.
func (p *program) tellOutcome(c *cli.Context, o campaign.Outcome) error {
	for _, f := range o.Failed {
		p.say("%s: %s", prefix("campaign run"), oneLine(f))
	}
	again := ""
	if o.Changed > 0 {
		again = fmt.Sprintf(", %d of them anew: specification, version or archive had changed", o.Changed)
	}
	p.remark(c, "%s made%s; %d stood", counted(o.Made, "run"), again, o.Stood)
	if n := len(o.Failed); n > 0 {
		return badInput(fmt.Errorf("%s could not be made; the same command tries again", counted(n, "run")))
	}
	return nil
}

// onlyOperand is the argument of a command that takes one.
func onlyOperand(c *cli.Context, what string) (string, error) {
	if c.Args().Len() != 1 {
		return "", badUsage("needs one %s, found %s", what, counted(c.Args().Len(), "argument"))
	}
	return c.Args().First(), nil
}
