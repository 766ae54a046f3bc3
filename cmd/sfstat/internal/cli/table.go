// Package cli is a command line that a table describes. It puts words in the order in which urfave/cli reads them, says what is
// wrong with them and what was probably meant, explains commands on screens of any width, and completes words for shells.
//
// Flags may stand anywhere, before the command too; after "--" everything is an argument. A path where a command should be is
// given to the usual command. Whether a flag takes a value is the same in all commands that have it.
package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// App is a command line.
type App struct {
	Name     string
	Usage    string
	About    string
	Calls    []string // how it is called
	Usual    string   // the command that a path without one is given to
	Flags    []*Flag  // that stand without a command
	Sections []Section
	Shared   map[string][]*Flag // flags that commands take up
	Commands []*Command         // commands of a group come after it, under names such as "campaign run"

	program *Command // stands for the program where no command does
}

// Section is a table of the help of the program.
type Section struct {
	Heading string
	Rows    [][2]string
}

// Command is what a name does.
type Command struct {
	Name      string
	In        string // heading of the help under which it is listed
	Hidden    bool
	Usage     string // in a line
	Arguments string
	About     string
	Flags     []*Flag
	Examples  string // a line each
	// Run carries it out. A group has none.
	Run func(*Context) error `yaml:"-"`

	group []*Command
}

// Word returns the name of a command within its group.
func (c *Command) Word() string { return c.Name[strings.LastIndexByte(c.Name, ' ')+1:] }

// Flag is a flag of a command.
type Flag struct {
	Use      []string // in place of a flag: take up these of App.Shared
	Name     string
	Short    string
	Is       string   // what its value is (kinds); "": text
	Choices  []string // the values that it may have; "": any
	Offers   []string // how values begin, for completion
	Default  string
	Within   string // an interval, such as [0, inf), of numbers and of seconds
	Expected string // that interval in words
	In       string // heading of the help
	Usage    string // `NAME` in it names the value
	Instead  string // what to do where another command was meant to take it
}

func (f *Flag) hasName(name string) bool {
	return f != nil && (f.Name == name || f.Short == name && name != "")
}

// Value returns the word that usage has for the value.
func (f *Flag) Value() string {
	name, _ := f.placeholder()
	return name
}

// takesValue reports whether a value follows.
func (f *Flag) takesValue() bool { return f != nil && f.Is != "bool" }

// Load reads a table.
func Load(text []byte) (*App, error) {
	var a App
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&a); err != nil {
		return nil, err
	}
	a.program = &Command{Flags: a.Flags}
	for _, c := range append(a.Commands, a.program) {
		var err error
		if c.Flags, err = a.expand(c.Flags); err != nil {
			return nil, fmt.Errorf("command %q: %w", c.Name, err)
		}
		if group, _, found := strings.Cut(c.Name, " "); found {
			of := a.Command(group)
			of.group = append(of.group, c)
		}
	}
	return &a, nil
}

// expand takes up the flags that are shared.
func (a *App) expand(flags []*Flag) (out []*Flag, err error) {
	for _, f := range flags {
		for _, name := range f.Use {
			shared, found := a.Shared[name]
			if !found {
				return nil, fmt.Errorf("no flags are shared as %q", name)
			}
			more, err := a.expand(shared)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		if f.Use == nil {
			if _, err := f.value(f.Default); err != nil && f.Default != "" {
				return nil, fmt.Errorf("the default of %w", err)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// SetAction sets the action of a command; of "", that of the program without a command.
func (a *App) SetAction(name string, run func(*Context) error) {
	if name == "" {
		a.program.Run = run
		return
	}
	a.Command(name).Run = run
}

// Command returns the command of a full name, nil where there is none.
func (a *App) Command(name string) *Command {
	if i := slices.IndexFunc(a.Commands, func(c *Command) bool { return c.Name == name }); i >= 0 {
		return a.Commands[i]
	}
	return nil
}

// Runnable returns the commands with an action; groups have none.
func (a *App) Runnable() []*Command {
	return slices.DeleteFunc(slices.Clone(a.Commands), func(c *Command) bool { return c.group != nil })
}

// first returns the commands that may be typed after the program.
func (a *App) first() []*Command {
	return slices.DeleteFunc(slices.Clone(a.Commands), func(c *Command) bool { return c.Hidden || strings.Contains(c.Name, " ") })
}

// lookUp follows words as far as they name commands. Where the first names none, that is the program.
func (a *App) lookUp(words []string) (c *Command, rest []string) {
	for n := min(2, len(words)); n > 0; n-- {
		if c := a.Command(strings.Join(words[:n], " ")); c != nil {
			return c, words[n:]
		}
	}
	return a.program, words
}

// Flag returns the flag of a name, nil where there is none.
func (c *Command) Flag(name string) *Flag {
	if i := slices.IndexFunc(c.Flags, func(f *Flag) bool { return f.hasName(name) }); i >= 0 {
		return c.Flags[i]
	}
	return nil
}

// anywhere returns a flag of any command or of the program, nil where there is none.
func (a *App) anywhere(name string) *Flag {
	for _, c := range append(a.Runnable(), a.program) {
		if f := c.Flag(name); f != nil {
			return f
		}
	}
	return nil
}

// owners lists the commands that have the flag.
func (a *App) owners(name string) (of []string) {
	for _, c := range a.Runnable() {
		if !c.Hidden && c.Flag(name) != nil {
			of = append(of, c.Name)
		}
	}
	return of
}

func (c *Command) flagNames() (names []string) {
	for _, f := range c.Flags {
		names = append(names, f.Name)
	}
	return names
}

func wordsOf(commands []*Command) (words []string) {
	for _, c := range commands {
		words = append(words, c.Word())
	}
	return words
}
