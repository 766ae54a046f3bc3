package report

import (
	"fmt"
	"strings"

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

// filled puts values into a sentence where it has their names in braces: a name, its
// value, another name …
func filled(sentence string, values ...any) string {
	pairs := make([]string, len(values))
	for i := 0; i < len(values); i += 2 {
		pairs[i], pairs[i+1] = fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(sentence)
}
