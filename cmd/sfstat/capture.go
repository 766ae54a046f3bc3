package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/live"
)

func captureFlag() cli.Flag {
	return &cli.BoolFlag{Name: "capture", Usage: "when a verdict would have ranks profiled, write a capture plan beside the packets, which a recorder with a trigger takes up; three of a run at most"}
}

// capture asks for plans and says which were written.
func (p *program) capture(c *cli.Context, asked live.Captures, j *judgement) {
	if !c.Bool("capture") {
		return
	}
	for i := range j.verdict.Runs {
		path, err := asked.Ask(&j.verdict.Runs[i], j.read)
		switch {
		case err != nil:
			p.remark(c, "%s: --capture: %s", c.Command.HelpName, oneLine(err))
		case path != "":
			p.remark(c, "%s: capture plan written: %s", c.Command.HelpName, path)
		}
	}
}
