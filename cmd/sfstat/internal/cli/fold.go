package cli

import (
	"fmt"
	"strings"
)

// example writes a command so that a shell reads it, over several lines where it
// is too long for one.
func (h *helpWriter) example(command string) {
	if len(command) > h.width-len("  $ ") {
		command = strings.Join(fold(command, h.width-len("      \\")), " \\\n      ")
	}
	h.line("  $ %s", command)
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
