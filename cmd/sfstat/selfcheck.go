package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/selfcheck"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

func (p *program) selfcheckCommand() *cli.Command {
	d := selfcheck.DefaultOptions()
	return &cli.Command{
		Name: "selfcheck", Usage: "check this build against proven identities and known results",
		Description: "Tries the identities and bounds of the method on random matrices, and its statements on inputs whose " +
			"answer is known, each beside the paper's figure where it gives one. Exits with 1 when a check fails.",
		Flags: join([]cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "seed of all randomness"},
			&cli.IntFlag{Name: "trials", Value: d.Trials, Usage: "random matrices for each check; simulated checks take 3 for every 10",
				Action: only("trials", func(n int) bool { return n >= 1 }, "1 or more")},
		}, resultFlags()),
		UsageText: `sfstat selfcheck
sfstat selfcheck --trials 10000 --seed 42
sfstat selfcheck --format json -o selfcheck.json`,
		Action: p.selfcheck,
	}
}

// checked is what --format json writes.
type checked struct {
	Seed   uint64          `json:"seed"`
	Trials int             `json:"trials"`
	Pass   bool            `json:"pass"`
	Rows   []selfcheck.Row `json:"rows"`
}

func (p *program) selfcheck(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	trials := c.Int("trials")
	o := selfcheck.Options{Seed: c.Uint64("seed"), Trials: trials, Simulated: max(1, trials*3/10)}
	o.Healthy = max(o.Simulated, selfcheck.DefaultOptions().Healthy)
	rows := selfcheck.Run(o)
	err := p.publish(c, nil, func(to report.Output) error {
		if to.Format == report.JSON {
			return to.JSON(checked{o.Seed, o.Trials, selfcheck.Passed(rows), rows})
		}
		return to.Tables(checkTable(rows))
	})
	if err == nil && !selfcheck.Passed(rows) {
		err = &exitError{exitInternal, errors.New("a check failed")}
	}
	return err
}

func checkTable(rows []selfcheck.Row) *table.Table {
	t := &table.Table{Columns: table.Words("check", "paper", "found", "pass")}
	for _, r := range rows {
		pass := "pass"
		if !r.Pass {
			pass = "FAIL"
		}
		t.Add(table.Texts(r.Check, r.Published, r.Found, pass)...)
	}
	return t
}
