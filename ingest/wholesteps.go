package ingest

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// apart is by which part of the median a rank's whole steps must be longer or shorter to be said.
const apart = 0.05

// WholeSteps notes what a window shows whose only stage is [stagename.Whole]: which ranks differ from most, and not why.
func WholeSteps(w *trace.Window) input.Note {
	R, T := len(w.Ranks), w.Steps()
	medians := make([]int64, R)
	for r := range w.Ranks {
		all := make([]int64, T)
		for t := range all {
			all[t] = w.Durations[t*R+r]
		}
		slices.Sort(all)
		medians[r] = all[T/2]
	}
	typical := slices.Sorted(slices.Values(medians))[(R-1)/2]
	text := "only the time of whole steps is recorded, which is as long on ranks that wait as on the one they wait for"
	for _, side := range [...]struct {
		sign int64
		word string
	}{{1, "longer"}, {-1, "shorter"}} {
		var ids []int
		for r, m := range medians {
			if float64(side.sign*(m-typical)) > apart*float64(typical) {
				ids = append(ids, w.Ranks[r].ID)
			}
		}
		if len(ids) > 0 {
			text += fmt.Sprintf("; %s took more than %.0f %% %s than most", trace.Ranks(ids), 100*apart, side.word)
		}
	}
	return input.Note{Kind: input.NoteWholeSteps, Text: text}
}
