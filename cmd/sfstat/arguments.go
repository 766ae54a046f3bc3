package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/ingest"
)

// request is a command line, understood as far as the command and its flags.
type request struct {
	command string   // its full name, "campaign run"; "" when none was named
	help    bool     // --help was asked for
	version bool     // --version was asked for
	args    []string // for cli: program, command, flags, "--", arguments
}

// arrange puts a command line into the order that cli/v2 expects: it stops at
// the first argument and would take "sfstat diagnose run --format json" for
// three files. Flags may stand anywhere, before the command too; after "--"
// everything is an argument. What is not a flag of the command is refused
// here, with the nearest one that is.
func arrange(app *cli.App, args []string) (request, error) {
	words := scan(app, args[min(1, len(args)):])
	req, flags, operands := request{help: words.help, version: words.version}, words.flags, words.operands
	if words.pending != nil {
		known, _ := lookUp(app, operands)
		return request{command: known.full}, words.pending.incomplete(app, known)
	}
	if len(operands) > 0 && app.Command(operands[0]) == nil && isPath(operands[0]) {
		operands = slices.Insert(operands, 0, usual)
	}
	command, after := lookUp(app, operands)
	req.command = command.full
	switch {
	case len(operands) == 0 && len(flags) == 1 && flags[0].name == "v":
		return req, badUsage("no command given; did you mean --version?")
	case len(operands) == 0:
		return req, strayFlags(app, flags)
	case command.Command == nil:
		if err := strayFlags(app, flags); err != nil { // its value would be taken for the command
			return req, err
		}
		return req, unknownCommand(app, operands[0])
	case req.help:
		return req, nil
	case command.isGroup():
		if err := strayFlags(app, flags); err != nil {
			return req, err
		}
		return req, incomplete(command, after)
	}
	req.args = append([]string{app.Name}, strings.Fields(command.full)...)
	for _, use := range flags {
		if err := use.check(app, command); err != nil {
			return req, err
		}
		req.args = append(req.args, use.tokens()...)
	}
	req.args = append(append(req.args, "--"), after...)
	return req, nil
}

// scanned is the words of a command line by what they are.
type scanned struct {
	flags         []flagUse
	operands      []string
	help, version bool     // were asked for
	pending       *flagUse // the last flag, if the value that it needs does not follow
}

func scan(app *cli.App, words []string) (s scanned) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--":
			s.operands = append(s.operands, words[i+1:]...)
			return s
		case word == "-" || !strings.HasPrefix(word, "-"):
			s.operands = append(s.operands, word)
		case slices.Contains([]string{"-h", "-help", "--help"}, word):
			s.help = true
		case slices.Contains([]string{"-V", "-version", "--version"}, word):
			s.version = true
		default:
			use := newFlagUse(word)
			use.detach(app)
			if use.inline == nil && takesValue(app, use.name) {
				if i++; i == len(words) {
					s.pending = &use
					return s
				}
				use.value = &words[i]
			}
			s.flags = append(s.flags, use)
		}
	}
	return s
}

// strayFlags refuses flags that no command has.
func strayFlags(app *cli.App, flags []flagUse) error {
	for _, use := range flags {
		if len(owners(app, use.name)) == 0 {
			return badUsage("unknown flag %s%s; see sfstat --help", use.shown(), suggestion(use.name, append(allFlagNames(app), "help", "version"), "--"))
		}
	}
	return nil
}

// usual is the command that a path without one is given to.
const usual = "diagnose"

// isPath reports whether a word where a command should be names an input. A
// file that has the name of a command is given as ./NAME.
func isPath(word string) bool {
	return word == ingest.Stdin || strings.ContainsAny(word, "./"+string(filepath.Separator)) || exists(word)
}

func unknownCommand(app *cli.App, name string) error {
	if like := suggestion(name, visibleNames(app.Commands), ""); like != "" {
		return badUsage("unknown command %q%s; see sfstat --help", name, like)
	}
	return badUsage("%q is no command, and no file or folder here; see sfstat --help", name)
}

// incomplete is about a group without one of its commands.
func incomplete(group named, after []string) error {
	names := visibleNames(group.Subcommands)
	if len(after) == 0 {
		return badUsage("needs a command: %s; see sfstat %s --help", orList(names), group.full)
	}
	return badUsage("%q is not a command of it, expected %s%s", after[0], orList(names), suggestion(after[0], names, ""))
}

// flagUse is a flag as it stands on the command line.
type flagUse struct {
	name   string
	single bool    // one dash before it
	inline *string // after "=", nil without
	value  *string // the next token, nil without
}

func newFlagUse(token string) flagUse {
	name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(token, "-"), "-"), "=")
	use := flagUse{name: name, single: !strings.HasPrefix(token, "--")}
	if found {
		use.inline = &value
	}
	return use
}

// detach takes "-oFILE" for "-o FILE", unless a flag has that name.
func (u *flagUse) detach(app *cli.App) {
	if !u.single || len(u.name) < 2 || len(owners(app, u.name)) > 0 || !takesValue(app, u.name[:1]) {
		return
	}
	value := u.name[1:]
	if u.inline != nil {
		value += "=" + *u.inline
	}
	u.name, u.inline = u.name[:1], &value
}

// shown is the flag as a person types it.
func (u flagUse) shown() string { return dashed(u.name) }

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// tokens are what cli/v2 reads. Of --color and --no-color the last one wins.
func (u flagUse) tokens() []string {
	if u.name == "no-color" && u.inline == nil {
		return []string{"--color=never"}
	}
	if u.value != nil {
		return []string{u.shown() + "=" + *u.value}
	}
	if u.inline != nil {
		return []string{u.shown() + "=" + *u.inline}
	}
	return []string{u.shown()}
}

// check refuses a flag that the command does not have, a missing value, and a
// value outside the flag's choices.
func (u flagUse) check(app *cli.App, c named) error {
	f := flagNamed(c.Flags, u.name)
	if f == nil {
		return u.unknown(app, c)
	}
	value := u.value
	if value == nil {
		value = u.inline
	} else if strings.HasPrefix(*value, "-") && flagNamed(c.Flags, newFlagUse(*value).name) != nil {
		return badUsage("flag %s needs a value, found the flag %s", u.shown(), *value)
	}
	if closed, ok := f.(*choiceFlag); ok && !slices.Contains(closed.choices, *value) {
		return badUsage("%s is %q, expected %s%s", u.shown(), *value, orList(closed.choices), suggestion(*value, closed.choices, ""))
	}
	return nil
}

// unknown refuses a flag that the command does not have, with what was probably meant.
func (u flagUse) unknown(app *cli.App, c named) error {
	if as := chosenBy(c.Flags, u.name); as != "" {
		return badUsage("unknown flag %s; did you mean --%s %s?", u.shown(), as, u.name)
	}
	if of := owners(app, u.name); len(of) > 0 {
		return badUsage("flag %s belongs to %s, not to %s", u.shown(), strings.Join(of, ", "), c.full)
	}
	return badUsage("unknown flag %s%s; see sfstat %s --help", u.shown(), suggestion(u.name, flagNames(c.Command), "--"), c.full)
}

// incomplete refuses a flag without the value that it needs, or one that the
// command, where that is known, does not have.
func (u flagUse) incomplete(app *cli.App, c named) error {
	if c.Command != nil && !c.isGroup() && flagNamed(c.Flags, u.name) == nil {
		return u.unknown(app, c)
	}
	return badUsage("flag %s needs a value", u.shown())
}

// takesValue reports whether the flag is followed by a value, which is so in all
// commands that have it or in none.
func takesValue(app *cli.App, name string) bool {
	return slices.ContainsFunc(working(app), func(c named) bool {
		f, ok := flagNamed(c.Flags, name).(cli.DocGenerationFlag)
		return ok && f.TakesValue()
	})
}

// chosenBy is the name of the flag that has a value as one of its choices, as --json
// stands for --format json in other programs; "" where none has.
func chosenBy(flags []cli.Flag, value string) string {
	for _, f := range flags {
		if closed, ok := f.(*choiceFlag); ok && slices.Contains(closed.choices, value) {
			return f.Names()[0]
		}
	}
	return ""
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// owners lists the commands that have the flag.
func owners(app *cli.App, name string) []string {
	var of []string
	for _, c := range working(app) {
		if !c.Hidden && flagNamed(c.Flags, name) != nil {
			of = append(of, c.full)
		}
	}
	return of
}

func flagNames(c *cli.Command) []string {
	var names []string
	for _, f := range c.Flags {
		names = append(names, f.Names()[0])
	}
	return names
}

func allFlagNames(app *cli.App) []string {
	var names []string
	for _, c := range working(app) {
		names = append(names, flagNames(c.Command)...)
	}
	return names
}
