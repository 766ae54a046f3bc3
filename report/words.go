package report

import (
	"fmt"

	"github.com/sfstat/sfstat/internal/glyph"
)

// explained are values of a closed set, each with what it means to somebody who has not
// read the paper.
func explained[T fmt.Stringer](kind string, values []T) terms {
	var out terms
	for _, v := range values {
		out = append(out, glyph.Term{Name: v.String(), Text: meaning(kind, v)})
	}
	return out
}
