package report

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
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

// VerdictHTML writes the verdict of [Input.Verdict] in HTML.
func (in Output) VerdictHTML(v *diagnose.Verdict) Fragments {
	runs := v.All()
	out := Fragments{Refused: fragment(problemBlocks(in.Problems))}
	if len(runs) > 1 {
		t := runTable(v)
		t.Caption = "" // a page can turn to any of them
		all := document{t}
		if v.Recurring != nil {
			all = append(all, prose(upper(evidenceWords(*v.Recurring))+"."))
		}
		out.All = htmlUnder("All runs", all)
	}
	for i := range runs {
		r := &runs[i]
		if r.Run == v.Run && r.Operators == v.Operators {
			out.Lead = i
		}
		f := RunFragments{Run: glyph.Visible(r.Run), Headline: glyph.Visible(Headline(r)), Answer: fragment(answerBlocks(r)), Step: fragment(runBlocks(r, Style{})),
			Evidence: fragment(append(evidenceBlocks(r), nextBlocks(r)...))}
		switch w, o := r.MainWindow(), r.Operators; {
		case o != nil:
			f.Account = fragment(slices.Concat(kindBlocks(o), walkBlocks(r), noteBlocks(o.Notes)))
		case w != nil:
			f.Account = fragment(detailBlocks(r, w))
		default: // of which runBlocks has the evidence
			f.Step = fragment(problemRemarks(r.Problems, ""))
		}
		out.Runs = append(out.Runs, f)
	}
	return out
}

func fragment(d document) template.HTML { return htmlUnder("Where the step goes", d) }

// htmlUnder returns a document in HTML, under a title of the page.
func htmlUnder(title string, d document) template.HTML {
	var out bytes.Buffer
	for i, b := range d {
		switch b := b.(type) {
		case headline:
			headlineHTML(&out, b)
		case heading:
			table.Element(&out, "h3", "", string(b))
		case prose:
			table.Element(&out, "p", "", string(b))
		case remark:
			table.Element(&out, "p", "remark", string(b))
		case hint: // of the command line
		case bullets:
			out.WriteString("<ul>")
			for _, s := range b {
				table.Element(&out, "li", "", s)
			}
			out.WriteString("</ul>")
		case brief:
			table.HTMLTerms(&out, "brief", b)
		case terms:
			table.HTMLTerms(&out, "terms", b)
		case *table.Table:
			b.HTML(&out, headingOf(d, i, title))
		}
	}
	return template.HTML(out.String())
}

// headlineHTML writes a headline, with its badge beside it.
func headlineHTML(out *bytes.Buffer, h headline) {
	class := fmt.Sprintf("headline %v", h.level)
	if h.badge == "" {
		table.Element(out, "p", class, h.text)
		return
	}
	fmt.Fprintf(out, `<p class="%s">%s `, class, table.Prose(h.text))
	table.Element(out, "span", "badge", h.badge)
	out.WriteString("</p>")
}

// headingOf returns the heading under which block i of a document stands, or the title of the page.
func headingOf(d document, i int, title string) string {
	for i--; i >= 0; i-- {
		if h, ok := d[i].(heading); ok {
			return string(h)
		}
	}
	return title
}
