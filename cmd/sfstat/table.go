package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is cells for a person or a spreadsheet. Without a head it is a list of
// facts. Cells may come from hostile inputs.
type table struct {
	title string
	head  []string
	rows  [][]string
	notes []string // under the rows; a spreadsheet has no place for them
}

func writeTables(w io.Writer, tables []table, write func(table, io.Writer) error) error {
	for i, t := range tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := write(t, w); err != nil {
			return err
		}
	}
	return nil
}

func (t table) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.head); err != nil {
		return err
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = harmless(cell)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// harmless keeps a spreadsheet from taking a name for a formula.
func harmless(cell string) string {
	cell = visible(cell)
	if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// text aligns the columns; the last is as long as it is.
func (t table) text(w io.Writer) error {
	if t.title != "" {
		if _, err := fmt.Fprintln(w, visible(t.title)); err != nil {
			return err
		}
	}
	lines := t.rows
	if t.head != nil {
		lines = append([][]string{t.head}, t.rows...)
	}
	var widths []int
	for _, row := range lines {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(visible(cell)))
		}
	}
	for _, row := range lines {
		var b strings.Builder
		for i, cell := range row {
			cell = visible(cell)
			b.WriteString("  ")
			b.WriteString(cell)
			if i+1 < len(row) {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	for _, note := range t.notes {
		if _, err := fmt.Fprintln(w, visible(note)); err != nil {
			return err
		}
	}
	return nil
}

// markdown writes a GitHub table.
func (t table) markdown(w io.Writer) error {
	var b strings.Builder
	if t.title != "" {
		fmt.Fprintf(&b, "## %s\n\n", quoted(t.title))
	}
	head := t.head
	if head == nil {
		head = []string{"", ""}
	}
	line := func(cells []string) {
		for _, cell := range cells {
			fmt.Fprintf(&b, "| %s ", quoted(cell))
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	for _, note := range t.notes {
		fmt.Fprintf(&b, "\n%s\n", quoted(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted makes text that Markdown shows as it is.
func quoted(s string) string {
	var b strings.Builder
	for _, r := range visible(s) {
		if strings.ContainsRune("\\`*_{}[]<>#|~!&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// latex writes a table environment, for \input; it needs no packages.
func (t table) latex(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\\begin{table}\n")
	if t.title != "" {
		fmt.Fprintf(&b, "\\caption{%s}\n", latexQuoted(t.title))
	}
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n\\hline\n", strings.Repeat("l", len(t.head)))
	line := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(latexQuoted(cell))
		}
		b.WriteString(" \\\\\n")
	}
	line(t.head)
	b.WriteString("\\hline\n")
	for _, row := range t.rows {
		line(row)
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
	for _, note := range t.notes {
		fmt.Fprintf(&b, "\\par\\smallskip\n%s\n", latexQuoted(note))
	}
	b.WriteString("\\end{table}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// latexEscapes are characters that LaTeX does not show as they are, the Greek
// letters and dashes of our tables included.
var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`,
	`_`, `\_`, `~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `$<$`, `>`, `$>$`, `|`, `$|$`, `τ`, `$\tau$`, `–`, `--`)

// latexQuoted makes text that LaTeX shows as it is.
func latexQuoted(s string) string { return latexEscapes.Replace(visible(s)) }

// visible shows what does not print (control characters, which could steer the
// terminal, line breaks, invalid UTF-8) as escapes.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}
