package report

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
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
