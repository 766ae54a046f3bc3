package report

import (
	"cmp"
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/glyph"
)

// Who is who a finding is about, as tables have it.
func Who(f *diagnose.Finding) string { return glyph.Visible(whoWord(f)) }

// Where is where a finding is, as tables have it.
func Where(f *diagnose.Finding) string { return glyph.Visible(placeWord(f)) }

// whoWord is who a finding is about, in few words: "rank 5", "host node3", "group pp=1".
func whoWord(f *diagnose.Finding) string { return cmp.Or(say("who", f), f.Kind.String()) }

// subject is who a sentence is about, with where they run; "" for all ranks alike.
func subject(w diagnose.Who) string { return say("who "+string(w.Kind), w) }

// several reports whether a subject takes a verb of several.
func several(w diagnose.Who) bool {
	return w.Kind == diagnose.SomeRanks || w.Kind == diagnose.HostRanks || w.Kind == diagnose.GroupRanks
}

// rankAt is a rank with what is known of where it runs: "rank 2 (gpu-node-1, local rank 2)".
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

// placeWord is where a finding is, in few words: an operator, whose whole name is in the JSON, or a stage.
func placeWord(f *diagnose.Finding) string {
	w := f.Where()
	if w.Op != "" {
		return opnames.Label(w.Op)
	}
	return w.Stage
}

// shortPlace is the same in a word where there is one: names of runs need the room.
func shortPlace(f *diagnose.Finding) string {
	place := placeWord(f)
	if word := bareStage(place); place == f.Stage && len(word) < len(place) {
		return word
	}
	return place
}
