package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/glyph"
)

// Subject returns the subject of a finding for tables.
func Subject(f *diagnose.Finding) string { return glyph.Visible(subjectWord(f)) }

// Place returns where a finding is, for tables.
func Place(f *diagnose.Finding) string { return glyph.Visible(placeWord(f)) }

// rankAt returns a rank with its host and place as far as known: "rank 2 (gpu-node-1, local rank 2)".
func rankAt(rank int, host string, local *int) string {
	s := fmt.Sprintf("rank %d", rank)
	switch {
	case host != "" && local != nil:
		return s + fmt.Sprintf(" (%s, local rank %d)", host, *local)
	case host != "":
		return s + fmt.Sprintf(" (%s)", host)
	}
	return s
}

// placeWord returns where a finding is, in few words: an operator, whose whole name is in the JSON, or a stage.
func placeWord(f *diagnose.Finding) string {
	w := f.Where()
	if w.Op != "" {
		return opnames.Label(w.Op)
	}
	return w.Stage
}

// shortPlace returns where a finding is, in a single word where possible: names of runs need the room.
func shortPlace(f *diagnose.Finding) string {
	place := placeWord(f)
	if word := bareStage(place); place == f.Stage && len(word) < len(place) {
		return word
	}
	return place
}
