package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// explainAll returns values of a closed set, each with what it means to somebody who has not read the paper.
func explainAll[T fmt.Stringer](values []T, meaning func(T) string) (out terms) {
	for _, v := range values {
		out = append(out, glyph.Term{Name: v.String(), Text: meaning(v)})
	}
	return out
}

// wordsOfName returns the name of a value of a closed set as words.
func wordsOfName(v fmt.Stringer) string { return strings.ReplaceAll(v.String(), "_", " ") }
