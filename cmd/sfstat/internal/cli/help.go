package cli

import (
	"cmp"
	"slices"
	"strings"
)

// Help explains the program, the command of a full name, or FlagsTopic, in lines of so many columns.
func (a *App) Help(width int, of string) string {
	h := &helpWriter{width: width}
	switch c := a.Command(of); {
	case of == FlagsTopic:
		a.flagsHelp(h)
	case c != nil:
		a.commandHelp(h, c)
	default:
		a.help(h)
	}
	return h.String()
}

func (a *App) help(h *helpWriter) {
	h.lines(a.Name + ": " + a.Usage)
	h.paragraph(a.About)
	h.heading("Usage")
	for _, call := range a.Calls {
		h.line("  %s", call)
	}
	heading := ""
	var rows [][2]string
	for i, c := range append(a.first(), &Command{}) {
		if c.In != heading && i > 0 {
			h.heading(heading)
			h.table(rows)
			rows = nil
		}
		heading, rows = c.In, append(rows, [2]string{c.Name, c.Usage})
	}
	h.heading("Flags")
	h.table(append([][2]string{{"-h, --help", "explain the program or a command"}, {"-V, --version", "print the version"}}, rowsOf(flagsUnder("", a.program.Flags))...))
	for _, s := range a.Sections {
		h.heading(s.Heading)
		h.table(s.Rows)
	}
}

// sharedBy is from how many commands on a flag is explained once for all of them.
const sharedBy = 4

// common returns the flags that many commands share word for word, by name.
func (a *App) common() (flags []*Flag) {
	count := make(map[[2]string]int)
	for _, c := range a.Runnable() {
		for _, f := range c.Flags {
			row := f.row()
			if count[row]++; count[row] == sharedBy {
				flags = append(flags, f)
			}
		}
	}
	slices.SortFunc(flags, func(a, b *Flag) int { return cmp.Compare(a.Name, b.Name) })
	return flags
}

// flagsHelp explains the flags that commands have in common.
func (a *App) flagsHelp(h *helpWriter) {
	h.lines("sfstat help " + FlagsTopic + ": what the flags mean that most commands have; --help of a command says which it has")
	a.flagTables(h, a.common())
}

// flagTables writes a table for each heading of flags, in the order in which the table of commands first has them.
func (a *App) flagTables(h *helpWriter, flags []*Flag) {
	for _, heading := range headings {
		if of := flagsUnder(heading, flags); len(of) > 0 {
			h.heading(cmp.Or(heading, "Flags"))
			h.table(rowsOf(of))
		}
	}
}

// flagsUnder returns the flags of a heading.
func flagsUnder(heading string, flags []*Flag) []*Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *Flag) bool { return f.In != heading })
}

// headings of flags, in order.
var headings = []string{"", "Without --operators", "With --operators", "Input", "Output"}

// commandHelp writes the help of a command or a group. Common flags are named, and explained elsewhere.
func (a *App) commandHelp(h *helpWriter, c *Command) {
	h.lines("sfstat " + c.Name + ": " + c.Usage)
	h.paragraph(c.About)
	usage := "\nUsage: sfstat " + c.Name
	switch {
	case c.group != nil:
		usage += " COMMAND [FLAGS] [ARGUMENTS]"
	case len(c.Flags) > 0:
		usage += " [FLAGS]"
	}
	h.line("%s", strings.TrimRight(usage+" "+c.Arguments, " "))
	if c.group != nil {
		var rows [][2]string
		for _, each := range c.group {
			rows = append(rows, [2]string{each.Word(), each.Usage})
		}
		h.heading("Commands")
		h.table(rows)
	}
	var own []*Flag
	also := make(map[string][]string) // common ones, by heading
	common := rowsOf(a.common())
	for _, f := range c.Flags {
		if slices.Contains(common, f.row()) {
			also[f.In] = append(also[f.In], addDashes(f.Name))
		} else {
			own = append(own, f)
		}
	}
	a.flagTables(h, own)
	if len(also) > 0 {
		h.heading("Explained by sfstat help " + FlagsTopic)
		names := ""
		for _, heading := range headings {
			names += strings.Join(append(also[heading], ""), " ")
		}
		h.lines("  " + names)
	}
	if c.Examples != "" {
		h.heading("Examples")
		for line := range strings.Lines(c.Examples) {
			h.example(strings.TrimRight(line, "\n"))
		}
	}
}

// placeholder returns the word for the value of a flag, and its usage without the marks around the word.
func (f *Flag) placeholder() (name, text string) {
	before, rest, ok := strings.Cut(f.Usage, "`")
	if !ok {
		return "", f.Usage
	}
	name, after, _ := strings.Cut(rest, "`")
	return name, before + name + after
}

// row returns a flag with its aliases and a word for its value, and its meaning.
func (f *Flag) row() [2]string {
	left := addDashes(f.Name)
	if f.Short != "" {
		left = addDashes(f.Short) + ", " + left
	}
	value, text := f.placeholder()
	if f.takesValue() {
		left += " " + cmp.Or(strings.Join(f.Choices, "|"), value, "VALUE")
	}
	if f.Default != "" {
		text += " (default " + f.Default + ")"
	}
	return [2]string{left, text}
}

func rowsOf(flags []*Flag) (rows [][2]string) {
	for _, f := range flags {
		rows = append(rows, f.row())
	}
	return rows
}
