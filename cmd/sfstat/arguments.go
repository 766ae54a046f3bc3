package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest"
)

// request is a command line, understood as far as the command.
type request struct {
	command string   // its full name, "campaign run"; "" when none was named
	help    bool     // --help was asked for
	version bool     // --version was asked for
	args    []string // for cli: program, command, flags, "--", arguments; nil when no command was given
}

// arrange puts a command line into the order that cli/v2 expects: it stops at
// the first argument and would take "sfstat diagnose run --format json" for
// three files. Flags may stand anywhere, before the command too; after "--"
// everything is an argument. What is wrong with a flag is found by cli/v2, and
// told by flagError.
func arrange(app *cli.App, args []string) (request, error) {
	w := scan(app, args[min(1, len(args)):])
	req, operands := request{help: w.help, version: w.version}, w.operands
	if len(operands) > 0 && operands[0] == "help" {
		req.help, operands = true, operands[1:]
		if slices.Equal(operands, []string{flagsTopic}) {
			req.command = flagsTopic
			return req, nil
		}
	}
	if len(operands) > 0 && app.Command(operands[0]) == nil && isPath(operands[0]) {
		operands = slices.Insert(operands, 0, usual)
	}
	command, after := lookUp(app, operands)
	req.command = command.full
	switch {
	case w.pending != "":
		return req, w.valueless(app, command)
	case len(operands) == 0 && slices.Equal(w.flags, []string{"-v"}):
		req.version = true
		return req, nil
	case len(operands) == 0 && (req.help || req.version):
		return req, nil
	case len(operands) == 0 && slices.Contains(w.flags, "--"+printGates):
		req.args = slices.Insert(w.flags, 0, app.Name)
		return req, nil
	case command.Command == nil:
		if err := w.unowned(app); err != nil || len(operands) == 0 { // its value would be taken for the command
			return req, err
		}
		return req, unknownCommand(app, operands[0])
	case command.isGroup() && (len(after) > 0 || !req.help):
		return req, incomplete(command, after)
	case !req.help:
		req.args = slices.Concat([]string{app.Name}, strings.Fields(command.full), w.flags, []string{"--"}, after)
		return req, w.err
	}
	return req, nil
}

// scanned is the words of a command line by what they are.
type scanned struct {
	flags         []string // each with its value: "--format=json"
	operands      []string
	help, version bool   // were asked for
	pending       string // the last flag, if the value that it needs does not follow
	err           error  // a flag stands where the value of another should be
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
			name, value, found := flagIn(app, word)
			switch {
			case found:
			case name == "no-color": // of this and --color the last one counts
				name, value, found = "color", "never", true
			case !takesValue(app, name):
			case i+1 == len(words):
				s.pending = name
			default:
				i++
				value, found = words[i], true
				if next, _, _ := flagIn(app, value); value != "-" && strings.HasPrefix(value, "-") && len(owners(app, next)) > 0 {
					s.err = badUsage("flag %s needs a value, found the flag %s", dashed(name), value)
				}
			}
			if name = dashed(name); found {
				name += "=" + value
			}
			s.flags = append(s.flags, name)
		}
	}
	return s
}

// flagIn splits a word that begins with a dash. "-oFILE" is "-o FILE", unless a flag
// has that name.
func flagIn(app *cli.App, word string) (name, value string, found bool) {
	name, value, found = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	if single := !strings.HasPrefix(word, "--"); single && len(name) > 1 && len(owners(app, name)) == 0 && takesValue(app, name[:1]) {
		return name[:1], word[2:], true
	}
	return name, value, found
}

// valueless is about a flag at the end, which the command perhaps does not have.
func (s *scanned) valueless(app *cli.App, command named) error {
	if command.Command != nil && !command.isGroup() && flagNamed(command.Flags, s.pending) == nil {
		return unknownFlag(app, command, s.pending)
	}
	return badUsage("flag %s needs a value", dashed(s.pending))
}

// unowned refuses flags that nothing has.
func (s *scanned) unowned(app *cli.App) error {
	for _, word := range s.flags {
		if name, _, _ := flagIn(app, word); findFlag(app, nil, name) == nil {
			return unknownFlag(app, named{}, name)
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

// What the flag package says, which cli/v2 passes on.
const notDefined = "flag provided but not defined: -"

var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (.*) for (?:flag )?-([^:]*): (.*)$`)

// flagError says what is wrong with a flag of a command, of the program where that is
// nobody's, and what was probably meant.
func flagError(app *cli.App, c named, err error) error {
	see := strings.TrimSpace(c.full + " --help")
	text := err.Error()
	if found := badValue.FindStringSubmatch(text); found != nil {
		if expected := found[3]; strings.HasPrefix(expected, "expected ") {
			return badUsage("%s is %s, %s", dashed(found[2]), found[1], expected)
		}
		if c.Command != nil {
			if kind := kindOfValue(flagNamed(c.Flags, found[2])); kind != "" {
				return badUsage("%s is %s, expected %s", dashed(found[2]), found[1], kind)
			}
		}
		return badUsage("invalid value %s for %s: %s; see sfstat %s", found[1], dashed(found[2]), found[3], see)
	}
	if name, found := strings.CutPrefix(text, notDefined); found {
		return unknownFlag(app, c, name)
	}
	return badUsage("%s; see sfstat %s", text, see)
}

// kindOfValue is what a flag takes, in words; "" where that goes without saying.
func kindOfValue(f cli.Flag) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag, *cli.UintFlag, *cli.Uint64Flag:
		return "a whole number"
	case *cli.Float64Flag:
		return "a number"
	case *cli.DurationFlag:
		return "a time such as 500ms, 10s or 5m"
	case *cli.BoolFlag:
		return "true or false"
	}
	return ""
}

// unknownFlag says what was probably meant by a flag that a command, or the program
// where that is nobody's, does not have.
func unknownFlag(app *cli.App, c named, name string) error {
	flag, of := dashed(name), owners(app, name)
	if c.Command == nil {
		if len(of) > 0 {
			return badUsage("flag %s belongs to commands: give one; see sfstat --help", flag)
		}
		known := flagNames(app.Flags)
		for _, each := range working(app) {
			known = append(known, flagNames(each.Flags)...)
		}
		return badUsage("unknown flag %s%s; see sfstat --help", flag, suggestion(name, known, "--"))
	}
	switch as := chosenBy(c.Flags, name); {
	case as != "":
		return badUsage("unknown flag %s; did you mean --%s %s?", flag, as, name)
	case len(of) > 0:
		return badUsage("flag %s belongs to %s, not to %s", flag, strings.Join(of, ", "), c.full)
	case flagNamed(app.Flags, name) != nil:
		return badUsage("flag %s stands without a command: sfstat %s", flag, flag)
	}
	return badUsage("unknown flag %s%s; see sfstat %s --help", flag, suggestion(name, flagNames(c.Flags), "--"), c.full)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// takesValue reports whether the flag is followed by a value, which is so in all
// commands that have it or in none.
func takesValue(app *cli.App, name string) bool {
	f, ok := findFlag(app, nil, name).(cli.DocGenerationFlag)
	return ok && f.TakesValue()
}

// findFlag looks in the command, or in all of them when none is known.
func findFlag(app *cli.App, command *cli.Command, name string) cli.Flag {
	if command != nil {
		return flagNamed(command.Flags, name)
	}
	for _, c := range append(working(app), named{Command: &cli.Command{Flags: app.Flags}}) {
		if f := flagNamed(c.Flags, name); f != nil {
			return f
		}
	}
	return nil
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
	if i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }); i >= 0 {
		return flags[i]
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

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// near is the least similarity of words that are taken for each other.
const near = 0.8

// suggestion is "; did you mean …?" with the candidate that is most like what was
// typed (Jaro and Winkler's similarity), or nothing when none is near.
func suggestion(typed string, candidates []string, dashes string) string {
	best, most := "", near
	for _, c := range candidates {
		if like := smetrics.JaroWinkler(strings.ToLower(typed), c, 0.7, 4); like > most {
			best, most = c, like
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + dashes + best + "?"
}

// stageMeant is the suggestion for a stage that no window has: people leave off the
// words around its name.
func stageMeant(err error) string {
	var unknown *frontier.UnknownStageError
	if !errors.As(err, &unknown) {
		return ""
	}
	words := func(r rune) bool { return strings.ContainsRune("._@/", r) }
	best, most := "", near
	for _, stage := range unknown.Stages {
		for _, word := range append(strings.FieldsFunc(stage, words), stage) {
			if like := smetrics.JaroWinkler(strings.ToLower(unknown.Name), strings.ToLower(word), 0.7, 4); like > most {
				best, most = stage, like
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// orList writes choices as a person would: "text, json or csv".
func orList(choices []string) string {
	if len(choices) < 2 {
		return strings.Join(choices, "")
	}
	n := len(choices) - 1
	return strings.Join(choices[:n], ", ") + " or " + choices[n]
}
