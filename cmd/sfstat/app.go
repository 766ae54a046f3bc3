package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/objectstore"
)

// app describes the whole command line. cli/v2 parses flags and dispatches;
// help, errors, completion and the order of arguments are ours.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:  "sfstat",
		Usage: "find which rank and stage slow down a training job, why, and what fixing it would save",
		Description: "sfstat reads the recordings of a distributed training job: packets (JSON Lines), window archives " +
			"(Parquet), wide CSV, operator traces (CSV, Parquet), PyTorch profiler traces and Flight Recorder dumps, XPlane profiles of JAX and TensorFlow, Nsight Systems exports (SQLite), NCCL debug logs and Inspector dumps, compressed or not, or folders of them. It reports where the exposed time went, " +
			"which rank the others waited for, and how certain that is.",
		Commands: slices.Concat(
			group("Commands", p.diagnoseCommand(), p.reportCommand(), p.compareCommand(), p.inspectCommand(), p.convertCommand()),
			group("Running jobs and archives", p.doctorCommand(), p.sampleCommand(), p.watchCommand(), p.serveCommand(), p.hangCommand(), p.batchCommand()),
			group("One question at a time", p.frontierCommand(), p.commCommand(), p.arrivalsCommand(), p.ksCommand(), p.zscoreCommand(), p.blameCommand(), p.whatifCommand(), p.overheadCommand()),
			group("Evaluation", p.campaignCommand(), p.simulateCommand(), p.selfcheckCommand()),
			group("This program", p.schemaCommand()),
			[]*cli.Command{p.completionCommand(), p.completeCommand()},
		),
		Flags:  programFlags(),
		Action: p.printEffectiveGates,
		Writer: p.out, ErrWriter: p.err, Reader: p.in,
		HideHelp: true, HideVersion: true,
		ExitErrHandler: func(*cli.Context, error) {}, // exit codes are decided in carryOut
	}
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return flagError(app, named{}, err) }
	for _, c := range app.Commands {
		c.HideHelp = true
	}
	for _, c := range working(app) {
		c.HideHelp = true
		c.Before = p.noteInputs
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return flagError(app, c, err) }
	}
	return app
}

// group puts commands under a heading of the help.
func group(heading string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = heading
	}
	return commands
}

// dispatch answers the requests that are no command and runs those that are.
func (p *program) dispatch(ctx context.Context, app *cli.App, req request) error {
	switch {
	case req.version:
		return p.writeTo("", versionText)
	case req.help:
		text := appHelp(p.helpWidth(), app)
		if req.command == flagsTopic {
			text = flagsHelp(p.helpWidth(), app)
		} else if command, _ := lookUp(app, strings.Fields(req.command)); command.Command != nil {
			text = commandHelp(p.helpWidth(), command, commonFlags(app))
		}
		return p.writeTo("", func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	case req.args == nil:
		p.say("%s", strings.TrimRight(appHelp(p.helpWidth(), app), "\n"))
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
		return nil, badUsage("needs a file or folder; - reads standard input (see %s --help)", c.Command.HelpName)
	}
	var local []string
	for _, name := range c.Args().Slice() {
		switch {
		case !objectstore.Is(name):
			local = append(local, name)
		case c.Command.Name != "batch" || c.Bool("summarize"):
			return nil, badUsage("%s is in an object store, from which only sfstat batch reads: copy it to a file", name)
		}
	}
	return c.Args().Slice(), there(local)
}

// there refuses paths that lead nowhere before anything is read: who typed one
// wants to know, also beside good ones.
func there(names []string) error {
	var missing []error
	for i, path := range names {
		if path != ingest.Stdin {
			if _, err := os.Stat(path); err != nil {
				missing = append(missing, ingest.Unreadable(path, err))
			}
		} else if slices.Contains(names[:i], path) {
			return badUsage("standard input (-) can be read once")
		}
	}
	if n := len(missing) - 1; n > 0 {
		return badInput(fmt.Errorf("%w; nor can %s be read", missing[0], counted(n, "other path")))
	}
	return badInput(errors.Join(missing...))
}
