package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Help is as wide as its screen within these bounds, in columns.
const narrowest, widest = 40, 100

func (p *program) helpWidth() int { return min(max(p.screen(p.out), narrowest), widest) }

// appHelp is the help of the program.
func appHelp(width int, app *cli.App) string {
	h := &helpWriter{width: width}
	h.lines(app.Name + ": " + app.Usage)
	h.paragraph(app.Description)
	h.heading("Usage")
	h.line("  sfstat PATH... [FLAGS]")
	h.line("  sfstat COMMAND [FLAGS] [ARGUMENTS]")
	for _, group := range byCategory(app.VisibleCommands()) {
		h.heading(group[0].Category)
		h.commands(group)
	}
	h.heading("Flags")
	h.table(append([][2]string{{"-h, --help", "explain the program or a command"}, {"-V, --version", "print the version"}}, flagRows(app.Flags, "")...))
	h.heading("First steps")
	h.table([][2]string{
		{"$ sfstat run/", "who was slow, where and why: sfstat diagnose run/, on everything in the folder"},
		{"$ sfstat inspect run/", "what the folder contains, and what is missing"},
		{"$ sfstat frontier run/", "one method's own answer; so do ks, zscore, blame and whatif"},
		{"$ sfstat diagnose --help", "flags and examples of a command"},
		{"$ sfstat help " + flagsTopic, "flags that most commands have"},
	})
	h.heading("Exit codes")
	h.table([][2]string{
		{"0", "done"},
		{"1", "a selfcheck failed, or an internal error"},
		{"2", "bad usage or bad input"},
		{"3", "a finding, with --fail-on"},
		{"130", "interrupted"},
	})
	h.heading("Environment")
	h.table([][2]string{
		{"COLUMNS", "width of text, as --width"},
		{"NO_COLOR", "no colour, unless --color always"},
		{"SFSTAT_DEBUG", "show where an internal error happened"},
	})
	return h.String()
}

// byCategory groups commands by their headings, in order.
func byCategory(commands []*cli.Command) (groups [][]*cli.Command) {
	for _, c := range commands {
		if n := len(groups) - 1; n >= 0 && groups[n][0].Category == c.Category {
			groups[n] = append(groups[n], c)
		} else {
			groups = append(groups, []*cli.Command{c})
		}
	}
	return groups
}

// flagsTopic is what help has besides commands: the flags that they have in common.
const flagsTopic = "flags"

// sharedBy is from how many commands on a flag is explained once for all of them.
const sharedBy = 4

// commonFlags are the flags that many commands have in the same words, by category.
func commonFlags(app *cli.App) map[string][][2]string {
	count := make(map[[2]string]int)
	out := make(map[string][][2]string)
	for _, c := range working(app) {
		if c.Hidden {
			continue
		}
		for _, category := range categories {
			for _, row := range flagRows(c.Flags, category) {
				if count[row]++; count[row] == sharedBy {
					out[category] = append(out[category], row)
				}
			}
		}
	}
	for _, rows := range out {
		slices.SortFunc(rows, func(a, b [2]string) int { return cmp.Compare(longName(a), longName(b)) })
	}
	return out
}

// longName is a flag of a row without its short name and its value: "--output".
func longName(row [2]string) string {
	_, name, _ := strings.Cut(" "+row[0], " --")
	name, _, _ = strings.Cut(name, " ")
	return "--" + name
}

// flagsHelp explains the flags that commands have in common.
func flagsHelp(width int, app *cli.App) string {
	h := &helpWriter{width: width}
	h.lines("sfstat help " + flagsTopic + ": what the flags mean that most commands have; --help of a command says which it has")
	common := commonFlags(app)
	for _, category := range categories {
		if len(common[category]) > 0 {
			h.heading(cmp.Or(category, "Flags"))
			h.table(common[category])
		}
	}
	return h.String()
}

// categories are the headings of flags, in order.
var categories = []string{"", forWindows, forOperators, forInput, forOutput}

// commandHelp is the help of a command or a group of them. UsageText holds its
// examples, one a line. Common flags are named, and explained elsewhere.
func commandHelp(width int, c named, common map[string][][2]string) string {
	h := &helpWriter{width: width}
	h.lines("sfstat " + c.full + ": " + c.Usage)
	h.paragraph(c.Description)
	usage := "\nUsage: sfstat " + c.full
	switch {
	case c.isGroup():
		usage += " COMMAND [FLAGS] [ARGUMENTS]"
	case len(c.Flags) > 0:
		usage += " [FLAGS]"
	}
	h.line("%s", strings.TrimRight(usage+" "+c.ArgsUsage, " "))
	if c.isGroup() {
		h.heading("Commands")
		h.commands(c.Subcommands)
	}
	var also []string
	for _, category := range categories {
		rows := slices.DeleteFunc(flagRows(c.Flags, category), func(row [2]string) bool {
			is := slices.Contains(common[category], row)
			if is {
				also = append(also, longName(row))
			}
			return is
		})
		if len(rows) > 0 {
			h.heading(cmp.Or(category, "Flags"))
			h.table(rows)
		}
	}
	if len(also) > 0 {
		h.heading("Explained by sfstat help " + flagsTopic)
		h.lines("  " + strings.Join(also, " "))
	}
	if c.UsageText != "" {
		h.heading("Examples")
		for line := range strings.Lines(c.UsageText) {
			h.example(strings.TrimRight(line, "\n"))
		}
	}
	return h.String()
}

// example writes a command so that a shell reads it, over several lines where it
// is too long for one.
func (h *helpWriter) example(command string) {
	if len(command) > h.width-len("  $ ") {
		command = strings.Join(fold(command, h.width-len("      \\")), " \\\n      ")
	}
	h.line("  $ %s", command)
}

func categoryOf(f cli.Flag) string {
	if in, ok := f.(cli.CategorizableFlag); ok {
		return in.GetCategory()
	}
	return ""
}

func flagRows(flags []cli.Flag, category string) [][2]string {
	var rows [][2]string
	for _, f := range flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && categoryOf(f) == category {
			rows = append(rows, [2]string{flagLeft(f, doc), flagRight(doc)})
		}
	}
	return rows
}

// flagLeft is the flag with its aliases and a word for its value.
func flagLeft(f cli.Flag, doc cli.DocGenerationFlag) string {
	names := make([]string, 0, 2)
	for _, name := range f.Names() {
		names = append(names, dashed(name))
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	left := strings.Join(names, ", ")
	if !doc.TakesValue() {
		return left
	}
	value, _ := placeholder(doc.GetUsage())
	closed, isChoice := f.(*choiceFlag)
	switch {
	case isChoice:
		value = strings.Join(closed.choices, "|")
	case value == "":
		value = "VALUE"
	}
	return left + " " + value
}

func flagRight(doc cli.DocGenerationFlag) string {
	_, text := placeholder(doc.GetUsage())
	if value := doc.GetValue(); doc.TakesValue() && value != "" && value != "0" && value != "0s" {
		text += " (default " + value + ")"
	}
	return text
}

// helpWriter folds help to a width.
type helpWriter struct {
	strings.Builder
	width int
}

func (h *helpWriter) line(format string, args ...any) { fmt.Fprintf(h, format+"\n", args...) }

func (h *helpWriter) heading(text string) { h.line("\n%s:", text) }

func (h *helpWriter) paragraph(text string) {
	for part := range strings.SplitSeq(text, "\n") {
		if part == "" {
			continue
		}
		h.line("")
		h.lines(part)
	}
}

// lines folds text; what follows its first line is indented as far as that is.
func (h *helpWriter) lines(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for _, line := range fold(text, h.width-len(indent)) {
		h.line("%s", indent+line)
	}
}

// commands lists commands by name.
func (h *helpWriter) commands(commands []*cli.Command) {
	var rows [][2]string
	for _, c := range commands {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	h.table(rows)
}

// table writes two columns; a left cell that is too wide has a line to itself.
func (h *helpWriter) table(rows [][2]string) {
	wide := h.width / 3
	left := 0
	for _, row := range rows {
		if n := len(row[0]); n <= wide {
			left = max(left, n)
		}
	}
	for _, row := range rows {
		name := row[0]
		if len(name) > wide {
			h.leftover(name)
			name = ""
		}
		for _, line := range fold(row[1], h.width-left-4) {
			h.line("  %-*s  %s", left, name, line)
			name = ""
		}
	}
}

// leftover writes a left cell that is too wide for its column; one that is too
// wide for the page is broken between the values of a flag.
func (h *helpWriter) leftover(name string) {
	for line := "  "; ; line = "    " {
		room := h.width - len(line)
		at := strings.LastIndexByte(name[:min(room, len(name))], '|') + 1
		if len(name) <= room || at == 0 {
			h.line("%s%s", line, name)
			return
		}
		h.line("%s%s", line, name[:at])
		name = name[at:]
	}
}

// fold breaks text at spaces into lines of at most width columns.
func fold(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
