package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpWidth is the width of help text in columns.
const helpWidth = 88

// appHelp is the help of the program.
func appHelp(w io.Writer, app *cli.App) error {
	h := &helpWriter{w: w}
	h.line("%s: %s", app.Name, app.Usage)
	h.paragraph(app.Description)
	h.heading("Usage")
	h.line("  sfstat COMMAND [FLAGS] [ARGUMENTS]")
	h.heading("Commands")
	h.commands(app.Commands)
	h.heading("First steps")
	h.line("  $ sfstat diagnose run/            one verdict on everything in the folder")
	h.line("  $ sfstat inspect run/             what is in there, and what is missing")
	h.line("  $ sfstat diagnose --help          flags and examples of a command")
	h.line("")
	h.line("Exit codes: 0 done; 1 internal error; 2 bad usage or bad input; 3 a finding, with --fail-on.")
	return h.err
}

// commandHelp is the help of a command or a group of them. UsageText holds its
// examples, one a line.
func commandHelp(w io.Writer, c named) error {
	h := &helpWriter{w: w}
	h.line("sfstat %s: %s", c.full, c.Usage)
	h.paragraph(c.Description)
	h.heading("Usage")
	usage := "  sfstat " + c.full
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
	for _, category := range categories(c.Command) {
		if category == "" {
			h.heading("Flags")
		} else {
			h.heading(category)
		}
		h.table(flagRows(c.Command, category))
	}
	if c.UsageText != "" {
		h.heading("Examples")
		for line := range strings.Lines(c.UsageText) {
			h.line("  $ %s", strings.TrimRight(line, "\n"))
		}
	}
	return h.err
}

// categories lists the headings of a command's flags: its own first.
func categories(c *cli.Command) []string {
	var out []string
	for _, want := range []string{"", forInput, forOutput} {
		if slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return categoryOf(f) == want }) {
			out = append(out, want)
		}
	}
	return out
}

func categoryOf(f cli.Flag) string {
	if in, ok := f.(cli.CategorizableFlag); ok {
		return in.GetCategory()
	}
	return ""
}

func flagRows(c *cli.Command, category string) [][2]string {
	var rows [][2]string
	for _, f := range c.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && categoryOf(f) == category {
			rows = append(rows, [2]string{flagLeft(f, doc), flagRight(f, doc)})
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

func flagRight(f cli.Flag, doc cli.DocGenerationFlag) string {
	_, text := placeholder(doc.GetUsage())
	if value := doc.GetValue(); doc.TakesValue() && value != "" && value != "0" && value != "0s" {
		text += " (default " + value + ")"
	}
	return text
}

// helpWriter keeps the first error of a sequence of writes.
type helpWriter struct {
	w   io.Writer
	err error
}

func (h *helpWriter) line(format string, args ...any) {
	if h.err == nil {
		_, h.err = fmt.Fprintf(h.w, format+"\n", args...)
	}
}

func (h *helpWriter) heading(text string) { h.line("\n%s:", text) }

func (h *helpWriter) paragraph(text string) {
	for part := range strings.SplitSeq(text, "\n") {
		if part == "" {
			continue
		}
		h.line("")
		for _, line := range fold(part, helpWidth) {
			h.line("%s", line)
		}
	}
}

// commands lists commands by name, those that are meant for people.
func (h *helpWriter) commands(commands []*cli.Command) {
	var rows [][2]string
	for _, c := range commands {
		if !c.Hidden {
			rows = append(rows, [2]string{c.Name, c.Usage})
		}
	}
	h.table(rows)
}

// table writes two columns; a left cell that is too wide has a line to itself.
func (h *helpWriter) table(rows [][2]string) {
	const wide = 30
	left := 0
	for _, row := range rows {
		if n := len(row[0]); n <= wide {
			left = max(left, n)
		}
	}
	for _, row := range rows {
		lines := fold(row[1], helpWidth-left-4)
		if len(row[0]) > wide {
			h.line("  %s", row[0])
			row[0] = ""
		}
		for i, line := range lines {
			if i > 0 {
				row[0] = ""
			}
			h.line("  %-*s  %s", left, row[0], line)
		}
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
