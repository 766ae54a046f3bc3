package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/report"
)

func (p *program) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "describe the JSON that a command writes, as a JSON Schema", ArgsUsage: "[NAME]",
		Description: "With --format json a command writes one object that begins with its schema, such as \"sfstat.verdict/3\". This prints " +
			"that schema: every field with its type and meaning, every name that a field may hold. Without NAME it lists the schemas.",
		Flags: join([]cli.Flag{outputFlag("write to `FILE` instead of standard output")}, screenFlags()),
		UsageText: `sfstat schema
sfstat schema verdict
sfstat schema verdict | jq '."$defs".finding.properties.gain'`,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return p.publish(c, nil, report.Output.Schemas)
			}
			name, names := c.Args().First(), report.SchemaNames()
			if c.NArg() != 1 || !slices.Contains(names, name) {
				return badUsage("needs one schema, %s", orList(names))
			}
			return p.publish(c, nil, func(to report.Output) error { return to.Schema(name) })
		},
	}
}
