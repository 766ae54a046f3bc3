package table

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// HTML writes the table as an element of a page, which it names what it stands under. It has
// no attribute but classes, roles and the lengths of bars. Its title and notes are left to the
// page around it.
func (t *Table) HTML(out *bytes.Buffer, name string) {
	if t.Columns == nil {
		HTMLTerms(out, "terms", t.facts())
		return
	}
	t = t.square()
	fmt.Fprintf(out, `<div class="scroll" role="region" tabindex="0" aria-label="%s"><table><thead><tr>`, template.HTMLEscapeString(glyph.Visible(name)))
	cols := make([]shownColumn, len(t.Columns))
	for i := range cols {
		cols[i] = t.show(i)
		class := cols[i].class()
		if head := cols[i].Head + mark(cols[i].Note); head != "" {
			fmt.Fprintf(out, `<th scope="col" class="%s">%s</th>`, class, template.HTMLEscapeString(glyph.Visible(head)))
		} else {
			Element(out, "td", class, "")
		}
	}
	out.WriteString("</tr></thead><tbody>")
	for _, row := range t.Rows {
		out.WriteString("<tr>")
		for i, c := range cols {
			if c.Kind == Bar {
				c.htmlBar(out, row[i])
				continue
			}
			text := c.value(row[i]) + mark(row[i].Note)
			if c.class() != "name" {
				Element(out, "td", c.class(), text)
				continue
			}
			fmt.Fprintf(out, `<td class="name">%s</td>`, breaks.Replace(template.HTMLEscapeString(glyph.Visible(text))))
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</tbody></table></div>")
	if c := t.reading(); c != "" {
		Element(out, "p", "remark", c)
	}
	for i, n := range t.Footnotes {
		Element(out, "p", "remark", mark(i+1)+" "+n)
	}
}

// breaks lets a narrow screen break a name such as model.backward_cpu_wall where a
// reader would.
var breaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>")

// Element writes text in an element of a class.
func Element(out *bytes.Buffer, name, class, text string) {
	fmt.Fprintf(out, "<%s", name)
	if class != "" {
		fmt.Fprintf(out, ` class="%s"`, class)
	}
	fmt.Fprintf(out, ">%s</%s>", Prose(text), name)
}

// Prose returns text escaped for HTML, in which no line breaks between a number and its unit.
func Prose(text string) string {
	return measures.ReplaceAllString(template.HTMLEscapeString(glyph.Visible(text)), "$1\u00a0$2")
}

// measures are numbers with their units.
var measures = regexp.MustCompile(`(\d) (%|(?:ns|µs|ms|s|min|h|[kKMGTP]?i?B(?:/s)?)\b)`)

// HTMLTerms writes names and what there is to say about each.
func HTMLTerms(out *bytes.Buffer, class string, list []glyph.Term) {
	fmt.Fprintf(out, `<dl class="%s">`, class)
	for _, x := range list {
		Element(out, "dt", "", x.Name)
		Element(out, "dd", "", x.Text)
	}
	out.WriteString("</dl>")
}

// class returns how the cells of a column stand.
func (s shownColumn) class() string {
	switch {
	case s.Kind == Bar:
		return "bar"
	case s.right():
		return "number"
	case s.Kind.name():
		return "name"
	}
	return "words"
}

// htmlBar draws part of the peak. A style attribute would ask the page to allow all
// of them.
func (s shownColumn) htmlBar(out *bytes.Buffer, c Cell) {
	class, part := "bar", 0.0
	if c.Strong {
		class = "bar strong"
	}
	if c.HasValue() && s.peak > 0 {
		part = max(0, 100*c.real/s.peak)
	}
	fmt.Fprintf(out, `<td class="%s"><svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="%.1f" height="1"/></svg></td>`, class, part)
}
