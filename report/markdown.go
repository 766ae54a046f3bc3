package report

import (
	"bytes"
	"fmt"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// writeMarkdown renders a document for GitHub. Names of the input stand in
// code spans, everything else is escaped; bars are left to the terminal.
func writeMarkdown(out *bytes.Buffer, d document) {
	for i, b := range d {
		if i > 0 {
			out.WriteByte('\n')
		}
		markdownBlock(out, b)
	}
}

// alerts are GitHub's boxes for a headline by confidence.
var alerts = [...]string{evidence.Insufficient: "NOTE", evidence.Ambiguous: "NOTE", evidence.Supported: "WARNING", evidence.Strong: "CAUTION"}

// writeGitHub renders a document as the summary of a job: the headline in a box of its colour, what stands under headings folded.
func writeGitHub(out *bytes.Buffer, d document) {
	inBox, folded := false, false
	for i, b := range d {
		h, isHeadline := b.(headline)
		title, isHeading := b.(heading)
		switch {
		case isHeadline && inBox:
			fmt.Fprintf(out, "> %s\n", table.Escape(h.text))
			continue
		case isHeadline:
			fmt.Fprintf(out, "> [!%s]\n> **%s**", alerts[h.level], table.Escape(h.text))
			if h.badge != "" {
				fmt.Fprintf(out, " `%s`", h.badge)
			}
			out.WriteByte('\n')
			inBox = true
			continue
		}
		if inBox = false; isHint(b) {
			continue
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		if isHeading {
			if folded {
				out.WriteString("</details>\n\n")
			}
			fmt.Fprintf(out, "<details><summary>%s</summary>\n", table.Escape(string(title)))
			folded = true
			continue
		}
		markdownBlock(out, b)
	}
	if folded {
		out.WriteString("\n</details>\n")
	}
}

func isHint(b block) bool {
	_, is := b.(hint)
	return is
}

// markdownBlock renders one block.
func markdownBlock(out *bytes.Buffer, b block) {
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
