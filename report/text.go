package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// proseWidth keeps sentences readable on wide terminals.
const proseWidth = 100

// termColumn is how wide the explained words may always be.
const termColumn = 20

// briefColumn is where the lines under the headline begin.
const briefColumn = 11

// textWriter renders a document for a terminal.
type textWriter struct {
	out   *bytes.Buffer
	style Style
	hue   string // SGR colour of what stands out
	in    bool   // below a heading: content is indented
}

func newTextWriter(out *bytes.Buffer, s Style) *textWriter {
	return &textWriter{out: out, style: s, hue: "36"}
}

// SGR colours of a headline by confidence, red for what must be acted on.
var hues = [...]string{evidence.Insufficient: "36", evidence.Ambiguous: "36", evidence.Supported: "33", evidence.Strong: "31"}

func (t *textWriter) document(d document) {
	for i, b := range d {
		if i > 0 && !joins(d[i-1], b) {
			t.out.WriteByte('\n')
		}
		t.block(b)
	}
}

// joins reports whether b follows a without a blank line.
func joins(a, b block) bool {
	if _, ok := a.(heading); ok {
		return true
	}
	switch b.(type) {
	case remark, hint:
		return true
	}
	_, head := a.(headline)
	switch b.(type) {
	case prose, brief, headline:
		return head
	}
	return false
}

func (t *textWriter) block(b block) {
	switch b := b.(type) {
	case headline:
		t.headline(b)
	case heading:
		t.in = true
		for _, l := range wrap(Visible(string(b)), t.style.width()) {
			t.line(t.paint(l, "1"))
		}
	case prose, remark, hint:
		t.paragraph("", "", fmt.Sprint(b))
	case bullets:
		for _, s := range b {
			t.paragraph("• ", "  ", s)
		}
	case brief:
		for _, x := range b {
			t.paragraph(padRight(x.name, briefColumn), strings.Repeat(" ", briefColumn), x.text)
		}
	case terms:
		t.terms(b)
	case *table:
		t.table(b)
	case *heatmap:
		t.heatmap(b)
	}
}

func (t *textWriter) headline(h headline) {
	sgr := "1"
	if int(h.level) < len(hues) {
		t.hue = hues[h.level]
		if h.level >= evidence.Supported {
			sgr = "1;" + t.hue
		}
	}
	for _, l := range wrap(Visible(h.text), min(t.style.width(), proseWidth)) {
		t.line(t.paint(l, sgr))
	}
}

func (t *textWriter) indent() string {
	if t.in {
		return "  "
	}
	return ""
}

// paragraph wraps s; first leads its first line and rest the others.
func (t *textWriter) paragraph(first, rest, s string) {
	room := min(t.style.width(), proseWidth) - len(t.indent()) - columns(first)
	for i, l := range wrap(Visible(s), room) {
		lead := rest
		if i == 0 {
			lead = first
		}
		t.line(t.indent() + lead + l)
	}
}

// terms are set in two columns. The first is as wide as the longest
// explanation permits; a word that is wider pushes its own to the right, so
// that all stay on one line where they can.
func (t *textWriter) terms(list terms) {
	name, text := 0, 0
	for _, x := range list {
		name, text = max(name, columns(Visible(x.name))), max(text, columns(Visible(x.text)))
	}
	room := min(t.style.width(), proseWidth) - len(t.indent()) - len(gap)
	wide := min(name, max(termColumn, room-text))
	for _, x := range list {
		first := padRight(Visible(x.name), wide) + gap
		t.paragraph(first, strings.Repeat(" ", columns(first)), x.text)
	}
}

// paint wraps s in an SGR sequence when colour was asked for.
func (t *textWriter) paint(s, sgr string) string {
	if !t.style.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (t *textWriter) line(s string) {
	t.out.WriteString(s)
	t.out.WriteByte('\n')
}
