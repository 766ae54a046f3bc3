package main

import "github.com/urfave/cli/v2"

// named is a command with all of its name: "diagnose", and "campaign run" of a
// group of commands.
type named struct {
	*cli.Command
	full string
}

// isGroup reports whether the command only holds others.
func (n named) isGroup() bool { return n.Command != nil && len(n.Subcommands) > 0 }

// lookUp follows words down from the program, as far as they name commands.
// The command is nil where the first names none.
func lookUp(app *cli.App, words []string) (found named, rest []string) {
	if len(words) == 0 {
		return named{}, nil
	}
	found = named{app.Command(words[0]), words[0]}
	if found.Command == nil {
		return named{}, words
	}
	rest = words[1:]
	for len(rest) > 0 {
		sub := found.Command.Command(rest[0])
		if sub == nil {
			break
		}
		found, rest = named{sub, found.full + " " + sub.Name}, rest[1:]
	}
	return found, rest
}

// working are the commands that do something, groups replaced by theirs.
func working(app *cli.App) []named {
	var out []named
	for _, c := range app.Commands {
		if len(c.Subcommands) == 0 {
			out = append(out, named{c, c.Name})
		}
		for _, sub := range c.Subcommands {
			out = append(out, named{sub, c.Name + " " + sub.Name})
		}
	}
	return out
}

// visibleNames are what may be typed after the program, or after a group.
func visibleNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}
