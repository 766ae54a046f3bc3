package main

import (
	"context"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// app describes the whole command line. cli/v2 parses flags and dispatches;
// help, errors, completion and the order of arguments are ours.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:  "sfstat",
		Usage: "which rank, which stage made the group slow, why, and what mending it would buy",
		Description: "sfstat reads what a distributed training job recorded: packets (JSON Lines), window archives " +
			"(Parquet), wide CSV, operator traces (CSV, Parquet), compressed or not, PyTorch profiler traces (JSON), Nsight Systems exports (SQLite), NCCL's debug logs and Inspector dumps, or folders of them. It says where the exposed time went, " +
			"who made the others wait, and how sure that is.",
		Commands: []*cli.Command{
			p.diagnoseCommand(),
			p.frontierCommand(),
			p.ksCommand(),
			p.zscoreCommand(),
			p.blameCommand(),
			p.whatifCommand(),
			p.inspectCommand(),
			p.convertCommand(),
			p.simulateCommand(),
			p.simulateOpsCommand(),
			p.commCommand(),
			p.breakdownCommand(),
			p.compareSourcesCommand(),
			p.overheadCommand(),
			p.powerCommand(),
			p.scoreCommand(),
			p.campaignCommand(),
			p.selfcheckCommand(),
			p.gatesCommand(),
			p.versionCommand(),
			p.completionCommand(),
			p.helpCommand(),
			p.completeCommand(),
		},
		Writer: p.out, ErrWriter: p.err, Reader: p.in,
		HideHelp: true, HideVersion: true,
		ExitErrHandler: func(*cli.Context, error) {}, // exit codes are decided in carryOut
	}
	for _, c := range app.Commands {
		c.HideHelp = true
	}
	for _, c := range working(app) {
		c.HideHelp = true
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return flagError(c, err) }
	}
	return app
}

// flagError rewrites what the flag package says about a value.
func flagError(c named, err error) error {
	text := err.Error()
	for _, f := range c.Flags {
		for _, name := range f.Names() {
			text = strings.ReplaceAll(text, "for flag -"+name+":", "for "+dashed(name)+":")
		}
	}
	return badUsage("%s; see sfstat %s --help", text, c.full)
}

// dispatch answers the requests that are no command and runs those that are.
func (p *program) dispatch(ctx context.Context, app *cli.App, req request) error {
	switch {
	case req.version:
		return p.writeTo("", versionText)
	case req.help && req.command == "":
		return p.writeTo("", func(w io.Writer) error { return appHelp(w, app) })
	case req.help:
		return p.writeTo("", func(w io.Writer) error {
			command, _ := lookUp(app, strings.Fields(req.command))
			return commandHelp(w, command)
		})
	case req.command == "":
		if err := appHelp(p.err, app); err != nil {
			return err
		}
		return badUsage("no command given")
	}
	return app.RunContext(ctx, req.args)
}

// noOperands refuses arguments of a command that takes none.
func noOperands(c *cli.Context) error {
	if c.Args().Present() {
		return badUsage("takes no arguments, found %q", c.Args().First())
	}
	return nil
}

// paths are the inputs of a command that reads.
func paths(c *cli.Context) ([]string, error) {
	if !c.Args().Present() {
		return nil, badUsage("needs a file or folder; - reads standard input (see sfstat %s --help)", c.Command.Name)
	}
	seen := make(map[string]bool)
	for _, path := range c.Args().Slice() {
		if path == "-" && seen[path] {
			return nil, badUsage("standard input (-) can be read once")
		}
		seen[path] = true
	}
	return c.Args().Slice(), nil
}

func (p *program) helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "explain a command", ArgsUsage: "[COMMAND]",
		UsageText: "sfstat help diagnose",
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return p.writeTo("", func(w io.Writer) error { return appHelp(w, c.App) })
			}
			command, after := lookUp(c.App, c.Args().Slice())
			switch {
			case command.Command == nil:
				return unknownCommand(c.App, c.Args().First())
			case command.isGroup() && len(after) > 0:
				return incomplete(command, after)
			}
			return p.writeTo("", func(w io.Writer) error { return commandHelp(w, command) })
		},
	}
}

// needOne checks for exactly one argument out of a closed set.
func needOne(c *cli.Context, what string, choices []string) (string, error) {
	if c.NArg() != 1 {
		return "", badUsage("needs one %s: %s", what, orList(choices))
	}
	for _, choice := range choices {
		if choice == c.Args().First() {
			return choice, nil
		}
	}
	return "", badUsage("%s is %q, expected %s", what, c.Args().First(), orList(choices))
}
