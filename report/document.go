package report

import (
	"reflect"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// A document is what text, Markdown and HTML render: blocks from top to bottom.
type document []block

// A block is a headline, heading, prose, remark, hint, brief, bullets, terms,
// *table.Table.
type block any

type (
	// headline is the one sentence that a tired reader must see.
	headline struct {
		text  string
		level evidence.Confidence
		badge string // how certain that is, in a word; "": it is no finding
	}
	heading string
	prose   string
	bullets []string
	// terms explains words, one line each.
	terms []glyph.Term
	// brief are the two lines under the headline; remark is one more line of the
	// paragraph before.
	brief  []glyph.Term
	remark string
	// hint is a remark on the command line: it means nothing on a page.
	hint string
)

// put returns a document of blocks and documents, without empty ones.
func put(parts ...any) (d document) {
	for _, p := range parts {
		t, isTable := p.(*table.Table)
		switch v := reflect.ValueOf(p); {
		case !v.IsValid(), isTable && (t == nil || len(t.Rows) == 0), v.Kind() == reflect.Slice && v.Len() == 0, v.Kind() == reflect.String && v.Len() == 0:
		case v.Type() == reflect.TypeFor[document]():
			d = append(d, p.(document)...)
		default:
			d = append(d, p)
		}
	}
	return d
}

// section returns a section with its heading; nothing where it is empty.
func section(title string, parts ...any) document {
	if d := put(parts...); len(d) > 0 {
		return append(document{heading(title)}, d...)
	}
	return nil
}
