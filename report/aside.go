package report

import (
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Aside writes, as text or Markdown, what inputs without steps or calls of ranks show by themselves.
func (o Output) Aside(said []string) error { return o.show(asideDocument(said)) }

func asideDocument(said []string) (d document) {
	for i, text := range said {
		text = strings.TrimRight(text, ".") + "."
		if first, _, _ := strings.Cut(text, " "); !strings.Contains(first, "-") { // else the name of a tool
			text = upper(text)
		}
		if i == 0 {
			d = append(d, headline{text: text, level: evidence.Insufficient})
			continue
		}
		d = append(d, prose(text))
	}
	return put(d, prose(sayWhyAside(len(said))), prose(sayNextOfAside(len(said))))
}
