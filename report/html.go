package report

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
)

// Fragments are the words of a verdict as HTML, for a page to set around its
// charts. They hold no attribute but classes, roles and the lengths of bars; names
// of the input are text, as [Visible] has it.
type Fragments struct {
	Lead    int           // index in Runs of the run that the verdict repeats
	All     template.HTML // of several runs: a line each, and the host that recurs
	Refused template.HTML // inputs, each with its reason; "" where there are none
	Runs    []RunFragments
}

// RunFragments are the words of one run.
type RunFragments struct {
	Run      string
	Headline string // plain text
	Answer   template.HTML
	Step     template.HTML // where the step goes
	Evidence template.HTML // for the first finding, the other findings, what is not decided, what to do next
	Account  template.HTML // windows, cuts, labels, how it was read
}

// VerdictHTML is the verdict as [Input.Verdict] writes it, in HTML.
func (in Output) VerdictHTML(v *diagnose.Verdict) Fragments {
	runs := v.All()
	out := Fragments{Refused: fragment(problemBlocks(in.Problems))}
	if len(runs) > 1 {
		all := document{runTable(v)}
		if v.Recurring != nil {
			all = append(all, prose(upper(recurringHost(*v.Recurring))+"."))
		}
		out.All = fragment(all)
	}
	for i := range runs {
		r := &runs[i]
		if r.Run == v.Run && r.Operators == v.Operators {
			out.Lead = i
		}
		f := RunFragments{Run: Visible(r.Run), Headline: Visible(Headline(r)), Answer: fragment(answerBlocks(r)), Step: fragment(runBlocks(r, Style{})),
			Evidence: fragment(append(whyBlocks(r), nextBlocks(r)...))}
		switch w, o := windowOf(r), r.Operators; {
		case o != nil:
			f.Account = fragment(slices.Concat(kindBlocks(o), walkBlocks(r), noteBlocks(o.Notes)))
		case w != nil:
			f.Account = fragment(detailBlocks(r, w))
		default: // of which runBlocks has the evidence
			f.Step = fragment(problemRemarks(r.Problems))
		}
		out.Runs = append(out.Runs, f)
	}
	return out
}

// fragment is a document in HTML.
func fragment(d document) template.HTML {
	var w htmlWriter
	for i, b := range d {
		switch b := b.(type) {
		case headline:
			w.element("p", fmt.Sprintf("headline %v", b.level), b.text)
		case heading:
			w.element("h3", "", string(b))
		case prose:
			w.element("p", "", string(b))
		case remark:
			w.element("p", "remark", string(b))
		case hint: // of the command line
		case bullets:
			w.out.WriteString("<ul>")
			for _, s := range b {
				w.element("li", "", s)
			}
			w.out.WriteString("</ul>")
		case brief:
			w.terms("brief", b)
		case terms:
			w.terms("terms", b)
		case *table:
			w.table(b, before(d, i))
		case *heatmap:
			if t := b.table(); t != nil {
				w.table(t, before(d, i))
			}
		}
	}
	return template.HTML(w.out.String())
}

// before is the heading under which block i of a document stands.
func before(d document, i int) string {
	for i--; i >= 0; i-- {
		if h, ok := d[i].(heading); ok {
			return string(h)
		}
	}
	return "Where the step goes"
}

// htmlWriter renders a document for a page.
type htmlWriter struct{ out bytes.Buffer }

// element writes text in an element of a class.
func (w *htmlWriter) element(name, class, text string) {
	fmt.Fprintf(&w.out, "<%s", name)
	if class != "" {
		fmt.Fprintf(&w.out, ` class="%s"`, class)
	}
	fmt.Fprintf(&w.out, ">%s</%s>", template.HTMLEscapeString(Visible(text)), name)
}

func (w *htmlWriter) terms(class string, list []term) {
	fmt.Fprintf(&w.out, `<dl class="%s">`, class)
	for _, x := range list {
		w.element("dt", "", x.name)
		w.element("dd", "", x.text)
	}
	w.out.WriteString("</dl>")
}

func (w *htmlWriter) table(t *table, name string) {
	fmt.Fprintf(&w.out, `<div class="scroll" role="region" tabindex="0" aria-label="%s"><table><thead><tr>`, template.HTMLEscapeString(Visible(name)))
	cols := make([]shown, len(t.columns))
	for i := range cols {
		cols[i] = t.show(i)
		class := cols[i].class()
		if head := cols[i].head + mark(cols[i].note); head != "" {
			fmt.Fprintf(&w.out, `<th scope="col" class="%s">%s</th>`, class, template.HTMLEscapeString(Visible(head)))
		} else {
			w.element("td", class, "")
		}
	}
	w.out.WriteString("</tr></thead><tbody>")
	for _, row := range t.rows {
		w.out.WriteString("<tr>")
		for i, c := range cols {
			if c.kind == kindBar {
				w.bar(c, row[i])
				continue
			}
			w.element("td", c.class(), c.value(row[i])+mark(row[i].note))
		}
		w.out.WriteString("</tr>")
	}
	w.out.WriteString("</tbody></table></div>")
	if c := t.reading(); c != "" {
		w.element("p", "remark", c)
	}
	for i, n := range t.notes {
		w.element("p", "remark", mark(i+1)+" "+n)
	}
}

// class is how the cells of a column stand.
func (s shown) class() string {
	switch {
	case s.kind == kindBar:
		return "bar"
	case s.kind.numeric() || s.kind == kindAmount:
		return "number"
	case s.kind.name():
		return "name"
	}
	return "words"
}

// bar draws part of the peak. A style attribute would ask the page to allow all
// of them.
func (w *htmlWriter) bar(s shown, c cell) {
	class, part := "bar", 0.0
	if c.strong {
		class = "bar strong"
	}
	if c.set && s.peak > 0 {
		part = max(0, 100*c.real/s.peak)
	}
	fmt.Fprintf(&w.out, `<td class="%s"><svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="%.1f" height="1"/></svg></td>`, class, part)
}
