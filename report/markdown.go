package report

import (
	"bytes"
	"fmt"
	"strings"
)

// writeMarkdown renders a document for GitHub. Names of the input stand in
// code spans, everything else is escaped; bars are left to the terminal.
func writeMarkdown(out *bytes.Buffer, d document) {
	for i, b := range d {
		if i > 0 {
			out.WriteByte('\n')
		}
		switch b := b.(type) {
		case headline:
			fmt.Fprintf(out, "## %s\n", escape(b.text))
		case heading:
			fmt.Fprintf(out, "### %s\n", escape(string(b)))
		case prose, remark, hint:
			fmt.Fprintf(out, "%s\n", escape(fmt.Sprint(b)))
		case brief:
			for _, x := range b {
				fmt.Fprintf(out, "- **%s**: %s\n", escape(x.name), escape(x.text))
			}
		case bullets:
			for _, s := range b {
				fmt.Fprintf(out, "- %s\n", escape(s))
			}
		case terms:
			for _, x := range b {
				fmt.Fprintf(out, "- **%s**: %s\n", escape(x.name), escape(x.text))
			}
		case *table:
			markdownTable(out, b)
		case *heatmap:
			if t := b.table(); t != nil {
				markdownTable(out, t)
			} else {
				fmt.Fprintf(out, "%s\n", escape(fmt.Sprintf("The map of %d × %d is too large for a page; its numbers are in json and csv.", len(b.at), len(b.cols.labels))))
			}
		}
	}
}

func markdownTable(out *bytes.Buffer, in *table) {
	t := *in
	t.remove(func(col int) bool { return t.columns[col].kind == kindBar || t.columns[col].spare })
	cols := make([]shown, len(t.columns))
	for i := range t.columns {
		cols[i] = t.show(i)
	}
	var heads, rules []string
	for _, c := range cols {
		heads = append(heads, escape(c.head)+mark(c.note))
		if c.kind.numeric() || c.kind == kindAmount {
			rules = append(rules, "---:")
		} else {
			rules = append(rules, "---")
		}
	}
	markdownRow(out, heads)
	markdownRow(out, rules)
	for _, row := range t.rows {
		var cells []string
		for i, c := range cols {
			cells = append(cells, markdownCell(c, row[i])+mark(row[i].note))
		}
		markdownRow(out, cells)
	}
	if c := t.reading(); c != "" {
		fmt.Fprintf(out, "\n%s\n", escape(c))
	}
	for i, n := range t.notes {
		fmt.Fprintf(out, "\n%s %s\n", mark(i+1), escape(n))
	}
}

func markdownCell(s shown, c cell) string {
	if !c.set || !s.kind.name() {
		return escape(s.value(c))
	}
	return code(c.text)
}

func markdownRow(out *bytes.Buffer, cells []string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// special are the characters that mean something inside a line of Markdown.
// An underscore inside a word means nothing, and names are full of them.
const special = "\\`*[]<>|~&#$@"

// escape makes s plain text inside a line. A character reference cannot start
// a mention, a list or a heading, as a backslash in front of it would allow.
func escape(s string) string {
	var b strings.Builder
	for _, r := range Visible(s) {
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

// code is s as a code span that holds inside a table: a fence longer than any
// run of backticks in it, pipes escaped as GitHub's tables require.
func code(s string) string {
	s = Visible(s)
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
