package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// Markdown writes the table for GitHub. Names of the input stand in code spans, everything
// else is escaped; bars are left to the terminal. Its title and notes are left to the page
// around it.
func (t *Table) Markdown(out *bytes.Buffer) {
	if t.Columns == nil {
		for _, x := range t.facts() {
			MarkdownTerm(out, x)
		}
		return
	}
	shorter := *t.square()
	t = &shorter
	t.remove(func(col int) bool { return t.Columns[col].Kind == Bar || t.Columns[col].Spare })
	cols := make([]shownColumn, len(t.Columns))
	var heads, rules []string
	for i := range cols {
		cols[i] = t.show(i)
		heads = append(heads, Escape(cols[i].Head)+mark(cols[i].Note))
		if cols[i].right() {
			rules = append(rules, "---:")
		} else {
			rules = append(rules, "---")
		}
	}
	markdownRow(out, heads)
	markdownRow(out, rules)
	for _, row := range t.Rows {
		var cells []string
		for i, c := range cols {
			cells = append(cells, markdownCell(c, row[i])+mark(row[i].Note))
		}
		markdownRow(out, cells)
	}
	if c := t.reading(); c != "" {
		fmt.Fprintf(out, "\n%s\n", Escape(c))
	}
	for i, n := range t.Footnotes {
		fmt.Fprintf(out, "\n%s %s\n", mark(i+1), Escape(n))
	}
}

// MarkdownTerm writes a name and what there is to say about it as an item of a list.
func MarkdownTerm(out *bytes.Buffer, x glyph.Term) {
	fmt.Fprintf(out, "- **%s**: %s\n", Escape(x.Name), Escape(x.Text))
}

func markdownCell(s shownColumn, c Cell) string {
	if !c.HasValue() || !s.Kind.name() {
		return Escape(s.value(c))
	}
	return code(c.text)
}

func markdownRow(out *bytes.Buffer, cells []string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// special are the characters that mean something inside a line of Markdown.
// An underscore inside a word means nothing, and names are full of them.
const special = "\\`*[]<>|~&#$@"

// Escape makes s plain text inside a line. A character reference cannot start
// a mention, a list or a heading, as a backslash in front of it would allow.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range glyph.Visible(s) {
		switch {
		case r == '@' || r == '&' || r == '<' || r == '>' || r == '|':
			fmt.Fprintf(&b, "&#%d;", r)
		case strings.ContainsRune(special, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code returns s as a code span that holds inside a table: a fence longer than any
// run of backticks in it, pipes escaped as GitHub's tables require.
func code(s string) string {
	s = glyph.Visible(s)
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}
