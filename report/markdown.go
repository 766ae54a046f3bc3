package report

import (
	"bytes"
	"fmt"

	"github.com/sfstat/sfstat/internal/table"
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
			fmt.Fprintf(out, "## %s", table.Escape(b.text))
			if b.badge != "" {
				fmt.Fprintf(out, " `%s`", b.badge)
			}
			out.WriteByte('\n')
		case heading:
			fmt.Fprintf(out, "### %s\n", table.Escape(string(b)))
		case prose, remark, hint:
			fmt.Fprintf(out, "%s\n", table.Escape(fmt.Sprint(b)))
		case brief:
			for _, x := range b {
				table.MarkdownTerm(out, x)
			}
		case bullets:
			for _, s := range b {
				fmt.Fprintf(out, "- %s\n", table.Escape(s))
			}
		case terms:
			for _, x := range b {
				table.MarkdownTerm(out, x)
			}
		case *table.Table:
			b.Markdown(out)
		}
	}
}
