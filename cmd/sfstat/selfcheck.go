package main

import (
	"errors"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/selfcheck"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/report"
)

// checked is what --format json writes.
type checked struct {
	Seed   uint64          `json:"seed"`
	Trials int             `json:"trials"`
	Pass   bool            `json:"pass"`
	Rows   []selfcheck.Row `json:"rows"`
}

func (p *program) selfcheck(c *cli.Context) error {
	if err := refuseOperands(c); err != nil {
		return err
	}
	o := selfcheck.Options{Seed: c.Uint64("seed"), Trials: c.Int("trials")}
	rows := selfcheck.Run(o)
	err := p.publish(c, nil, func(to report.Output) error {
		if to.Format == report.JSON {
			return publish.Write(to.W, checked{o.Seed, o.Trials, selfcheck.AllPassed(rows), rows})
		}
		return to.Tables(checkTable(rows))
	})
	if err == nil && !selfcheck.AllPassed(rows) {
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
