package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/report"
)

// The scripts ask the hidden command "__complete" for the candidates, so that
// they never fall behind the program. (Those that cli/v2 comes with need the
// bash-completion package and complete no values.)
var (
	//go:embed completion/sfstat.bash
	bashScript string
	//go:embed completion/sfstat.zsh
	zshScript string
	//go:embed completion/sfstat.fish
	fishScript string
)

var shells = []string{"bash", "zsh", "fish"}

func (p *program) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Hidden: true, Usage: "print a shell completion script", ArgsUsage: strings.Join(shells, "|"),
		Description: "Commands, flags and the values of flags complete at the prompt once the shell has read the script.",
		UsageText: `source <(sfstat completion bash)                               # in ~/.bashrc
source <(sfstat completion zsh)                                # in ~/.zshrc, after compinit
sfstat completion fish > ~/.config/fish/completions/sfstat.fish`,
		Action: func(c *cli.Context) error {
			script, known := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Args().First()]
			if !known || c.NArg() != 1 {
				return badUsage("needs one shell, %s", orList(shells))
			}
			return p.writeTo("", func(w io.Writer) error {
				_, err := io.WriteString(w, script)
				return err
			})
		},
	}
}

// completeCommand answers the completion scripts: given the words after
// "sfstat" up to the cursor, it prints a line for each candidate, the word and
// after a tab what it means. No line means: complete file names.
func (p *program) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true,
		Action: func(c *cli.Context) error {
			return p.writeTo("", func(w io.Writer) error {
				for _, each := range candidates(c.App, c.Args().Slice()) {
					if _, err := fmt.Fprintf(w, "%s\t%s\n", each.word, each.meaning); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

type candidate struct{ word, meaning string }

// candidates for the last of the words.
func candidates(app *cli.App, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	scanned := scan(app, before)
	operands := scanned.operands
	if len(operands) > 0 && operands[0] == "help" {
		operands = operands[1:]
	}
	found, operands := lookUp(app, operands)
	command := found.Command
	var all []candidate
	switch flag, value, inline := strings.Cut(last, "="); {
	case scanned.pending != "":
		all = values(findFlag(app, command, scanned.pending), "")
	case slices.Contains(before, "--"):
	case inline && strings.HasPrefix(flag, "--"):
		last = flag + "=" + value
		all = values(findFlag(app, command, strings.TrimLeft(flag, "-")), flag+"=")
	case strings.HasPrefix(last, "-"):
		all = flagCandidates(command)
	case command == nil:
		all = commandCandidates(app.Commands)
	case len(command.Subcommands) > 0 && len(operands) == 0:
		all = commandCandidates(command.Subcommands)
	case command.Name == "completion" && len(operands) == 0:
		all = wordCandidates(shells)
	case command.Name == "schema" && len(operands) == 0:
		all = wordCandidates(report.SchemaNames())
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, last) })
}

func wordCandidates(words []string) (all []candidate) {
	for _, w := range words {
		all = append(all, candidate{w, ""})
	}
	return all
}

func commandCandidates(commands []*cli.Command) []candidate {
	var all []candidate
	for _, c := range commands {
		if !c.Hidden {
			all = append(all, candidate{c.Name, c.Usage})
		}
	}
	return all
}

func flagCandidates(command *cli.Command) []candidate {
	all := []candidate{{"--help", "explain"}}
	if command == nil {
		return append(all, candidate{"--version", "print the version"}, candidate{"--" + printGates, "print the thresholds of labels"})
	}
	for _, f := range command.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok {
			_, meaning := placeholder(doc.GetUsage())
			all = append(all, candidate{dashed(f.Names()[0]), meaning})
		}
	}
	return all
}

// values are the choices of a flag; a flag without choices has none to offer.
func values(f cli.Flag, before string) []candidate {
	known, ok := f.(interface{ offers() []string })
	if !ok {
		return nil
	}
	var all []candidate
	for _, choice := range known.offers() {
		all = append(all, candidate{before + choice, ""})
	}
	return all
}
