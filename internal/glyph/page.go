package glyph

import (
	"bytes"
	"strings"
)

// Gap stands between two columns.
const Gap = "  "

// ProseWidth keeps sentences readable on wide terminals.
const ProseWidth = 100

// TermColumn is how wide the explained words may always be.
const TermColumn = 20

// Page is a terminal that is written line by line.
type Page struct {
	Out   *bytes.Buffer
	Width int    // columns
	Color bool   // by SGR escape sequences
	Hue   string // SGR colour of what stands out
	In    bool   // below a heading: content is indented
}

// Term is a name and what there is to say about it.
type Term struct{ Name, Text string }

// Indent begins every line of the content.
func (p *Page) Indent() string {
	if p.In {
		return "  "
	}
	return ""
}

// Room returns how many columns the content has.
func (p *Page) Room() int { return p.Width - len(p.Indent()) }

// ProseRoom returns how many columns sentences take at most.
func (p *Page) ProseRoom() int { return min(p.Width, ProseWidth) - len(p.Indent()) }

// Line writes a line as it is.
func (p *Page) Line(s string) {
	p.Out.WriteString(s)
	p.Out.WriteByte('\n')
}

// Paragraph wraps s; first leads its first line and rest the others.
func (p *Page) Paragraph(first, rest, s string) {
	for i, l := range Wrap(Visible(s), p.ProseRoom()-Columns(first)) {
		lead := rest
		if i == 0 {
			lead = first
		}
		p.Line(p.Indent() + lead + l)
	}
}

// Terms writes terms in two columns. The first is as wide as the longest
// explanation permits; a word that is wider pushes its own to the right, so
// that all stay on one line where they can.
func (p *Page) Terms(list []Term) {
	name, text := 0, 0
	for _, x := range list {
		name, text = max(name, Columns(Visible(x.Name))), max(text, Columns(Visible(x.Text)))
	}
	wide := min(name, max(TermColumn, p.ProseRoom()-len(Gap)-text))
	for _, x := range list {
		first := PadRight(Visible(x.Name), wide) + Gap
		p.Paragraph(first, strings.Repeat(" ", Columns(first)), x.Text)
	}
}

// Paint wraps s in an SGR sequence when colour was asked for.
func (p *Page) Paint(s, sgr string) string {
	if !p.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}
