package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// briefColumn is where the lines under the headline begin.
const briefColumn = 11

// textWriter renders a document for a terminal.
type textWriter struct{ *glyph.Page }

func newTextWriter(out *bytes.Buffer, s Style) *textWriter {
	return &textWriter{&glyph.Page{Out: out, Width: s.width(), Color: s.Color, Hue: "36"}}
}

// SGR colours of a headline by confidence, red for what must be acted on.
var hues = [...]string{evidence.Insufficient: "36", evidence.Ambiguous: "36", evidence.Supported: "33", evidence.Strong: "31"}

func (t *textWriter) document(d document) {
	for i, b := range d {
		if i > 0 && !joins(d[i-1], b) {
			t.Out.WriteByte('\n')
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
		t.In = true
		for _, l := range glyph.Wrap(glyph.Visible(string(b)), t.Width) {
			t.Line(t.Paint(l, "1"))
		}
	case prose, remark, hint:
		t.Paragraph("", "", fmt.Sprint(b))
	case bullets:
		for _, s := range b {
			t.Paragraph("• ", "  ", s)
		}
	case brief:
		for _, x := range b {
			t.Paragraph(glyph.PadRight(x.Name, briefColumn), strings.Repeat(" ", briefColumn), x.Text)
		}
	case terms:
		t.Terms(b)
	case *table.Table:
		b.Text(t.Page)
	}
}

func (t *textWriter) headline(h headline) {
	sgr := "1"
	if int(h.level) < len(hues) {
		t.Hue = hues[h.level]
		if h.level >= evidence.Supported {
			sgr = "1;" + t.Hue
		}
	}
	text := h.text
	if h.badge != "" {
		text += " [" + h.badge + "]"
	}
	for _, l := range glyph.Wrap(glyph.Visible(text), min(t.Width, glyph.ProseWidth)) {
		t.Line(t.Paint(l, sgr))
	}
}
