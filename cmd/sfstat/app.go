package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/sample"
)

//go:embed commands.yaml
var commandTable []byte

// forInput is the heading of flags that say what is read.
const forInput = "Input"

// app returns the whole command line: the table of commands with their actions.
func (p *program) app() *cli.App {
	app, err := cli.Load(commandTable)
	if err != nil {
		panic(fmt.Sprintf("commands.yaml: %v", err))
	}
	for name, run := range map[string]func(*cli.Context) error{
		"": p.printEffectiveGates, "diagnose": p.diagnose, "report": p.report, "compare": p.compare, "inspect": p.inspect, "convert": p.convert,
		"doctor": p.doctor, "sample": p.sample, "watch": p.watch, "serve": p.serve, "hang": p.hang, "batch": p.batch,
		"frontier": p.frontier, "comm": p.comm, "arrivals": p.arrivals, "ks": p.ks, "zscore": p.zscore, "blame": p.blame, "whatif": p.whatif,
		"overhead": p.overhead, "campaign run": p.campaignRun, "campaign report": p.campaignReport, "campaign sources": p.campaignSources,
		"simulate": p.simulate, "selfcheck": p.selfcheck, "schema": p.schema, "completion": p.completion,
		"__complete": func(c *cli.Context) error { return p.complete(app, c) },
	} {
		app.SetAction(name, run)
	}
	return app
}

// dispatch answers the requests that are no command and runs those that are.
func (p *program) dispatch(ctx context.Context, app *cli.App, req cli.Request) error {
	c := req.Context(ctx)
	switch {
	case req.Version:
		return p.writeTo("", versionText)
	case req.Help:
		text := app.Help(p.helpWidth(), req.Name)
		if req.Name == "sample" { // which the manual page of all builds does not know
			text += "\n" + sample.Built + "\n"
		}
		return p.print(text)
	case c == nil:
		p.say("%s", strings.TrimRight(app.Help(p.helpWidth(), ""), "\n"))
		return badUsage("no command given")
	}
	if err := p.noteInputs(c); err != nil {
		return err
	}
	return c.Command.Run(c)
}

// print writes a text to standard output.
func (p *program) print(text string) error {
	return p.writeTo("", func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// The scripts ask the hidden command "__complete" for the candidates, so that
// they never fall behind the program.
var (
	//go:embed completion/sfstat.bash
	bashScript string
	//go:embed completion/sfstat.zsh
	zshScript string
	//go:embed completion/sfstat.fish
	fishScript string
)

var shells = []string{"bash", "zsh", "fish"}

func (p *program) completion(c *cli.Context) error {
	if len(c.Args) != 1 || !slices.Contains(shells, c.Args[0]) {
		return badUsage("needs one shell, %s", cli.OrList(shells))
	}
	return p.print(map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Args[0]])
}

// complete answers the completion scripts: given the words after "sfstat" up to the cursor, it prints a line for each candidate,
// the word and after a tab what it means.
func (p *program) complete(app *cli.App, c *cli.Context) error {
	var lines strings.Builder
	for _, each := range app.Candidates(c.Args, map[string][]string{"completion": shells, "schema": report.SchemaNames()}) {
		fmt.Fprintf(&lines, "%s\t%s\n", each.Word, each.Meaning)
	}
	return p.print(lines.String())
}

// refuseOperands refuses arguments of a command that takes none.
func refuseOperands(c *cli.Context) error {
	if len(c.Args) > 0 {
		return badUsage("takes no arguments, found %q", c.Args[0])
	}
	return nil
}

// paths returns the inputs of a command that reads.
func paths(c *cli.Context) ([]string, error) {
	if len(c.Args) == 0 {
		return nil, badUsage("needs a file or folder; - reads standard input (see %s --help)", c.Title())
	}
	var local []string
	for _, name := range c.Args {
		switch {
		case !objectstore.IsURL(name):
			local = append(local, name)
		case c.Command.Name != "batch" || c.Bool("summarize"):
			return nil, badUsage("%s is in an object store, from which only sfstat batch reads: copy it to a file", name)
		}
	}
	return c.Args, checkExist(local)
}

// checkExist refuses paths that lead nowhere before anything is read: who typed one
// wants to know, also beside good ones.
func checkExist(names []string) error {
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
		return badInput(fmt.Errorf("%w; nor can %s be read", missing[0], table.Counted(n, "other path")))
	}
	return badInput(errors.Join(missing...))
}
