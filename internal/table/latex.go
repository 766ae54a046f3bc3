package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// LaTeX writes a table environment with title, label and notes, for \input; it needs no packages.
func (t *Table) LaTeX(out *bytes.Buffer) {
	t = t.square()
	out.WriteString("\\begin{table}\n")
	if t.Title != "" {
		fmt.Fprintf(out, "\\caption{%s}\n", latexText(t.Title))
	}
	if t.Label != "" {
		fmt.Fprintf(out, "\\label{%s}\n", t.Label)
	}
	lines := t.lines()
	fmt.Fprintf(out, "\\begin{tabular}{%s}\n\\hline\n", strings.Repeat("l", len(t.Columns)))
	latexRow(out, lines[0])
	out.WriteString("\\hline\n")
	for _, row := range lines[1:] {
		latexRow(out, row)
	}
	out.WriteString("\\hline\n\\end{tabular}\n")
	for _, note := range t.Notes {
		fmt.Fprintf(out, "\\par\\smallskip\n%s\n", latexText(note))
	}
	out.WriteString("\\end{table}\n")
}

// LaTeXFigure writes a figure environment of a drawn file, which graphicx includes at the width of the line.
func LaTeXFigure(out *bytes.Buffer, file, caption, label string) {
	fmt.Fprintf(out, "\\begin{figure}\n\\includegraphics[width=\\linewidth]{%s}\n\\caption{%s}\n\\label{%s}\n\\end{figure}\n", file, latexText(caption), label)
}

func latexRow(out *bytes.Buffer, cells []string) {
	quoted := make([]string, len(cells))
	for i, cell := range cells {
		quoted[i] = latexText(cell)
	}
	fmt.Fprintf(out, "%s \\\\\n", strings.Join(quoted, " & "))
}

// latexEscapes are characters that LaTeX does not show as they are, the Greek
// letters and dashes of our tables included.
var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`,
	`_`, `\_`, `~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `$<$`, `>`, `$>$`, `|`, `$|$`, `τ`, `$\tau$`, `–`, `--`)

// latexText makes text that LaTeX shows as it is.
func latexText(s string) string { return latexEscapes.Replace(glyph.Visible(s)) }
