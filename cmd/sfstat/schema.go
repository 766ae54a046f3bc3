package main

import (
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/report"
)

func (p *program) schema(c *cli.Context) error {
	if len(c.Args) == 0 {
		return p.publish(c, nil, report.Output.Schemas)
	}
	name, names := c.Args[0], report.SchemaNames()
	if len(c.Args) != 1 || !slices.Contains(names, name) {
		return badUsage("needs one schema, %s", cli.OrList(names))
	}
	return p.publish(c, nil, func(to report.Output) error { return to.Schema(name) })
}
